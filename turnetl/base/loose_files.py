"""Files and folders that more users may use than they should, and the removal of those rights.

A lake may be open to a group: its folder says so, as `private_files` describes. The rights of all
other users are always too many. Windows has other rights, which are not checked.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from stat import S_IMODE, S_ISDIR, S_ISREG

from turnetl.base.private_files import NO_FOLLOW, rights_below

_OWNER_FILE = 0o600
_EXECUTE = 0o111
_RIGHTS = 0o077


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
    """Yield a file that not only its owner may use."""
    yield from _loose(path, _OWNER_FILE)


def tighten(loose: LooseFile) -> None:
    """Take the rights away that are too many; never give any. Follows no link.

    Raises:
        OSError: it belongs to another user, or is gone.
    """
    handle = os.open(loose.path, os.O_RDONLY | NO_FOLLOW)
    try:
        os.fchmod(handle, S_IMODE(os.fstat(handle).st_mode) & ~(_RIGHTS & ~loose.allowed))
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
        if surplus := mode & _RIGHTS & ~allowed:
            yield LooseFile(path, mode, mode & ~surplus)
