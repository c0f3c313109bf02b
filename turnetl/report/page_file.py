"""Files of HTML pages: written whole, and never in place of what is no page of turnetl."""

from pathlib import Path

from turnetl import private_files
from turnetl.errors import BadUsage
from turnetl.html.pages import GENERATOR

_HEAD = 4096
"""Bytes in which a page says what made it."""


def check_page(path: Path) -> None:
    """Check that a page can be written to this path, before it is made.

    Raises:
        BadUsage: its folder does not exist, it is a folder itself, or it is a file that is no page
            of turnetl.
    """
    if path.is_dir() or not path.parent.is_dir():
        reason = "is a folder" if path.is_dir() else "is in a folder that does not exist"
        raise BadUsage(f"`{path}` {reason}: name a file for the page")
    if path.exists() and not _is_page(path):
        raise BadUsage(
            f"`{path}` exists and is no page of turnetl: delete it, or name another file"
        )


def write_page(path: Path, page: str) -> int:
    """Write a page, readable by its user only, and return its bytes; an earlier page is replaced.

    Raises:
        BadUsage: as `check_page`, or it cannot be written.
    """
    check_page(path)
    content = page.encode("utf-8", "replace")
    try:
        private_files.write_whole(path, content)
    except OSError as error:
        raise BadUsage(f"`{path}` cannot be written: {error.strerror}; name another") from error
    return len(content)


def _is_page(path: Path) -> bool:
    """Return whether a file is a page, or empty."""
    if not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
    except OSError:
        return False
    return not head or GENERATOR.encode() in head
