"""Files, such as pages, that are written whole, and never in place of what is not of turnetl."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from turnetl.base import private_files
from turnetl.base.errors import BadUsage
from turnetl.html.pages import GENERATOR


@dataclass(frozen=True, slots=True)
class OwnFile:
    """A kind of file; a file of the same kind is replaced, and any other is not."""

    kind: str
    """A noun for messages."""
    is_own: Callable[[Path], bool]
    """Whether a file that is not empty is of this kind."""

    def check(self, path: Path) -> None:
        """Check that such a file can be written to this path, before its content is made."""
        if path.is_dir() or not path.parent.is_dir():
            reason = "is a folder" if path.is_dir() else "is in a folder that does not exist"
            raise BadUsage(f"`{path}` {reason}: name a file for the {self.kind}")
        if path.exists() and not self._may_replace(path):
            raise BadUsage(
                f"`{path}` exists and is no {self.kind} of turnetl: delete it, or name another file"
            )

    def write(self, path: Path, text: str) -> int:
        """Write the file, readable by its user only, and return its bytes."""
        self.check(path)
        content = text.encode("utf-8", "replace")
        try:
            private_files.write_whole(path, content)
        except OSError as error:
            raise BadUsage(f"`{path}` cannot be written: {error.strerror}; name another") from error
        return len(content)

    def _may_replace(self, path: Path) -> bool:
        try:
            return path.is_file() and (path.stat().st_size == 0 or self.is_own(path))
        except OSError:
            return False


_HEAD = 4096
"""Bytes in which a page says what made it."""


def _is_page(path: Path) -> bool:
    with path.open("rb") as file:
        return GENERATOR.encode() in file.read(_HEAD)


_PAGE = OwnFile("page", _is_page)
check_page, write_page = _PAGE.check, _PAGE.write
