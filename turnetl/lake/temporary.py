"""Temporary files and folders, of a lake and others, each locked by the process that uses it.

The operating system releases the lock when the process ends, however it ends: a later run can tell
the files of killed processes from those in use, on any machine that shares the disk and its locks.
A disk or a system without `flock` keeps them.
"""

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from turnetl.base import private_files
from turnetl.lake.paths import entry_names

if sys.platform != "win32":
    import fcntl

_SUFFIX = ".tmp"
_FOLDER_SUFFIX = ".rows"


def replace_file(
    path: Path,
    write: Callable[[IO[bytes]], object],
    root: Path | None,
    check: Callable[[], object] | None = None,
) -> None:
    """Write a file to a temporary name, sync it and rename it; after an error nothing is left.

    A power failure may undo the rename until `sync_folder` is called. `check` is called just before
    it, while no other process that has a check renames files in the folder.
    """
    with temporary_file(path, root) as (temporary, file):
        write(file)
        file.flush()
        os.fsync(file.fileno())
        if check is None:
            rename_open(temporary, file, path)
            return
        with _locked_folder(path.parent):
            check()
            rename_open(temporary, file, path)


@contextmanager
def temporary_file(path: Path, root: Path | None) -> Iterator[tuple[Path, IO[bytes]]]:
    """Create a locked file beside another one, and delete it unless it was renamed."""
    while True:
        temporary = path.with_name(f".{path.name}.{os.urandom(8).hex()}{_SUFFIX}")
        # Created within the `try`: an interrupt may arrive just after it.
        try:
            with _create(temporary, root) as file:
                if _lock(file):
                    yield temporary, file
                    return
        finally:
            with suppress(OSError):
                _remove(temporary)


def rename_open(temporary: Path, file: IO[bytes], path: Path) -> None:
    """Give a temporary file its name, while it is locked: nobody takes it for an abandoned one."""
    if sys.platform == "win32":  # where no open file can be renamed
        file.close()
    temporary.replace(path)


@contextmanager
def _locked_folder(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder, where folders can be locked."""
    handle = None
    try:
        with suppress(OSError):
            handle = os.open(folder, os.O_RDONLY)
            if sys.platform != "win32":
                fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        if handle is not None:
            os.close(handle)


@contextmanager
def temporary_folder(folder: Path, root: Path | None, name: str = "spill") -> Iterator[Path]:
    """Create a temporary folder in a folder, with a locked file beside it, and delete both."""
    with temporary_file(folder / name, root) as (temporary, _):
        created = temporary.with_suffix(_FOLDER_SUFFIX)
        private_files.create_folder(created)
        yield created


@contextmanager
def shared_temporary_folder(folder: Path, name: str) -> Iterator[Path]:
    """Create a temporary folder among those of other programs; abandoned ones are deleted."""
    remove_abandoned(folder, name)
    with temporary_folder(folder, None, name) as created:
        yield created


def remove_abandoned(folder: Path, name: str = "") -> int:
    """Remove temporary files of killed processes, all or those of a name; return their number."""
    names, start = entry_names(folder), f".{name}." if name else "."
    temporary = [one for one in names if one.startswith(start) and is_temporary(one)]
    return sum(_remove_abandoned(folder / one) for one in temporary)


def is_temporary(name: str) -> bool:
    return name.startswith(".") and name.endswith(_SUFFIX)


def _create(temporary: Path, root: Path | None) -> IO[bytes]:
    try:
        return private_files.create_file(temporary)
    except FileNotFoundError:
        private_files.create_folder(temporary.parent, root)
        return private_files.create_file(temporary)


def _lock(file: IO[bytes]) -> bool:
    """Lock a new file; return False if another run removed it before it was locked."""
    if sys.platform != "win32":
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:
            # No run can lock a file on this disk, so that none removes it.
            return True
    return os.fstat(file.fileno()).st_nlink > 0


def _remove_abandoned(path: Path) -> bool:
    if sys.platform == "win32":
        return False
    # Another run may use, rename or remove it meanwhile, or it is another user's.
    with suppress(OSError), private_files.open_no_follow(path) as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _remove(path)
        return True
    return False


def _remove(temporary: Path) -> None:
    # The folder first: the next run finds what an interrupt leaves of it by the file.
    if (folder := temporary.with_suffix(_FOLDER_SUFFIX)).is_dir():
        shutil.rmtree(folder)
    temporary.unlink(missing_ok=True)
