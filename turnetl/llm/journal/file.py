"""The journal's file: one SQLite database that several processes may use concurrently.

In WAL mode, readers never wait for a writer, and a killed process leaves complete rows or none.
"""

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from turnetl.base import private_files
from turnetl.base.errors import JournalUnusable
from turnetl.base.sqlite import is_busy, primary_code, sqlite_path
from turnetl.llm.journal.rows import CLAIMS_TABLE, COLUMNS, READ, TABLE, JournalRow, to_response


def erase_responses(connection: sqlite3.Connection, is_erased: Callable[[bytes], bool]) -> int:
    """Remove the responses that the function selects, and rewrite the file; return their number.

    It is rewritten even if nothing is removed: an earlier call may have been killed between.
    OperationalError: another process has the journal open.
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


_WAIT = 5.0
"""Seconds to wait for a process that changes the file's structure."""
_SELECT_ALL = f"SELECT key, {READ} FROM responses"  # noqa: S608 - constants


def count_damaged(path: Path) -> tuple[int, int]:
    """Return the number of responses of a journal, and of damaged ones. Writes nothing."""
    with translated_errors(path, _WAIT), closing(connect(path, _WAIT)) as connection:
        connection.execute("PRAGMA query_only = ON")
        check_version(connection, path)
        [found, *_] = connection.execute("PRAGMA integrity_check(1)").fetchone()
        if found != "ok":
            raise sqlite3.DatabaseError(str(found))
        responses = damaged = 0
        for key, *row in connection.execute(_SELECT_ALL):
            responses += 1
            damaged += to_response(key, row) is None
        return responses, damaged


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

        Each write waits that many seconds for other processes.
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
        """Return a row with the columns of `rows.READ`; without `wait`, a lock is an error."""
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
        with transaction(self.writer):
            self.writer.executemany(_ADD_HITS, [(count, key) for key, count in hits.items()])

    def shorten_timeout(self) -> None:
        """From now on, wait only a few seconds for other processes."""
        self.writer.execute(f"PRAGMA busy_timeout = {_CLOSING_TIMEOUT}")

    def close(self) -> None:
        self.reader.close()
        self.writer.close()


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
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
            if not is_busy(error) or time.monotonic() > deadline:
                raise
            time.sleep(_POLL_INTERVAL)
        else:
            # A file system without support for WAL stays in another mode, safe but slower.
            return


def check_version(connection: sqlite3.Connection, path: Path) -> None:
    if _is_empty(connection):
        return
    if _pragma(connection, "application_id") != _APPLICATION_ID:
        raise JournalUnusable(
            f"`{path}` is a database, but not a journal of turnetl: move it away and run again"
        )
    if (version := _pragma(connection, "user_version")) != VERSION:
        raise _other_version(path, version)


def _is_empty(connection: sqlite3.Connection) -> bool:
    return connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone() is None


def _pragma(connection: sqlite3.Connection, name: str) -> int | str:
    value: int | str = connection.execute(f"PRAGMA {name}").fetchone()[0]
    return value


class JournalConnection:
    """The file in one process, and the failure after which no request is sent."""

    def __init__(self, path: Path, wait: float) -> None:
        """Open no file; `wait` is in seconds."""
        self._path = path
        self._wait = wait
        self._opening = threading.Lock()
        self._failure: JournalUnusable | None = None
        self.file: JournalFile | None = None
        """None before the first use."""
        self.is_writable = False
        """It was found to be."""

    def open(self) -> JournalFile:
        """Return the file; the first call opens it. A failure is raised again by later calls."""
        with self._opening:
            if self.file is None:
                with self.attempt():
                    self.file = JournalFile.open(self._path, self._wait)
            return self.file

    def check_writable(self) -> None:
        """Raise JournalUnusable if the file cannot be written; checked once."""
        if not self.is_writable:
            with self.attempt():
                self.open().check_writable()
            self.is_writable = True

    def close(self) -> None:
        if self.file is not None:
            self.file.close()
            self.file = None

    @contextmanager
    def attempt(self) -> Iterator[None]:
        """Use the file. A failure is translated, and raised again by later attempts."""
        self.raise_failure()
        try:
            with self.translated():
                yield
        except JournalUnusable as error:
            self._failure = error
            raise

    def raise_failure(self) -> None:
        """Raise an earlier failure again: each new try could wait a long time for a lock."""
        if self._failure is not None:
            raise self._failure

    def translated(self) -> AbstractContextManager[None]:
        return translated_errors(self._path, self._wait)


FAILURES = (sqlite3.Error, OSError, UnicodeError)
"""Exceptions of SQLite; UnicodeError where it quotes damaged text."""
_NO_LOSS = "turns in the graph are not requested again"


@contextmanager
def translated_errors(path: Path, wait: float) -> Iterator[None]:
    """Translate SQLite's exceptions, raised within `wait` seconds, into what the user must do."""
    try:
        yield
    except FAILURES as error:
        raise JournalUnusable(_sentence(path, error, wait)) from error


def _other_version(path: Path, version: int | str) -> JournalUnusable:
    is_newer = isinstance(version, int) and version > VERSION
    remedy = "update turnetl" if is_newer else "use the turnetl that wrote it"
    return JournalUnusable(
        f"journal `{path}` has version {version}, and this turnetl supports version {VERSION}: "
        f"{remedy}, or move it away and run again; {_NO_LOSS}"
    )


def disk_full(path: Path, free: float) -> JournalUnusable:
    return JournalUnusable(
        f"the disk of journal `{path}` has {free / 1e6:,.0f} MB free: responses could be paid for "
        "and not stored; free some space (`turnetl journal prune` may help), then run again"
    )


def unreadable_row(path: Path, prompt_name: str) -> str:
    return f"journal `{path}`: cannot read a response to `{prompt_name}`; it is requested again"


def not_stored(count: int, error: JournalUnusable) -> str:
    responses = "1 response is" if count == 1 else f"{count:,} responses are"
    return f"{responses} paid for but not stored, and requested again if needed: {error}"


def _sentence(path: Path, error: Exception, wait: float) -> str:
    # First: SQLite's own error about a pipe is that of a full disk.
    if (special := _special_file(path)) is not None:
        return special
    if isinstance(error, OSError):
        return f"journal `{path}`: {error.strerror}; make sure that its folder is writable"
    match primary_code(error):
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return (
                f"journal `{path}` was locked by another program for {wait:g} s: end the program "
                "that has it open and run again"
            )
        case sqlite3.SQLITE_FULL | sqlite3.SQLITE_IOERR:
            return (
                f"journal `{path}` cannot be written ({error}): make sure that its disk has free "
                "space and is not damaged, then run again"
            )
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_PERM:
            return (
                f"journal `{path}` cannot be opened for writing ({error}): make sure that it is a "
                "file that you may write, in a folder that you may write to"
            )
        case _:
            reason = "unreadable" if isinstance(error, UnicodeError) else str(error)
            return (
                f"journal `{path}` is damaged ({reason}): move it and its `-wal` and `-shm` files "
                f"away, and run again; {_NO_LOSS}"
            )


def _special_file(path: Path) -> str | None:
    """Return the sentence about a link, a pipe, a socket or a device; None for all else."""
    if path.is_symlink():
        return (
            f"journal `{path}` is a symbolic link, which turnetl does not follow: put the file "
            "there, or the lake where the file is"
        )
    if os.path.lexists(path) and not (path.is_file() or path.is_dir()):
        return f"journal `{path}` is no regular file: move it away and run again; {_NO_LOSS}"
    return None
