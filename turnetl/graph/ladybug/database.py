"""Open a Ladybug database, check that it is a graph of this version, and repair its log.

Only the caller has the file open; a reader may share it with readers. A file without a log was
closed, and is opened without a check. Else another process tries it first, because a damaged log
can end the process that replays it.
"""

import ctypes
import logging
import os
from collections.abc import Generator, Sequence
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import ladybug

from turnetl.base.errors import GraphBusy, GraphUnusable
from turnetl.graph import to_rows
from turnetl.graph.ladybug import cypher
from turnetl.graph.ladybug.client import error_reason
from turnetl.graph.ladybug.log import (
    DiskSpace,
    DroppedTail,
    commit_ends,
    copy_log,
    dropped_tail,
    log_files,
)
from turnetl.graph.ladybug.probe import COMPRESSION, NEEDS_RECOVERY, FileState, probe
from turnetl.graph.ladybug.storage_version import other_version, unreadable
from turnetl.graph.ladybug.zeroed_memory import WritableConnection, WritableDatabase

SMALL_POOL = 128 << 20
"""Bytes of a limited buffer pool, at least. By default the pool may take most of the memory, and
setting it up is most of the time in which a file is opened."""
_LEAST_POOL = 64 << 20
"""Bytes of a pool in low memory, at least."""
_LARGE_POOL = 2 << 30
"""Bytes of the buffer pool of a small file: enough for it to grow twentyfold while it is open."""
_SMALL_FILE = _LARGE_POOL // 20
_DEFAULT_POOL = 0
"""Most of the memory."""


REMEDY = "restore it from a backup, or name another file with --graph and keep this one"
"""What to do about a file that cannot be opened: nothing makes it again."""


class Unrecovered(GraphUnusable):
    """Only a writer can open the file."""


class SeparateConnections:
    """A connection per statement, for reading: one keeps what its statements built, in the pool."""

    def __init__(self, database: Any) -> None:
        self._database = database
        self._connection = connect(database)

    def execute(self, query: str, parameters: dict[str, Any] | None = None) -> Any:
        """Run a statement; the results of earlier ones must have been read."""
        self._connection.close()
        self._connection = connect(self._database)
        return self._connection.execute(query, parameters)

    def close(self) -> None:
        self._connection.close()


def open_database(path: Path, *, write: bool, strict: bool = True, low_memory: bool = False) -> Any:
    """Open the database.

    A log that cannot be replayed completely is rejected if `strict`. If not, the rest of the log is
    ignored; a writer cuts it off. `low_memory` limits the buffer pool, which otherwise ends up
    holding the whole file.

    Raises:
        GraphBusy: another process has it open.
        GraphUnusable: it cannot be opened; `Unrecovered` if a writer can.
    """
    try:
        # One thread: a turn is small, and distributing it costs more than it saves.
        database_class = WritableDatabase if write else ladybug.Database
        return database_class(
            str(path),
            read_only=not write,
            max_num_threads=1,
            compression=COMPRESSION,
            buffer_pool_size=_pool_size(path, low_memory=low_memory),
            throw_on_wal_replay_failure=strict,
        )
    except RuntimeError as error:
        if "lock" in str(error).lower():
            raise busy(path, "") from error
        if (version := other_version(path)) is not None:
            raise unreadable(path, version) from error
        error_class = GraphUnusable if write or NEEDS_RECOVERY not in str(error) else Unrecovered
        raise error_class(cannot_open(path, error_reason(error))) from error


def connect(database: Any) -> Any:
    is_writable = isinstance(database, WritableDatabase)
    connection_class = WritableConnection if is_writable else ladybug.Connection
    return connection_class(database, num_threads=1)


def create_tables(connection: Any) -> None:
    for statement in cypher.SCHEMA:
        connection.execute(statement)


@contextmanager
def _connected(
    path: Path, *, write: bool, strict: bool, low_memory: bool = False
) -> Generator[Any]:
    """Open the database and connect to it; arguments as of `open_database`."""
    with (
        closing(open_database(path, write=write, strict=strict, low_memory=low_memory)) as database,
        closing(connect(database)) as connection,
    ):
        yield connection


def cannot_open(path: Path, cause: str) -> str:
    """Return the sentence that a file cannot be opened, why, and what to do."""
    return f"cannot open graph `{path}`: {cause}; {REMEDY}"


def _pool_size(path: Path, *, low_memory: bool) -> int:
    """Return the bytes of a pool that holds the file, also when it grows, or a part of it."""
    size = path.stat().st_size if path.exists() else 0
    if low_memory:
        return max(_LEAST_POOL, size // 4)
    return _LARGE_POOL if size < _SMALL_FILE else _DEFAULT_POOL


def abandon(connection: Any) -> None:
    """Leave a database as it is after a write that failed.

    It would write the same bytes again when it is closed, and end the process when that fails too.
    """
    # Never collected: that would close it. A module must not hold it, because its values are
    # collected at the end of the process.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))


def busy(path: Path, pid: str) -> GraphBusy:
    """Return the error that another process has the file open; `pid` may be empty."""
    process = f" (process {pid})" if pid else ""
    return GraphBusy(
        f"another turnetl process{process} has graph `{path}` open; wait until it finishes, or use "
        "a Neo4j graph, which several processes can share"
    )


def check_version(path: Path, *, strict: bool = True, low_memory: bool = False) -> None:
    """Check the version read-only: closing a file that was opened for writing changes it.

    Arguments as of `open_database`: low memory is too little for replaying a log.

    Raises:
        GraphUnusable: the graph is of another version.
    """
    # A file that needs recovery is checked after the writer recovered it.
    with (
        suppress(Unrecovered),
        _connected(path, write=False, strict=strict, low_memory=low_memory) as connection,
    ):
        is_prepared(connection, path)


def is_prepared(connection: Any, path: Path) -> bool:
    """Return whether the file contains turnetl's tables; raise if they are of another version."""
    if "TurnCommit" not in values(connection, cypher.TABLES):
        return False
    columns = {column.name for column in cypher.TURN_COMMIT}
    is_complete = columns <= values(connection, cypher.TURN_COMMIT_COLUMNS)
    if not is_complete or "schema_version" not in values(connection, cypher.TURN_GROUP_COLUMNS):
        raise to_rows.other_version(str(path), None)
    for version in values(connection, cypher.SCHEMA_VERSION):
        if version != to_rows.CURRENT:
            raise to_rows.other_version(str(path), version)
    return True


def has_episodes(connection: Any) -> bool:
    """Return whether the file holds an Episodic node, of any program."""
    if "Episodic" not in values(connection, cypher.TABLES):
        return False
    return bool(values(connection, "MATCH (e:Episodic) RETURN e.uuid LIMIT 1"))


def values(connection: Any, query: str) -> set[Any]:
    """Return the values of a query with one column."""
    return {value for (value,) in connection.execute(query).get_all()}


log = logging.getLogger(__name__)

_CRASHES = (FileState.CRASH, FileState.KILLED)


def open_for_reading(path: Path, *, low_memory: bool = False) -> Any:
    """Open the database; what cannot be replayed of its log is ignored, and stays.

    Arguments and errors as of `open_database`; Unrecovered also if a writer must repair it first.
    """
    state = _state(path, write=False) if log_files(path) else FileState.INTACT
    if state in _CRASHES:
        raise Unrecovered(f"cannot open graph `{path}`: its log is damaged")
    if state is not FileState.DAMAGED_LOG:
        return open_database(path, write=False, low_memory=low_memory)
    log.warning(
        "the log of graph `%s` ends in an incomplete transaction, as after a kill or a full "
        "disk: it is not read, and the next command that writes the graph removes it",
        path,
    )
    return open_database(path, write=False, strict=False, low_memory=low_memory)


def prepare_for_writing(path: Path, space: DiskSpace) -> None:
    """Check the version of an existing file, and repair it if its log is damaged.

    Raises:
        GraphBusy: another process has it open.
        GraphUnusable: it is of another version, or cannot be opened or repaired.
    """
    if not path.exists():
        return
    if not log_files(path):
        check_version(path, low_memory=True)
        return
    state = _state(path, write=False)
    if state is FileState.UNREADABLE:
        return
    if state in (FileState.INTACT, FileState.DAMAGED_LOG):
        check_version(path, strict=state is FileState.INTACT)
    if state is FileState.INTACT:
        return
    space.check()
    if is_unrecovered := state is FileState.UNRECOVERED:
        state = _state(path, write=True)
    if state is not FileState.INTACT:
        # A full disk ends the process that opens the file too: that is no reason to cut its log.
        space.check()
        _repair(path, is_crash=state in _CRASHES, write=is_unrecovered)


def _state(path: Path, *, write: bool) -> FileState:
    state = probe(path, "write" if write else "read")
    if state is None:
        raise GraphUnusable(
            f"cannot check graph `{path}`: the process that opens it was stopped; try again"
        )
    is_readable = state in (FileState.INTACT, FileState.KILLED)
    # What looks like a damaged log may be an intact one of another release: never cut it.
    if not is_readable and (version := other_version(path)) is not None:
        raise unreadable(path, version)
    return state


def _repair(path: Path, *, is_crash: bool, write: bool) -> None:
    """Cut off what cannot be replayed, and merge the rest of the log into the file.

    Every log is copied before it is cut. `is_crash`: replaying it, for writing if `write`, ends the
    process.
    """
    logs = log_files(path)
    contents = [file.read_bytes() for file in logs]
    copies = [_copy(file, path) for file in logs]
    if is_crash:
        _cut(path, logs, contents, write=write)
    ends = [commit_ends(file.read_bytes()) for file in logs]
    with _connected(path, write=True, strict=False) as connection:
        has_groups = "TurnGroup" in values(connection, cypher.TABLES)
        groups = values(connection, cypher.GROUP_IDS) if has_groups else set()
        # A log that was merged is removed.
        replayed = [
            file.stat().st_size if file.exists() else max(complete, default=0)
            for file, complete in zip(logs, ends, strict=True)
        ]
    for content, size, copy in zip(contents, replayed, copies, strict=True):
        if size < len(content):
            tail = dropped_tail(content[size:], groups)
            log.warning(_dropped(path, tail, copy))
        else:
            copy.unlink()


def _copy(file: Path, path: Path) -> Path:
    try:
        return copy_log(file)
    except OSError as error:
        raise GraphUnusable(
            f"the log of graph `{path}` is damaged, and cannot be repaired because no copy of it "
            f"can be written: {error.strerror}; make that possible, then repeat the command"
        ) from error


def _cut(path: Path, logs: Sequence[Path], contents: Sequence[bytes], *, write: bool) -> None:
    """Remove transactions from the end of the logs until the file can be opened.

    One by one, so that a kill on the way never leaves less than the file can be opened with.
    """
    # The second log is the older one.
    for file, content in zip(logs, contents, strict=True):
        for end in (*reversed(commit_ends(content)), 0):
            os.truncate(file, end)
            if (state := _state(path, write=write)) not in _CRASHES:
                return
            if state is FileState.KILLED:
                # More transactions may be intact: what is missing is memory.
                raise GraphUnusable(
                    f"cannot open graph `{path}`: the process that opens it is killed, probably "
                    "for lack of memory; stop other programs, then repeat the command"
                )
    raise GraphUnusable(cannot_open(path, "the database ends the process"))


def _dropped(path: Path, tail: DroppedTail, copy: Path) -> str:
    written = datetime.fromtimestamp(copy.stat().st_mtime, UTC)
    names = [f"turn `{tail.turn}`"] if tail.turn else []
    names += [f"group `{group}`" for group in tail.groups]
    if tail.later_transactions:
        names.append(f"{tail.later_transactions:,} transactions after the damage")
    return (
        f"the log of graph `{path}` ended in an incomplete transaction, as after a kill or a full "
        f"disk: {tail.size:,} bytes are dropped ({', '.join(names) or 'no turn'}; last written "
        f"{written:%Y-%m-%d %H:%M:%S} UTC). Turns committed before it are in the graph; ingest "
        f"again to commit the rest. The damaged log is kept as `{copy.name}`"
    )
