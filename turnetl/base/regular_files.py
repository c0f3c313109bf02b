"""Read a file whose name may lead elsewhere: a regular one, inside its folder, of limited size.

A symbolic link could lead to any file of the user, a pipe would block, and a device may never end.
"""

import os
from pathlib import Path
from stat import S_ISREG

from turnetl.base.private_files import open_no_follow


class NotReadable(Exception):
    """Why a file is not read, as the end of a sentence that begins with its path."""


def read_inside(path: Path, folder: Path, max_bytes: int) -> bytes:
    """Return the content of a file in a folder; links that stay inside the folder are followed.

    Args:
        path: of the file.
        folder: the folder, which may itself be a link.
        max_bytes: of the file.

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
    """Return the content of a file, and follow no link in its last name.

    Args:
        path: of the file.
        max_bytes: of the file.

    Raises:
        NotReadable: as `read_inside`.
    """
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
