"""Folders and files that only their owner may use, whatever the umask; a group if it is let in.

A new file takes the rights of its folder: 0700 gives 0600, 0750 gives 0640. A folder that others
than its owner and its group may enter counts as private: that is what the usual umask makes, and
says nothing about who may read archives. What exists keeps its mode.
"""

import os
from pathlib import Path
from stat import S_IMODE
from typing import IO

_OWNER, _GROUP, _OTHERS, _RIGHTS = 0o700, 0o070, 0o007, 0o777
_EXECUTE = 0o111
_CREATE = os.O_CREAT | os.O_EXCL | os.O_RDWR | getattr(os, "O_BINARY", 0)


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
    mode = _inherited(folder.parent) if is_below else _OWNER
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
    mode = _inherited(path.parent) & ~_EXECUTE
    handle = os.open(path, _CREATE, mode)
    if hasattr(os, "fchmod") and S_IMODE(os.fstat(handle).st_mode) != mode:
        os.fchmod(handle, mode)
    return os.fdopen(handle, "wb+")


def ensure_file(path: Path, like: Path | None = None) -> None:
    """Create an empty file unless there is one, before a library creates it by the umask.

    Args:
        path: of the file.
        like: a file whose mode it gets; None: it gets the rights of its folder.

    Raises:
        OSError: it cannot be created.
    """
    if path.exists():
        return
    try:
        create_file(path).close()
    except FileExistsError:
        return  # Another process created it.
    if like is not None:
        path.chmod(S_IMODE(like.stat().st_mode))


def _inherited(folder: Path) -> int:
    """Return the mode of a new folder in a folder."""
    mode = S_IMODE(folder.stat().st_mode)
    return _OWNER if mode & _OTHERS else _OWNER | mode & _GROUP
