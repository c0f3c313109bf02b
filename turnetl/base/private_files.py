"""Folders and files that only their owner may use, whatever the umask; a group if it is let in.

A new file takes the rights of its folder: 0700 gives 0600, 0750 gives 0640. A folder that others
than its owner and its group may enter counts as private: that is what the usual umask makes, and
says nothing about who may read archives. What exists keeps its mode.
"""

import os
from errno import EINVAL, ELOOP
from pathlib import Path
from stat import S_IMODE, S_ISREG
from typing import IO

_OWNER, _GROUP, _OTHERS, _RIGHTS = 0o700, 0o070, 0o007, 0o777
_EXECUTE = 0o111
_CREATE = os.O_CREAT | os.O_EXCL | os.O_RDWR | getattr(os, "O_BINARY", 0)
_READ = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NONBLOCK", "O_BINARY"))
NO_FOLLOW = sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"))
"""Flags with which a file is opened whose name may lead elsewhere: a pipe would block."""


def create_folder(folder: Path, root: Path | None = None) -> None:
    """Create a folder and its parents, if they are missing.

    Args:
        folder: the folder. What is missing of it below the root gets the mode of its parent.
        root: the root, which is created with 0700, as everything above it; None: the folder itself.

    Raises:
        OSError: it cannot be created, or a file has its name.
    """
    if folder.is_dir():
        return
    if folder.parent != folder:
        create_folder(folder.parent, root)
    is_below = root is not None and root in folder.parents
    mode = rights_below(folder.parent) if is_below else _OWNER
    try:
        folder.mkdir(mode)
    except FileExistsError:
        if not folder.is_dir():
            raise
        # Another process created it.
        return
    if (status := S_IMODE(folder.stat().st_mode)) & _RIGHTS != mode:
        folder.chmod(status & ~_RIGHTS | mode)


def create_file(path: Path) -> IO[bytes]:
    """Create a file with the rights of its folder, and open it for writing and reading.

    Raises:
        FileExistsError: there is one.
        OSError: it cannot be created.
    """
    mode = rights_below(path.parent) & ~_EXECUTE
    handle = os.open(path, _CREATE, mode)
    if hasattr(os, "fchmod") and S_IMODE(os.fstat(handle).st_mode) != mode:
        os.fchmod(handle, mode)
    return os.fdopen(handle, "wb+")


def open_or_create(path: Path, like: Path | None = None) -> IO[bytes]:
    """Open a file for reading and writing; create it unless there is one.

    A symbolic link is not followed: a user who may write the folder could otherwise choose a file
    that this process creates or changes.

    Args:
        path: of the file.
        like: as of `ensure_file`.

    Raises:
        OSError: it cannot be opened, is a link, or is no regular file.
    """
    ensure_file(path, like)
    return open_no_follow(path)


def open_no_follow(path: Path, *, write: bool = True) -> IO[bytes]:
    """Open an existing regular file, without following a link.

    Args:
        path: of the file.
        write: for reading and writing; False: for reading only.

    Raises:
        OSError: as `open_or_create`.
    """
    handle = os.open(path, NO_FOLLOW | (os.O_RDWR if write else os.O_RDONLY))
    if not S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(EINVAL, "is not a regular file", str(path))
    return os.fdopen(handle, "rb+" if write else "rb")


def open_regular(path: Path) -> IO[bytes]:
    """Open an existing regular file for reading, unbuffered; links are followed.

    Raises:
        OSError: it cannot be opened, or is no regular file: a pipe would block.
    """
    handle = os.open(path, _READ)
    if not S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(EINVAL, "is not a regular file", str(path))
    return os.fdopen(handle, "rb", buffering=0)


def read_whole(path: Path) -> bytes:
    """Return the content of an existing regular file; raises as `open_regular`."""
    with open_regular(path) as file:
        return file.read()


def check_no_link(path: Path) -> None:
    """Check that a path is no symbolic link, before a library opens it and follows one.

    Raises:
        OSError: it is one.
    """
    if path.is_symlink():
        raise OSError(ELOOP, "is a symbolic link", str(path))


def write_whole(path: Path, content: bytes) -> None:
    """Replace a file, or leave it as it was; also if the process or the machine stops.

    Args:
        path: of the file. A link is replaced, not followed.
        content: of the file, which only its owner may read, whatever the rights of its folder.

    Raises:
        OSError: it cannot be written.
    """
    temporary = path.with_name(f".{path.name}.{os.urandom(8).hex()}.tmp")
    try:
        with create_file(temporary) as file:
            temporary.chmod(_OWNER & ~_EXECUTE)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def ensure_file(path: Path, like: Path | None = None) -> None:
    """Create an empty file unless there is one, before a library creates it by the umask.

    Args:
        path: of the file.
        like: a file whose mode it gets, but for the rights of others than its group; None: it gets
            the rights of its folder.

    Raises:
        OSError: it cannot be created.
    """
    if path.exists():
        return
    check_no_link(path)
    try:
        create_file(path).close()
    except FileExistsError:
        return  # Another process created it.
    if like is not None:
        path.chmod(S_IMODE(like.stat().st_mode) & ~_OTHERS)


def rights_below(folder: Path) -> int:
    """Return the mode of a new folder in a folder; that of a file is the same without execution."""
    mode = S_IMODE(folder.stat().st_mode)
    return _OWNER if mode & _OTHERS else _OWNER | mode & _GROUP
