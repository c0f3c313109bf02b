"""Opening a Ladybug file, so that nobody reads it while somebody writes it.

Ladybug itself keeps a second writing process out, but neither a reader beside a writer nor a second
writer in the same process. A lock on a file beside it keeps out all three.
"""

import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import ladybug

from turnetl.errors import GraphBusy, GraphRefused
from turnetl.graph.ladybug_cypher import RECEIPT_COLUMNS, SCHEMA

if sys.platform != "win32":
    import fcntl

_SECONDS_TO_WAIT = 2.0
"""For somebody who only reads for a moment."""

_TO_RECOVER = "recovery is pending"
"""In what Ladybug says of a file whose writer ended while it moved its log into it."""


class _Unrecovered(GraphRefused):
    """A file that only a writer can open, who then completes what another one began."""


@dataclass(frozen=True)
class LadybugFile:
    """An open database with its one connection."""

    connection: Any
    database: Any
    lock: IO[str] | None

    @classmethod
    def open(cls, path: Path, *, write: bool) -> "LadybugFile":
        """Open the file; for reading, one that is missing or unfinished is an empty graph.

        One whose writer died, or had no more room, is brought in order first.

        Raises:
            GraphBusy: another process has it open.
            GraphRefused: it is no graph, or cannot be written.
        """
        if not write and not path.exists():
            return cls._empty()
        try:
            return cls._opened(path, write=write)
        except _Unrecovered:
            cls._opened(path, write=True).close()
            return cls._opened(path, write=write)

    def close(self) -> None:
        self.connection.close()
        self.database.close()
        if self.lock:
            self.lock.close()

    @classmethod
    def _opened(cls, path: Path, *, write: bool) -> "LadybugFile":
        lock = _locked(path, write=write)
        try:
            database = _database(path, write=write)
            connection = ladybug.Connection(database, num_threads=1)
            if _is_prepared(connection, path) or write:
                return cls(connection, database, lock)
            connection.close()
            database.close()
        except BaseException:
            if lock:
                lock.close()
            raise
        if lock:
            lock.close()
        return cls._empty()

    @classmethod
    def _empty(cls) -> "LadybugFile":
        database = ladybug.Database(":memory:", max_num_threads=1)
        connection = ladybug.Connection(database, num_threads=1)
        for statement in SCHEMA:
            connection.execute(statement)
        return cls(connection, database, None)


def _locked(path: Path, *, write: bool) -> IO[str] | None:
    """Take the lock beside the file: alone for writing, with other readers for reading."""
    if sys.platform == "win32":  # what Ladybug itself keeps out has to do
        return None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = path.with_name(f"{path.name}.lock").open("a+")
    except OSError as error:
        raise GraphRefused(
            f"graph `{path}` cannot be opened: {error.strerror}; name another with --graph"
        ) from error
    deadline = time.monotonic() + _SECONDS_TO_WAIT
    while not _take(lock, write=write):
        if time.monotonic() > deadline:
            lock.seek(0)
            raise _busy(path, lock.read().strip(), lock)
        time.sleep(0.05)
    if write:
        lock.truncate(0)
        lock.write(f"{os.getpid()}\n")
        lock.flush()
    return lock


def _take(lock: IO[str], *, write: bool) -> bool:
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
    who = f" (process {pid})" if pid else ""
    return GraphBusy(
        f"another turnetl process{who} has graph `{path}` open; wait for it to finish, or use a "
        "Neo4j graph, which several can share"
    )


def _database(path: Path, *, write: bool) -> Any:
    try:
        # One thread: a turn is small, and handing it around costs more than it saves.
        return ladybug.Database(str(path), read_only=not write, max_num_threads=1)
    except RuntimeError as error:
        if "lock" in str(error).lower():
            raise _busy(path, "") from error
        said = (str(error).splitlines() or [""])[0][:160]
        refused = GraphRefused if write or _TO_RECOVER not in str(error) else _Unrecovered
        raise refused(
            f"graph `{path}` cannot be opened: {said}; name another file with --graph"
        ) from error


def _is_prepared(connection: Any, path: Path) -> bool:
    """Whether there is a graph in the file.

    Raises:
        GraphRefused: there is one, of other columns than ours.
    """
    tables = {name for (name,) in connection.execute("CALL show_tables() RETURN name").get_all()}
    if "TurnCommit" not in tables:
        return False
    columns = connection.execute("CALL table_info('TurnCommit') RETURN name").get_all()
    if not {(name,) for name in RECEIPT_COLUMNS} <= {tuple(row) for row in columns}:
        raise GraphRefused(
            f"graph `{path}` was written by another version of turnetl; name another file with "
            "--graph, or move this one away, and ingest again"
        )
    return True
