"""The files of a lake, on this machine or in an object store: the port of everything in a lake.

A file is named by its path below `root`, where its bytes are read. A lake on this machine is that
folder. Of a lake in an object store the folder holds copies: `fetch` makes them current.
"""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import IO, Protocol

Write = Callable[[IO[bytes]], object]
"""Writes the content of a file that is open for reading and writing."""
Check = Callable[[], object]
"""Raises if a file must not be replaced."""


class LakeFiles(Protocol):
    """The files of one lake. Worker processes receive a copy.

    Every method may raise, beside what it names:
        OSError: this machine cannot read or write.
        Fatal, Retryable: the object store refuses, or does not answer.
    """

    @property
    def root(self) -> Path:
        """The folder in which the files are read."""

    @property
    def parallel_writes(self) -> int:
        """The number of files that are written in the time of one."""

    @property
    def has_versions(self) -> bool:
        """Whether `version` returns a text: reading many files costs much."""

    def name(self, path: Path) -> str:
        """Return the name of a file for a message: its path, or its URL."""

    def check(self) -> None:
        """Check that there can be a lake.

        Raises:
            BadUsage: it is a file, or in a bucket that does not exist.
        """

    def names(self, folder: Path) -> list[str]:
        """Return the names of files and folders in a folder, sorted; none if it is no folder."""

    def tree(self, folder: Path) -> dict[str, list[str]]:
        """Return the names in each folder of a folder, sorted."""

    def fetch(self, paths: Iterable[Path]) -> None:
        """Make what is read at these paths current. A file that is gone is gone there too."""

    def fetch_all(self, folder: Path) -> None:
        """Make every file below a folder current, and remove what is no file of the lake."""

    def version(self, path: Path) -> str | None:
        """Return a text that changes with the content of a file, as it was listed or fetched.

        None: there is none, and reading the file costs little.
        """

    def replace(self, path: Path, write: Write, check: Check | None = None) -> None:
        """Create or replace a file atomically: nobody reads a part of it.

        Args:
            path: the file.
            write: writes its content.
            check: raises if what is there must not be replaced. Files without versions call it
                while no other process replaces the file; others replace only what was seen.

        Raises:
            LakeChanged: another process has replaced the file since this one listed or fetched it,
                or it is what `check` raised.
        """

    def create(self, path: Path, content: bytes) -> None:
        """Create a file atomically.

        Raises:
            FileExistsError: there is one.
        """

    def rename(self, path: Path, target: Path) -> None:
        """Give a file another name."""

    def delete(self, path: Path) -> None:
        """Delete a file, if there is one."""

    def sync(self, folder: Path) -> None:
        """Make what was written in a folder durable."""
