"""The journal's file: one SQLite database that several processes may use concurrently.

In WAL mode, readers never wait for a writer, and a killed process leaves complete rows or none.
"""

import math
import shutil
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from turnetl.base import private_files
from turnetl.base.sqlite_path import sqlite_path
from turnetl.llm.journal import errors
from turnetl.llm.journal.rows import CLAIMS_TABLE, COLUMNS, READ, TABLE, JournalRow

VERSION = 3
_APPLICATION_ID = 0x7475726E
"""SQLite's `application_id` of a journal."""
_POLL_INTERVAL = 0.05
"""Seconds."""
_CLOSING_TIMEOUT = 5_000
"""Milliseconds."""
_SYNC_INTERVAL = timedelta(seconds=1)
_SELECT = f"SELECT {READ} FROM responses WHERE key = ?"  # noqa: S608 - constants
_INSERT = f"INSERT OR IGNORE INTO responses VALUES ({', '.join('?' * COLUMNS)})"  # noqa: S608 - as above
_REPLACE = _INSERT.replace("IGNORE", "REPLACE")
_ADD_HITS = "UPDATE responses SET hits = hits + ? WHERE key = ?"


class JournalFile:
    """An open journal. SQLite's exceptions pass through."""

    def __init__(self, reader: sqlite3.Connection, writer: sqlite3.Connection) -> None:
        self.reader = reader
        """Fails immediately instead of waiting for a lock."""
        self.writer = writer
        self._synced_at: datetime | None = None

    @classmethod
    def open(cls, path: Path, wait: float) -> "JournalFile":
        """Open the journal for reading and writing; create it and its folder if necessary.

        Args:
            path: of the file.
            wait: seconds that each write waits for other processes.

        Raises:
            JournalUnusable: it is another kind of file, or has another version.
            sqlite3.Error, OSError: it cannot be read or written.
        """
        private_files.create_folder(path.parent)
        # SQLite locks this file. Its other files have the mode of this one, and it follows no link
        # to them.
        private_files.check_no_link(path)
        private_files.ensure_file(path)
        writer = connect(path, wait)
        try:
            _prepare(writer, path, wait)
            return cls(connect(path, 0), writer)
        except BaseException:
            writer.close()
            raise

    def check_writable(self) -> None:
        """Write a value. The start of a transaction alone would prove nothing."""
        with transaction(self.writer):
            self.writer.execute(f"PRAGMA user_version = {VERSION}")

    def find(self, key: str, *, wait: bool) -> tuple[Any, ...] | None:
        """Return a row with the columns of `rows.READ`.

        Args:
            key: of the request.
            wait: for a lock; False: fail immediately.
        """
        connection = self.writer if wait else self.reader
        row: tuple[Any, ...] | None = connection.execute(_SELECT, (key,)).fetchone()
        return row

    def insert(self, row: JournalRow, *, replace: bool) -> None:
        """Write a complete row or nothing; an existing row stays unless it is to be replaced.

        The row survives the end of the process. A power failure may lose rows of the last second:
        an fsync per row would add ten milliseconds to each request.
        """
        sync = self._synced_at is None or abs(row.stored_at - self._synced_at) >= _SYNC_INTERVAL
        if sync:
            self.writer.execute("PRAGMA synchronous = FULL")
        self.writer.execute(_REPLACE if replace else _INSERT, row.values)
        if sync:
            self.writer.execute("PRAGMA synchronous = NORMAL")
            self._synced_at = row.stored_at

    def add_hits(self, hits: Mapping[str, int]) -> None:
        """Add to the number of cache hits by key."""
        with transaction(self.writer):
            self.writer.executemany(_ADD_HITS, [(count, key) for key, count in hits.items()])

    def shorten_timeout(self) -> None:
        """From now on, wait only a few seconds for other processes."""
        self.writer.execute(f"PRAGMA busy_timeout = {_CLOSING_TIMEOUT}")

    def close(self) -> None:
        """Close the file. The last process to do so leaves a single file."""
        self.reader.close()
        self.writer.close()


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Commit all writes or none."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def size(path: Path) -> int:
    """Return the bytes on disk, including rows that are still in the WAL."""
    files = (path, path.with_name(path.name + "-wal"))
    return sum(file.stat().st_size for file in files if file.exists())


def free_bytes(folder: Path) -> float:
    """Return the free bytes on the disk of a folder; infinity if they are unknown."""
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return math.inf


def connect(path: Path, wait: float) -> sqlite3.Connection:
    name = sqlite_path(path)
    connection = sqlite3.connect(name, timeout=wait, isolation_level=None, check_same_thread=False)
    connection.text_factory = _text
    return connection


def _text(value: bytes) -> str:
    # A damaged name is no reason to fail: the checksum decides whether a row is intact.
    return value.decode("utf-8", "replace")


def _prepare(connection: sqlite3.Connection, path: Path, wait: float) -> None:
    check_version(connection, path)
    if _is_empty(connection):
        # Lets `prune` shrink the file without a second copy of the rest.
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    _enable_wal(connection, wait)
    connection.execute("PRAGMA synchronous = NORMAL")
    with transaction(connection):
        if _is_empty(connection):
            connection.execute(TABLE)
            connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {VERSION}")
    check_version(connection, path)
    connection.execute(CLAIMS_TABLE)


def _enable_wal(connection: sqlite3.Connection, wait: float) -> None:
    """Change to WAL mode. SQLite itself does not wait for other processes that do the same."""
    deadline = time.monotonic() + wait
    while _pragma(connection, "journal_mode") != "wal":
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if not errors.is_busy(error) or time.monotonic() > deadline:
                raise
            time.sleep(_POLL_INTERVAL)
        else:
            # A file system without support for WAL stays in another mode, safe but slower.
            return


def check_version(connection: sqlite3.Connection, path: Path) -> None:
    """Check that the file is empty or a journal of the supported version."""
    if _is_empty(connection):
        return
    if _pragma(connection, "application_id") != _APPLICATION_ID:
        raise errors.not_a_journal(path)
    if (version := _pragma(connection, "user_version")) != VERSION:
        raise errors.other_version(path, version, VERSION)


def _is_empty(connection: sqlite3.Connection) -> bool:
    return connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone() is None


def _pragma(connection: sqlite3.Connection, name: str) -> int | str:
    value: int | str = connection.execute(f"PRAGMA {name}").fetchone()[0]
    return value
