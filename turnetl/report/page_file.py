"""The file of an HTML page."""

from pathlib import Path

from turnetl import private_files
from turnetl.errors import BadUsage


def check_page(path: Path) -> None:
    """Check that a page can be written to this path, before it is made.

    Raises:
        BadUsage: its folder does not exist, or it is a folder itself.
    """
    if path.is_dir() or not path.parent.is_dir():
        reason = "is a folder" if path.is_dir() else "is in a folder that does not exist"
        raise BadUsage(f"`{path}` {reason}: name a file for the page")


def write_page(path: Path, page: str) -> None:
    """Write a page, readable by its user only; a file that exists is replaced.

    Raises:
        BadUsage: it cannot be written.
    """
    try:
        private_files.write_whole(path, page.encode("utf-8", "replace"))
    except OSError as error:
        raise BadUsage(f"`{path}` cannot be written: {error.strerror}; name another") from error
