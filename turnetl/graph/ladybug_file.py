"""Open a Ladybug file, so that no process reads it while another one writes it.

Ladybug itself excludes a second writing process, but neither a reader beside a writer nor a second
writer in the same process. A lock on a file beside the graph excludes all three.
"""

import os
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any

import ladybug

from turnetl import schema
from turnetl.errors import GraphBusy, GraphUnusable
from turnetl.graph import ladybug_cypher as cypher
from turnetl.graph import schema_version

if sys.platform != "win32":
    import fcntl

LOCK_TIMEOUT = 2.0
"""Seconds to wait for a process that is about to finish."""
_LOCK_INTERVAL = 0.05
"""Seconds between two attempts."""

_NEEDS_RECOVERY = "recovery is pending"
"""In Ladybug's message about a file whose writer ended while it merged its log into the file."""


class _Unrecovered(GraphUnusable):
    """Only a writer can open the file; it then completes the interrupted merge."""


@dataclass(frozen=True)
class LadybugFile:
    """An open database with its only connection."""

    connection: Any
    database: Any
    lock: IO[str] | None

    @classmethod
    def open(
        cls,
        path: Path,
        *,
        write: bool,
        timeout: float = LOCK_TIMEOUT,
        sleep: Callable[[float], None] = time.sleep,
    ) -> "LadybugFile":
        """Open the file; read-only, a missing or unprepared file is an empty graph.

        A file whose writer died, or had no disk space left, is recovered first.

        Args:
            path: of the file.
            write: for writing too; only one process can.
            timeout: seconds to wait for another process that has it open.
            sleep: waits for a number of seconds.

        Raises:
            GraphBusy: another process has it open.
            GraphUnusable: it is not a graph, is of another version, or cannot be written.
        """
        if not write and not path.exists():
            return cls._empty()
        lock = partial(_lock, path, timeout=timeout, sleep=sleep)
        try:
            return cls._opened(path, lock(write=write), write=write)
        except _Unrecovered:
            cls._opened(path, lock(write=True), write=True).close()
            return cls._opened(path, lock(write=write), write=write)

    def close(self) -> None:
        self.connection.close()
        self.database.close()
        if self.lock:
            self.lock.close()

    @classmethod
    def _opened(cls, path: Path, lock: IO[str] | None, *, write: bool) -> "LadybugFile":
        with ExitStack() as opened:
            if lock:
                opened.callback(lock.close)
            if write and path.exists():
                _check_version(path)
            database = _database(path, write=write)
            opened.callback(database.close)
            connection = ladybug.Connection(database, num_threads=1)
            opened.callback(connection.close)
            if _is_prepared(connection, path) or write:
                opened.pop_all()
                return cls(connection, database, lock)
        return cls._empty()

    @classmethod
    def _empty(cls) -> "LadybugFile":
        database = ladybug.Database(":memory:", max_num_threads=1)
        connection = ladybug.Connection(database, num_threads=1)
        for statement in cypher.SCHEMA:
            connection.execute(statement)
        return cls(connection, database, None)


def _lock(
    path: Path, *, write: bool, timeout: float, sleep: Callable[[float], None]
) -> IO[str] | None:
    """Lock the file beside the graph: exclusively for writing, shared for reading."""
    if sys.platform == "win32":  # only Ladybug's own exclusion there
        return None
    lock = _lock_file(path, write=write)
    if lock is None:
        return None
    deadline = time.monotonic() + timeout
    while not _try_lock(lock, write=write):
        if time.monotonic() >= deadline:
            lock.seek(0)
            raise _busy(path, lock.read().strip(), lock)
        sleep(_LOCK_INTERVAL)
    if write:
        lock.truncate(0)
        lock.write(f"{os.getpid()}\n")
        lock.flush()
    return lock


def _lock_file(path: Path, *, write: bool) -> IO[str] | None:
    """Open the file beside the graph; None if there is none and a reader cannot create it."""
    lock = path.with_name(f"{path.name}.lock")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return lock.open("a+")
    except OSError as error:
        if not write and path.exists():
            return lock.open() if lock.exists() else None
        raise GraphUnusable(
            f"cannot open graph `{path}`: {error.strerror}; name another file with --graph"
        ) from error


def _try_lock(lock: IO[str], *, write: bool) -> bool:
    if sys.platform == "win32":
        return True
    try:
        fcntl.flock(lock, (fcntl.LOCK_EX if write else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _busy(path: Path, pid: str, lock: IO[str] | None = None) -> GraphBusy:
    if lock:
        lock.close()
    process = f" (process {pid})" if pid else ""
    return GraphBusy(
        f"another turnetl process{process} has graph `{path}` open; wait until it finishes, or use "
        "a Neo4j graph, which several processes can share"
    )


def _check_version(path: Path) -> None:
    """Check the version read-only: closing a file that was opened for writing changes it.

    Raises:
        GraphUnusable: the graph is of another version.
    """
    # A file that needs recovery is checked after the writer recovered it.
    with (
        suppress(_Unrecovered),
        closing(_database(path, write=False)) as database,
        closing(ladybug.Connection(database, num_threads=1)) as connection,
    ):
        _is_prepared(connection, path)


def _database(path: Path, *, write: bool) -> Any:
    try:
        # One thread: a turn is small, and distributing it costs more than it saves.
        return ladybug.Database(str(path), read_only=not write, max_num_threads=1)
    except RuntimeError as error:
        if "lock" in str(error).lower():
            raise _busy(path, "") from error
        reason = (str(error).splitlines() or [""])[0][:160]
        error_class = GraphUnusable if write or _NEEDS_RECOVERY not in str(error) else _Unrecovered
        raise error_class(
            f"cannot open graph `{path}`: {reason}; name another file with --graph"
        ) from error


def _is_prepared(connection: Any, path: Path) -> bool:
    """Return whether the file contains turnetl's tables.

    Raises:
        GraphUnusable: it does, and they are of another version.
    """
    if "TurnCommit" not in _values(connection, cypher.TABLES):
        return False
    columns = {column.name for column in schema.RECEIPTS.columns}
    if not columns <= _values(connection, cypher.TURN_COMMIT_COLUMNS):
        raise schema_version.other_version(str(path), None)
    if "schema_version" not in _values(connection, cypher.TURN_GROUP_COLUMNS):
        raise schema_version.other_version(str(path), None)
    for version in _values(connection, cypher.SCHEMA_VERSION):
        if version != schema_version.CURRENT:
            raise schema_version.other_version(str(path), version)
    return True


def _values(connection: Any, query: str) -> set[Any]:
    return {value for (value,) in connection.execute(query).get_all()}
