"""Open a Ladybug database, and check that it is a graph of this version."""

import ctypes
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import ladybug

from turnetl.base.errors import GraphBusy, GraphUnusable
from turnetl.graph import to_rows
from turnetl.graph.ladybug import cypher
from turnetl.graph.ladybug.client import reason
from turnetl.graph.ladybug.probe import COMPRESSION, NEEDS_RECOVERY

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
        self._connection = ladybug.Connection(database, num_threads=1)

    def execute(self, query: str, parameters: dict[str, Any] | None = None) -> Any:
        """Run a statement; the results of earlier ones must have been read."""
        self._connection.close()
        self._connection = ladybug.Connection(self._database, num_threads=1)
        return self._connection.execute(query, parameters)

    def close(self) -> None:
        self._connection.close()


def open_database(path: Path, *, write: bool, strict: bool = True, low_memory: bool = False) -> Any:
    """Open the database.

    Args:
        path: of the file.
        write: for writing too.
        strict: reject a log that cannot be replayed completely. If not, the rest of the log is
            ignored; a writer cuts it off.
        low_memory: limit the buffer pool, which otherwise ends up holding the whole file.

    Raises:
        GraphBusy: another process has it open.
        GraphUnusable: it cannot be opened.
    """
    try:
        # One thread: a turn is small, and distributing it costs more than it saves.
        return ladybug.Database(
            str(path),
            read_only=not write,
            max_num_threads=1,
            compression=COMPRESSION,
            buffer_pool_size=_small_pool(path) if low_memory else _pool(path),
            throw_on_wal_replay_failure=strict,
        )
    except RuntimeError as error:
        if "lock" in str(error).lower():
            raise busy(path, "") from error
        error_class = GraphUnusable if write or NEEDS_RECOVERY not in str(error) else Unrecovered
        raise error_class(cannot_open(path, reason(error))) from error


def cannot_open(path: Path, cause: str) -> str:
    """Return the sentence that a file cannot be opened, why, and what to do."""
    return f"cannot open graph `{path}`: {cause}; {REMEDY}"


def _pool(path: Path) -> int:
    """Return the bytes of a pool that holds the file, also when it grows."""
    return _LARGE_POOL if _size(path) < _SMALL_FILE else _DEFAULT_POOL


def abandon(connection: Any) -> None:
    """Leave a database as it is after a write that failed.

    It would write the same bytes again when it is closed, and end the process when that fails too.
    """
    # Never collected: that would close it. A module must not hold it, because its values are
    # collected at the end of the process.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))


def _small_pool(path: Path) -> int:
    """Return the bytes of a pool that holds a part of the file, and what its queries build."""
    return max(_LEAST_POOL, _size(path) // 4)


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def busy(path: Path, pid: str) -> GraphBusy:
    """Return the error that another process has the file open; `pid` may be empty."""
    process = f" (process {pid})" if pid else ""
    return GraphBusy(
        f"another turnetl process{process} has graph `{path}` open; wait until it finishes, or use "
        "a Neo4j graph, which several processes can share"
    )


def check_version(path: Path, *, strict: bool = True, low_memory: bool = False) -> None:
    """Check the version read-only: closing a file that was opened for writing changes it.

    Args:
        path: of the file.
        strict: as of `open_database`, and `low_memory`, which is too little for replaying a log.

    Raises:
        GraphUnusable: the graph is of another version.
    """
    # A file that needs recovery is checked after the writer recovered it.
    with (
        suppress(Unrecovered),
        closing(open_database(path, write=False, strict=strict, low_memory=low_memory)) as database,
        closing(ladybug.Connection(database, num_threads=1)) as connection,
    ):
        is_prepared(connection, path)


def is_prepared(connection: Any, path: Path) -> bool:
    """Return whether the file contains turnetl's tables.

    Raises:
        GraphUnusable: it does, and they are of another version.
    """
    if "TurnCommit" not in values(connection, cypher.TABLES):
        return False
    columns = {column.name for column in cypher.TURN_COMMIT}
    if not columns <= values(connection, cypher.TURN_COMMIT_COLUMNS):
        raise to_rows.other_version(str(path), None)
    if "schema_version" not in values(connection, cypher.TURN_GROUP_COLUMNS):
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
