"""Remove responses from a journal so that the file no longer holds their bytes."""

import sqlite3
from collections.abc import Callable

from turnetl.llm.journal.file import transaction


def erase(connection: sqlite3.Connection, is_erased: Callable[[bytes], bool]) -> int:
    """Remove the responses that the function selects, and rewrite the file.

    It is rewritten even if nothing is removed: an earlier call may have been killed between.

    Args:
        connection: for writing.
        is_erased: called with each response.

    Returns:
        The number of removed responses.

    Raises:
        sqlite3.OperationalError: another process has the journal open.
    """
    connection.execute("PRAGMA secure_delete = ON")
    rows = connection.execute("SELECT key, response FROM responses")
    keys = [(key,) for key, response in rows if is_erased(_bytes(response))]
    with transaction(connection):
        connection.executemany("DELETE FROM responses WHERE key = ?", keys)
    connection.execute("VACUUM")
    [busy, *_] = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    if busy:
        # The write-ahead log may still hold pages with the responses.
        error = sqlite3.OperationalError("the write-ahead log is in use")
        error.sqlite_errorcode = sqlite3.SQLITE_BUSY
        raise error
    return len(keys)


def _bytes(value: object) -> bytes:
    """Return a response as it is stored; a damaged row may hold a text."""
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")
