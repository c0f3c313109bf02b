"""The lock of a Ladybug file: exclusive for its writer, shared by its readers.

Ladybug itself excludes a second writing process, but neither a reader beside a writer nor a second
writer in the same process. A lock on a file beside the graph excludes all three.
"""

import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO

from turnetl.base import private_files
from turnetl.base.errors import GraphUnusable
from turnetl.graph.ladybug.database import busy

if sys.platform != "win32":
    import fcntl

LOCK_TIMEOUT = 2.0
"""Seconds to wait for a process that is about to finish."""
_LOCK_INTERVAL = 0.05
"""Seconds between two attempts."""


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
