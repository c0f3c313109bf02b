"""Read a journal whole. Nothing is written: a copy of it may be in a folder of somebody else."""

import sqlite3
from contextlib import closing
from pathlib import Path

from turnetl.llm.journal import errors
from turnetl.llm.journal.file import check_version, connect
from turnetl.llm.journal.rows import READ, to_response

_WAIT = 5.0
"""Seconds to wait for a process that changes the file's structure."""
_SELECT = f"SELECT key, {READ} FROM responses"  # noqa: S608 - constants


def count_damaged(path: Path) -> tuple[int, int]:
    """Return the numbers of responses of a journal, and of those that are damaged.

    Raises:
        JournalUnusable: it is damaged as a whole, is no journal, or is of another version.
    """
    with errors.translated(path, _WAIT), closing(connect(path, _WAIT)) as connection:
        connection.execute("PRAGMA query_only = ON")
        check_version(connection, path)
        [found, *_] = connection.execute("PRAGMA integrity_check(1)").fetchone()
        if found != "ok":
            raise sqlite3.DatabaseError(str(found))
        responses = damaged = 0
        for key, *row in connection.execute(_SELECT):
            responses += 1
            damaged += to_response(key, row) is None
        return responses, damaged
