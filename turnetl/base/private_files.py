"""Folders and files that only their owner may use, whatever the umask; a group if it is let in.

A new file takes the rights of its folder: 0700 gives 0600, 0750 gives 0640. A folder that others
than its owner and its group may enter counts as private: that is what the usual umask makes, and
says nothing about who may read archives. What exists keeps its mode; rights of all other users are
always too many. Windows has other rights, which are not checked.

A file whose name may lead elsewhere is read if it is a regular one of limited size: a symbolic link
could lead to any file of the user, a pipe would block, and a device may never end.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from errno import EINVAL, ELOOP
from pathlib import Path
from stat import S_IMODE, S_ISDIR, S_ISREG
from typing import IO


class NotReadable(Exception):
    """Why a file is not read, as the end of a sentence that begins with its path."""


def read_inside(path: Path, folder: Path, max_bytes: int) -> bytes:
    """Return the content of a file in a folder; links that stay inside the folder are followed.

    Raises:
        NotReadable: it leads out of the folder, is no regular file, is too long, or cannot be read.
    """
    try:
        target, root = path.resolve(strict=True), folder.resolve(strict=True)
    except (FileNotFoundError, NotADirectoryError, RuntimeError):
        raise NotReadable("is not a file") from None
    except OSError as error:
        raise NotReadable(_reason(path, error)) from error
    if not target.is_relative_to(root):
        raise NotReadable("is a symbolic link that leads out of its folder")
    return read_regular(target, max_bytes)


def read_regular(path: Path, max_bytes: int) -> bytes:
    """Return the content of a file, and follow no link in its last name."""
    try:
        # Opening a device may already do something.
        if not S_ISREG(path.lstat().st_mode):
            raise NotReadable("is a symbolic link" if path.is_symlink() else "is not a file")
        with open_no_follow(path, write=False) as file:
            status = os.fstat(file.fileno())
            content = file.read(max_bytes + 1)
    except OSError as error:
        raise NotReadable(_reason(path, error)) from error
    if len(content) > max_bytes:
        size = max(status.st_size, len(content))
        raise NotReadable(f"has {size:,} bytes, more than {max_bytes:,}")
    return content


def _reason(path: Path, error: OSError) -> str:
    # A link that leads to itself.
    return "is not a file" if path.is_symlink() else f"cannot be read ({error.strerror})"


_OWNER_FILE = 0o600
_LOOSE_RIGHTS = 0o077


@dataclass(frozen=True, slots=True, order=True)
class LooseFile:
    """A file or a folder with too many rights."""

    path: Path
    mode: int
    """Its rights now."""
    allowed: int
    """Its rights without those that are too many."""


def loose_in_lake(lake: Path) -> Iterator[LooseFile]:
    """Yield what is loose in a lake, and the lake itself. Links are not followed."""
    if not lake.is_dir():
        return
    root = lake.resolve()
    folder_mode = rights_below(root)
    yield from _loose(root, folder_mode)
    for parent, folders, files in os.walk(root):
        for name in (*folders, *files):
            yield from _loose(Path(parent, name), folder_mode)


def loose_beside(file: Path) -> Iterator[LooseFile]:
    """Yield what is loose of a file and of those that a library makes beside it."""
    with suppress(OSError):
        for path in sorted(file.parent.glob(f"{file.name}*")):
            yield from _loose(path, rights_below(file.parent))


def loose_private(path: Path) -> Iterator[LooseFile]:
    yield from _loose(path, _OWNER_FILE)


def tighten_rights(loose: LooseFile) -> None:
    """Take the rights away that are too many; never give any. Follows no link."""
    handle = os.open(loose.path, os.O_RDONLY | NO_FOLLOW)
    try:
        os.fchmod(handle, S_IMODE(os.fstat(handle).st_mode) & ~(_LOOSE_RIGHTS & ~loose.allowed))
    finally:
        os.close(handle)


def _loose(path: Path, folder_mode: int) -> Iterator[LooseFile]:
    if sys.platform == "win32":
        return
    # It may be gone by now.
    with suppress(OSError):
        status = path.lstat()
        if not (S_ISDIR(status.st_mode) or S_ISREG(status.st_mode)):
            return
        allowed = folder_mode if S_ISDIR(status.st_mode) else folder_mode & ~_EXECUTE
        mode = S_IMODE(status.st_mode)
        if surplus := mode & _LOOSE_RIGHTS & ~allowed:
            yield LooseFile(path, mode, mode & ~surplus)


_OWNER, _GROUP, _OTHERS, _RIGHTS = 0o700, 0o070, 0o007, 0o777
_EXECUTE = 0o111
_CREATE = os.O_CREAT | os.O_EXCL | os.O_RDWR | getattr(os, "O_BINARY", 0)
_READ = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NONBLOCK", "O_BINARY"))
NO_FOLLOW = sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"))
"""Flags with which a file is opened whose name may lead elsewhere: a pipe would block."""


def create_folder(folder: Path, root: Path | None = None) -> None:
    """Create a folder and its parents, if they are missing.

    What is below `root` gets the mode of its parent; the root, or else the folder itself, 0700.
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
    """Create a file with the rights of its folder, and open it for writing and reading."""
    mode = rights_below(path.parent) & ~_EXECUTE
    handle = os.open(path, _CREATE, mode)
    if hasattr(os, "fchmod") and S_IMODE(os.fstat(handle).st_mode) != mode:
        os.fchmod(handle, mode)
    return os.fdopen(handle, "wb+")


def open_or_create(path: Path, like: Path | None = None) -> IO[bytes]:
    """Open a file for reading and writing, created if missing; no link is followed."""
    ensure_file(path, like)
    return open_no_follow(path)


def open_no_follow(path: Path, *, write: bool = True) -> IO[bytes]:
    """Open an existing regular file, without following a link."""
    flags, mode = (os.O_RDWR, "rb+") if write else (os.O_RDONLY, "rb")
    return _open(path, NO_FOLLOW | flags, mode)


def open_regular(path: Path) -> IO[bytes]:
    """Open an existing regular file, and no pipe, for reading, unbuffered; follow links."""
    return _open(path, _READ, "rb", buffering=0)


def _open(path: Path, flags: int, mode: str, buffering: int = -1) -> IO[bytes]:
    handle = os.open(path, flags)
    if not S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(EINVAL, "is not a regular file", str(path))
    return os.fdopen(handle, mode, buffering)


def read_whole(path: Path) -> bytes:
    with open_regular(path) as file:
        return file.read()


def check_no_link(path: Path) -> None:
    """Check that a path is no symbolic link, before a library opens it and follows one."""
    if path.is_symlink():
        raise OSError(ELOOP, "is a symbolic link", str(path))


def write_whole(path: Path, content: bytes) -> None:
    """Replace a file, or leave it as it was; also if the process or the machine stops.

    Only its owner may read it, whatever the rights of its folder. A link is replaced, not followed.
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

    It gets the mode of `like`, but for the rights of others, or the rights of its folder.
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
