"""The journal's file: one SQLite database that several processes may use at once.

Written ahead (WAL): readers never wait for a writer, a killed process leaves whole rows or none.
"""

import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from turnetl.llm.journal import errors
from turnetl.llm.journal.rows import COLUMNS, READ, TABLE, JournalRow

VERSION = 2
_OURS = 0x7475726E
"""SQLite's `application_id` of a journal."""
_PAUSE = 0.05
"""Seconds."""
_HURRY = 5_000
"""Milliseconds."""
_SYNCED = timedelta(seconds=1)
_FIND = f"SELECT {READ} FROM answers WHERE key = ?"  # noqa: S608 - constants
_KEEP = f"INSERT OR IGNORE INTO answers VALUES ({', '.join('?' * COLUMNS)})"  # noqa: S608 - as above
_REPLACE = _KEEP.replace("IGNORE", "REPLACE")
_USE = "UPDATE answers SET used = used + ? WHERE key = ?"


class JournalFile:
    """An open journal. What SQLite raises passes through."""

    def __init__(self, reading: sqlite3.Connection, writing: sqlite3.Connection) -> None:
        self.reading = reading
        """Fails at once where it would have to wait."""
        self.writing = writing
        self._synced: datetime | None = None

    @classmethod
    def open(cls, path: Path, wait: float) -> "JournalFile":
        """Open the journal for reading and writing, or make it, with its folder.

        Args:
            path: of the file.
            wait: seconds to wait for others, at each write.

        Raises:
            JournalRefused: it is something else, or of another form.
            sqlite3.Error, OSError: it cannot be read or written.
        """
        path.parent.mkdir(parents=True, exist_ok=True)
        writing = _connected(path, wait)
        try:
            _prepare(writing, path, wait)
            return cls(_connected(path, 0), writing)
        except BaseException:
            writing.close()
            raise

    def prove(self) -> None:
        """Write something, to see that it can be done. To begin a transaction proves nothing."""
        with transaction(self.writing):
            self.writing.execute(f"PRAGMA user_version = {VERSION}")

    def find(self, key: str, *, patiently: bool) -> tuple[Any, ...] | None:
        """Return a row, with the columns of `rows.READ`."""
        connection = self.writing if patiently else self.reading
        found: tuple[Any, ...] | None = connection.execute(_FIND, (key,)).fetchone()
        return found

    def keep(self, row: JournalRow, *, replace: bool) -> None:
        """Write a row whole or not at all; one that is there stays if it is not to be replaced.

        A killed process has kept it then; of a power cut, it is on the disk within a second or
        with the next row: waiting for the disk at each would take ten milliseconds of each call.
        """
        due = self._synced is None or abs(row.kept_at - self._synced) >= _SYNCED
        if due:
            self.writing.execute("PRAGMA synchronous = FULL")
        self.writing.execute(_REPLACE if replace else _KEEP, row.values)
        if due:
            self.writing.execute("PRAGMA synchronous = NORMAL")
            self._synced = row.kept_at

    def count(self, uses: Mapping[str, int]) -> None:
        """Add to how often rows were used."""
        with transaction(self.writing):
            self.writing.executemany(_USE, [(count, key) for key, count in uses.items()])

    def hurry(self) -> None:
        """Wait for others a few seconds only, from now on."""
        self.writing.execute(f"PRAGMA busy_timeout = {_HURRY}")

    def close(self) -> None:
        """Close it; the last one to do so leaves a single file."""
        self.reading.close()
        self.writing.close()


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Do all of it or nothing."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def size(path: Path) -> int:
    """Return the bytes on disk, with the rows that are not in the main file yet."""
    files = (path, path.with_name(path.name + "-wal"))
    return sum(file.stat().st_size for file in files if file.exists())


def _connected(path: Path, wait: float) -> sqlite3.Connection:
    opened = sqlite3.connect(path, timeout=wait, isolation_level=None, check_same_thread=False)
    opened.text_factory = _text
    return opened


def _text(said: bytes) -> str:
    # A name that is damaged is no reason to fail: an answer's mark tells whether it is whole.
    return said.decode("utf-8", "replace")


def _prepare(connection: sqlite3.Connection, path: Path, wait: float) -> None:
    _check(connection, path)
    if _is_empty(connection):
        # What is pruned can then be given back to the disk without a second copy of the rest.
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    _write_ahead(connection, wait)
    connection.execute("PRAGMA synchronous = NORMAL")
    with transaction(connection):
        if _is_empty(connection):
            connection.execute(TABLE)
            connection.execute(f"PRAGMA application_id = {_OURS}")
            connection.execute(f"PRAGMA user_version = {VERSION}")
    _check(connection, path)


def _write_ahead(connection: sqlite3.Connection, wait: float) -> None:
    """Change to writing ahead. SQLite itself does not wait for others who do the same."""
    until = time.monotonic() + wait
    while _number(connection, "journal_mode") != "wal":
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if not errors.is_busy(error) or time.monotonic() > until:
                raise
            time.sleep(_PAUSE)
        else:
            # A file system that cannot has another mode now, which is safe, if slower.
            return


def _check(connection: sqlite3.Connection, path: Path) -> None:
    """See that the file is empty, or a journal of the form that is known."""
    if _is_empty(connection):
        return
    if _number(connection, "application_id") != _OURS:
        raise errors.not_a_journal(path)
    if (form := _number(connection, "user_version")) != VERSION:
        raise errors.other_version(path, form, VERSION)


def _is_empty(connection: sqlite3.Connection) -> bool:
    return connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone() is None


def _number(connection: sqlite3.Connection, pragma: str) -> int | str:
    found: int | str = connection.execute(f"PRAGMA {pragma}").fetchone()[0]
    return found
