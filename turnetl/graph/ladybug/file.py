"""Open a Ladybug file, so that no process reads it while another one writes it.

A lock on a file beside the graph is exclusive for its writer, and shared by its readers: Ladybug
itself excludes a second writing process, but neither a reader beside a writer nor a second writer
in the same process. A log that a process finds under this lock means that the last writer did not
close the file.
"""

import os
import shutil
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from stat import S_ISREG
from tempfile import TemporaryDirectory
from typing import IO, Any

import ladybug

from turnetl.base import private_files
from turnetl.base.disks import free_bytes
from turnetl.base.errors import GraphUnusable
from turnetl.graph.ladybug import checksum, log, storage_version, swap
from turnetl.graph.ladybug.checksum import ChecksumMatch
from turnetl.graph.ladybug.client import DAMAGE, error_reason
from turnetl.graph.ladybug.database import (
    SMALL_POOL,
    SeparateConnections,
    Unrecovered,
    abandon,
    busy,
    cannot_open,
    connect,
    create_tables,
    has_episodes,
    is_prepared,
    open_database,
    open_for_reading,
    prepare_for_writing,
)
from turnetl.graph.ladybug.log import DiskSpace
from turnetl.graph.ladybug.probe import FileState, probe
from turnetl.graph.ladybug.table_dump import BESIDE

if sys.platform != "win32":
    import fcntl

LOCK_TIMEOUT = 2.0
"""Seconds to wait for a process that is about to finish."""
_LOCK_INTERVAL = 0.05
"""Seconds between two attempts."""
_SUFFIXES = (*BESIDE, ".tmp")
"""Of the files that the database makes beside its own."""


@dataclass(frozen=True)
class LadybugFile:
    """An open database with its only connection."""

    connection: Any
    database: Any
    lock: IO[bytes] | None
    space: DiskSpace | None = None
    """None if it is open for reading only."""
    copy: "TemporaryDirectory[str] | None" = None
    """The folder of a copy that is read instead of the file."""

    @classmethod
    def open(
        cls,
        path: Path,
        *,
        write: bool,
        low_memory: bool = False,
        timeout: float = LOCK_TIMEOUT,
        sleep: Callable[[float], None] = time.sleep,
        free_bytes: Callable[[Path], float] = free_bytes,
    ) -> "LadybugFile":
        """Open the file; read-only, a missing file, or one without an episode, is an empty graph.

        A file that Graphiti filled and turnetl never wrote lacks turnetl's tables. A reader then
        reads a copy that has them, which is deleted when it is closed.

        A file whose writer was killed, or had no disk space left, is repaired first. A reader
        ignores an incomplete transaction at the end of the log and leaves the repair to the next
        writer. If the file cannot be read without a repair, the reader makes it, as a writer.

        Args:
            path: of the file.
            write: only one process can.
            low_memory: for reading with a limited buffer pool.
            timeout: seconds to wait for another process that has it open.
            sleep: waits for a number of seconds.
            free_bytes: of the disk of a folder.

        Raises:
            GraphBusy: another process has it open.
            GraphUnusable: it is not a graph, is of another version, or cannot be written.
        """
        if not write and not path.exists():
            return cls._empty()
        check_regular(path)
        lock = partial(lock_graph, path, timeout=timeout, sleep=sleep)
        space = DiskSpace(path, free_bytes)
        try:
            with suppress(Unrecovered):
                return cls._opened(lock(write=write), space, write=write, low_memory=low_memory)
            cls._opened(lock(write=True), space, write=True).close()
            return cls._opened(lock(write=write), space, write=write, low_memory=low_memory)
        except RuntimeError as error:
            raise GraphUnusable(cannot_open(path, error_reason(error))) from error
        except (ValueError, *DAMAGE) as error:
            cause = f"it is damaged ({error_reason(error)})"
            raise GraphUnusable(cannot_open(path, cause)) from error

    def close(self) -> None:
        """Close the file; a writer merges the log into it, if the disk has the space."""
        if self.space and not self.space.can_merge():
            # The next writer merges the log; without space, the database would end the process.
            self.connection.execute("CALL force_checkpoint_on_close=false")
        self.connection.close()
        self.database.close()
        if self.space:
            checksum.end_writing(self.space.path)
        if self.lock:
            self.lock.close()
        if self.copy:
            self.copy.cleanup()

    def abandon(self) -> None:
        """Release the file after a write that failed; the next writer repairs the log."""
        abandon(self.connection)
        if self.lock:
            self.lock.close()

    @classmethod
    def _opened(
        cls, lock: IO[bytes] | None, space: DiskSpace, *, write: bool, low_memory: bool = False
    ) -> "LadybugFile":
        path = space.path
        with ExitStack() as opened:
            if lock:
                opened.callback(lock.close)
            if not write and swap.is_pending(path):
                raise Unrecovered(f"cannot open graph `{path}`: its upgrade is not finished")
            if write:
                check_no_links(path)
                swap.finish(path)
                checksum.begin_writing(path)
                prepare_for_writing(path, space)
                _ensure_file(path)
            database = (
                open_database(path, write=True)
                if write
                else open_for_reading(path, low_memory=low_memory)
            )
            opened.callback(database.close)
            if write:
                _ensure_file(log.active_log(path), like=path)
            connection = SeparateConnections(database) if low_memory else connect(database)
            opened.callback(connection.close)
            if write and storage_version.other_version(path) is not None:
                # The first merge writes the version: until then, a log of this release would lie
                # beside a file that names an older one, which could not replay it.
                space.check()
                connection.execute("CHECKPOINT")
            if is_prepared(connection, path) or write:
                opened.pop_all()
                return cls(connection, database, lock, space if write else None)
            return cls._prepared_copy(path) if has_episodes(connection) else cls._empty()

    @classmethod
    def _prepared_copy(cls, path: Path) -> "LadybugFile":
        """Copy the file, which nobody writes meanwhile, and create turnetl's tables in the copy."""
        folder = TemporaryDirectory(prefix="turnetl-graph-")
        with ExitStack() as opened:
            opened.callback(folder.cleanup)
            copy = Path(folder.name) / path.name
            for source in (path, log.active_log(path)):
                if source.exists():
                    shutil.copy2(source, copy.with_name(source.name))
            database = opened.enter_context(closing(open_database(copy, write=True)))
            connection = opened.enter_context(closing(connect(database)))
            create_tables(connection)
            opened.pop_all()
            return cls(connection, database, None, copy=folder)

    @classmethod
    def _empty(cls) -> "LadybugFile":
        database = ladybug.Database(":memory:", buffer_pool_size=SMALL_POOL, max_num_threads=1)
        connection = connect(database)
        create_tables(connection)
        return cls(connection, database, None)


@dataclass(frozen=True, slots=True)
class GraphFileCheck:
    comparison: ChecksumMatch
    problem: str | None = None
    """Why it cannot be read, as the end of a sentence; None if it can."""
    is_emptied: bool = False
    """Whether it has no bytes, although it had some: the database reads it as a new graph."""
    remedy: str | None = None
    """What to do about a file that only another release of the database reads."""


def check_file(path: Path) -> GraphFileCheck:
    """Compare a file with its checksum, and check whether it can be read unless they are the same.

    A damaged page can end the process that reads it: another process reads it. Raises as
    `lock_graph`.
    """
    if not S_ISREG(path.stat().st_mode):
        return GraphFileCheck(ChecksumMatch.DAMAGED, "is no regular file")
    lock = lock_graph(path, write=False)
    try:
        comparison = checksum.compare(path)
        if swap.is_pending(path):
            remedy = "open it with a command, such as `turnetl status`, which finishes the upgrade"
            return GraphFileCheck(comparison, "has an unfinished upgrade", remedy=remedy)
        if comparison is ChecksumMatch.SAME:
            return GraphFileCheck(comparison)
        if comparison is ChecksumMatch.DAMAGED and not path.stat().st_size:
            return GraphFileCheck(comparison, "is empty, and was not before", is_emptied=True)
        return _read_all(path, comparison)
    except OSError as error:
        return GraphFileCheck(ChecksumMatch.DAMAGED, f"cannot be read ({error.strerror})")
    finally:
        if lock is not None:
            lock.close()


def _read_all(path: Path, comparison: ChecksumMatch) -> GraphFileCheck:
    state, version = probe(path, "rows"), storage_version.other_version(path)
    if version is None:
        return GraphFileCheck(comparison, _problem(state))
    # All rows may be there without a log that this release cannot read.
    if state is FileState.INTACT and probe(path, "read") is FileState.INTACT:
        return GraphFileCheck(comparison)
    problem, remedy = storage_version.problem(version), storage_version.remedy(version)
    return GraphFileCheck(comparison, problem, remedy=remedy)


def _problem(state: FileState | None) -> str | None:
    match state:
        case FileState.CRASH | FileState.KILLED:
            return "ends the process that reads it"
        case FileState.UNREADABLE | None:
            return "cannot be read: it is damaged, or no graph"
        case _:
            return None


def check_regular(path: Path) -> None:
    """Check that the database opens regular files only: a pipe would block it."""
    for suffix in ("", *_SUFFIXES):
        file = path.with_name(f"{path.name}{suffix}")
        if file.exists() and not file.is_file():
            kind = "a folder" if file.is_dir() else "a pipe, a socket or a device"
            raise GraphUnusable(
                f"cannot open graph `{path}`: `{file}` is {kind}, which turnetl never makes there; "
                "move it away, or name another file with --graph"
            )


def check_no_links(path: Path) -> None:
    """Check that the database creates no file where a link leads: it follows links."""
    if path.is_symlink() and not path.exists():
        raise GraphUnusable(
            f"cannot open graph `{path}`: `{path}` is a symbolic link to a file that does not "
            "exist; remove it, or name the file itself with --graph"
        )
    for suffix in _SUFFIXES:
        file = path.with_name(f"{path.name}{suffix}")
        if file.is_symlink():
            raise GraphUnusable(
                f"cannot open graph `{path}`: `{file}` is a symbolic link, which turnetl never "
                "makes; remove it"
            )


def _ensure_file(path: Path, like: Path | None = None) -> None:
    """Create a file of the database, which would create it by the umask."""
    # What cannot be written is reported by the database.
    with suppress(OSError):
        private_files.ensure_file(path, like)


def lock_graph(
    path: Path,
    *,
    write: bool,
    timeout: float = LOCK_TIMEOUT,
    sleep: Callable[[float], None] = time.sleep,
) -> IO[bytes] | None:
    """Lock the file beside the graph: exclusively for writing, shared for reading.

    Raises:
        GraphBusy: another process has it locked.
        GraphUnusable: the lock cannot be used.
    """
    if sys.platform == "win32":  # only Ladybug's own exclusion there
        return None
    lock = _lock_file(path, write=write)
    if lock is None:
        return None
    deadline = time.monotonic() + timeout
    while not _try_lock(lock, path, write=write):
        if time.monotonic() >= deadline:
            lock.seek(0)
            pid = lock.read().decode(errors="replace").strip()
            lock.close()
            raise busy(path, pid)
        sleep(_LOCK_INTERVAL)
    if write:
        _write_owner(lock, path)
    return lock


def _write_owner(lock: IO[bytes], path: Path) -> None:
    """Write the process id, which another process names when it finds the file locked."""
    try:
        lock.truncate(0)
        lock.write(f"{os.getpid()}\n".encode())
        lock.flush()
    except OSError as error:
        # What is buffered cannot be written either.
        with suppress(OSError):
            lock.close()
        raise GraphUnusable(
            f"cannot open graph `{path}`: its lock file cannot be written ({error.strerror}); free "
            "some disk space, then repeat the command"
        ) from error


def _lock_file(path: Path, *, write: bool) -> IO[bytes] | None:
    """Open the file beside the graph; None if there is none and a reader cannot create it."""
    lock = path.with_name(f"{path.name}.lock")
    try:
        private_files.create_folder(path.parent)
        return private_files.open_or_create(lock, like=path if path.exists() else None)
    except OSError as error:
        if lock.is_symlink():
            raise GraphUnusable(
                f"cannot open graph `{path}`: its lock file `{lock}` is a symbolic link, which "
                "turnetl never makes; remove it"
            ) from error
        if lock.exists() and not lock.is_file():
            raise GraphUnusable(
                f"cannot open graph `{path}`: its lock file `{lock}` is no regular file; move it "
                "away, and turnetl makes another one"
            ) from error
        if not write and path.exists():
            return private_files.open_no_follow(lock, write=False) if lock.exists() else None
        raise GraphUnusable(
            f"cannot open graph `{path}`: {error.strerror}; name another file with --graph"
        ) from error


def _try_lock(lock: IO[bytes], path: Path, *, write: bool) -> bool:
    if sys.platform == "win32":
        return True
    try:
        fcntl.flock(lock, (fcntl.LOCK_EX if write else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        lock.close()
        raise GraphUnusable(
            f"cannot lock graph `{path}` ({error.strerror}): its disk has no locks, as some "
            "network file systems, and two processes could write to it at the same time; keep the "
            "lake on a disk of this machine, or use a Neo4j graph"
        ) from error
    return True
