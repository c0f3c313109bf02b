"""Archives in databases (SQLite): each session of an agent's database, as `opencode.db/ses_1`.

A database is read in one transaction, and nothing is written beside it: SQLite would create files
for one whose log (`-wal`) no program has open. Without a log it is opened as immutable, and again
if that turns out to be wrong; with one that lacks its index (`-shm`) a copy of both is read.
"""

import os
import shutil
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from types import TracebackType
from typing import Self, TypeVar
from urllib.parse import quote, unquote

from turnetl.base import ids
from turnetl.base.errors import BadArchive
from turnetl.base.reason import SkipReason
from turnetl.base.sqlite import is_busy, primary_code
from turnetl.parsing import problems
from turnetl.parsing.archive_files import ArchiveFile
from turnetl.parsing.session_tables import (
    SessionState,
    layouts_in,
    session_ids,
    session_lines,
    session_states,
)

_MAGIC = b"SQLite format 3\0"
_HEADER, _VERSION_AT, _WITH_LOG = 20, 18, b"\2\2"
"""Bytes of a header, and its end if changes are written to a log first."""
_ATTEMPTS = 3
_UUID = 36
"""Characters of an id at the end of the name of a file."""
_Result = TypeVar("_Result")


class SessionDatabases:
    """Reads databases. Keeps the one that was read last open, until it is closed or replaced.

    Threads may share the object. Every method raises `BadArchive`: a database, or a session in it,
    is missing, locked or damaged.
    """

    def __init__(self, timeout: float = 5) -> None:
        """`timeout` is the wait for another program that has locked a database, in seconds."""
        self._timeout = timeout
        self._lock = Lock()
        self._open: tuple[Path, _Access, _OpenDatabase] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the database and delete its copy."""
        if self._open is not None:
            self._open[2].close()
            self._open = None

    def sessions(self, database: Path) -> list[Path] | None:
        """Return the archives in a database, sorted; None: it is no agent's."""

        def read(opened: "_OpenDatabase") -> list[str] | None:
            if not opened.layouts:
                return None
            stored = {
                file.name.partition(".")[0][-_UUID:]
                for layout in opened.layouts
                for pattern in layout.files
                for file in database.parent.glob(pattern)
            }
            names = session_ids(opened.connection, opened.layouts)
            return [name for name in names if name not in stored]

        if not _is_database(database):
            return None
        names = self._read(database, read)
        return None if names is None else [database / _file_name(name) for name in names]

    def states(self, database: Path) -> Mapping[str, ArchiveFile]:
        """Return the states of all archives in a database, by their names."""
        return self._states(database, None)

    def state(self, path: Path) -> ArchiveFile:
        """Return the state of an archive."""
        state = self._states(path.parent, unquote(path.name)).get(path.name)
        if state is None:
            raise _missing(path)
        return state

    def read(self, path: Path) -> tuple[bytes, ArchiveFile]:
        """Return the rows of an archive as lines of JSON, and the state of which they are."""
        session = unquote(path.name)

        def read(opened: "_OpenDatabase") -> tuple[bytes, Mapping[str, SessionState]]:
            return (
                session_lines(opened.connection, opened.layouts, session),
                session_states(opened.connection, opened.layouts, session),
            )

        data, states = self._read(path.parent, read)
        if session not in states:
            raise _missing(path)
        return data, replace(_file(path, states[session]), size=len(data))

    def _states(self, database: Path, session: str | None) -> dict[str, ArchiveFile]:
        found = self._read(
            database, lambda opened: session_states(opened.connection, opened.layouts, session)
        )
        paths = {name: database / _file_name(name) for name in found}
        return {paths[name].name: _file(paths[name], state) for name, state in found.items()}

    def _read(self, path: Path, read: Callable[["_OpenDatabase"], _Result]) -> _Result:
        """Return what a function reads in one transaction of a database that stays as it is."""
        with self._lock:
            for _ in range(_ATTEMPTS):
                try:
                    access = _access(path)
                    result: _Result | sqlite3.Error = self._opened(path, access).read(read)
                except sqlite3.Error as error:
                    self.close()
                    result = error
                except OSError as error:
                    raise problems.unreadable(path, error) from error
                if access != _access(path) or _is_passing(result):
                    continue
                if isinstance(result, sqlite3.Error):
                    # What is locked now is so for the next session, which need not wait again.
                    self._timeout = 0
                    raise _unusable(path, result) from result
                return result
            raise problems.bad_archive(path, SkipReason.UNREADABLE, _BUSY)

    def _opened(self, path: Path, access: "_Access") -> "_OpenDatabase":
        if self._open is None or self._open[:2] != (path, access):
            self.close()
            self._open = path, access, _OpenDatabase(path, access, self._timeout)
        return self._open[2]


_BUSY = "is in use by another program; close it, or run again later"


@dataclass(frozen=True, slots=True)
class _Access:
    """How a database can be read without a trace, and the states of files on which it depends."""

    options: str
    """Of SQLite's URI; empty: of a copy."""
    files: tuple[object, ...]


def _is_database(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(_MAGIC)) == _MAGIC
    except OSError as error:
        raise problems.unreadable(path, error) from error


def _access(path: Path) -> _Access:
    """Return how to read a database as it is now. Raises `OSError`."""
    with path.open("rb") as file:
        uses_log = file.read(_HEADER)[_VERSION_AT:] == _WITH_LOG
    database, log, index = (_state(path, suffix) for suffix in ("", "-wal", "-shm"))
    if not uses_log:
        return _Access("mode=ro", _identities(database))
    if log is None or not (log.st_size or index):
        return _Access("immutable=1", (*_identities(database, log, index), *_times(database)))
    if index is not None:
        return _Access("mode=ro&readonly_shm=1", _identities(database, log, index))
    return _Access("", (*_identities(database, log), *_times(database, log)))


def _state(path: Path, suffix: str) -> os.stat_result | None:
    try:
        return os.stat(f"{path}{suffix}")  # noqa: PTH116 - a name beside the path
    except FileNotFoundError:
        return None


def _identities(*files: os.stat_result | None) -> tuple[object, ...]:
    return tuple((file.st_dev, file.st_ino) if file is not None else None for file in files)


def _times(*files: os.stat_result | None) -> tuple[object, ...]:
    return tuple((file.st_size, file.st_mtime_ns) if file is not None else None for file in files)


class _OpenDatabase:
    def __init__(self, path: Path, access: _Access, timeout: float) -> None:
        with ExitStack() as stack:
            uri = f"{path.absolute().as_uri()}?{access.options}"
            if not access.options:
                uri = _copy(path, stack.enter_context(TemporaryDirectory(prefix="turnetl-")))
            self.connection = sqlite3.connect(
                uri, uri=True, timeout=timeout, isolation_level=None, check_same_thread=False
            )
            stack.callback(self.connection.close)
            # A text may hold what is no UTF-8.
            self.connection.text_factory = bytes
            self.layouts = layouts_in(self.connection)
            self.close = stack.pop_all().close

    def read(self, read: Callable[[Self], _Result]) -> _Result:
        self.connection.execute("begin")
        try:
            return read(self)
        finally:
            if self.connection.in_transaction:
                self.connection.execute("rollback")


def _copy(path: Path, folder: str) -> str:
    """Copy a database with its log, and return the URI of the copy."""
    copy = Path(folder, "copy.db")
    shutil.copyfile(path, copy)
    shutil.copyfile(f"{path}-wal", f"{copy}-wal")
    return copy.as_uri()


def _is_passing(result: object) -> bool:
    """Return whether a read failed because a writer was about to change its log."""
    codes = (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN)
    return isinstance(result, sqlite3.Error) and primary_code(result) in codes


def _unusable(path: Path, error: sqlite3.Error) -> BadArchive:
    if is_busy(error):
        return problems.bad_archive(path, SkipReason.UNREADABLE, _BUSY)
    if primary_code(error) in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        what = f"is a damaged database ({error}); restore it from a copy"
        return problems.bad_archive(path, SkipReason.CORRUPT, what)
    what = f"cannot be read as a database ({error}); check its permissions, or run again later"
    return problems.bad_archive(path, SkipReason.UNREADABLE, what)


def _missing(path: Path) -> BadArchive:
    return problems.bad_archive(path, SkipReason.MISSING, "is no longer in its database")


def _file(path: Path, state: SessionState) -> ArchiveFile:
    changed = state.changed_ms
    mtime_ns = path.parent.stat().st_mtime_ns if changed is None else changed * 1_000_000
    return ArchiveFile(path, state.bytes, mtime_ns, ids.digest(*state.stamp))


def _file_name(session: str) -> str:
    """Return the name of an archive, which no session can turn into a suffix or another folder."""
    return quote(session, safe="").replace(".", "%2E")
