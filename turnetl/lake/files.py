"""The files of a lake, on this machine or in an object store: the port of everything in a lake.

A file is named by its path below `root`, where its bytes are read. A lake on this machine is that
folder. Of a lake in an object store the folder holds copies: `fetch` makes them current.
"""

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, ClassVar, Protocol

from turnetl.base import private_files
from turnetl.base.disks import sync_folder
from turnetl.base.errors import BadUsage
from turnetl.lake.paths import entry_names
from turnetl.lake.temporary import replace_file

Write = Callable[[IO[bytes]], object]
"""Writes the content of a file that is open for reading and writing."""
Check = Callable[[], object]
"""Raises if a file must not be replaced."""


class LakeFiles(Protocol):
    """The files of one lake; worker processes receive a copy.

    Every method may raise OSError, and of an object store Fatal and Retryable.
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
        """Check that there can be a lake: no file has its place, and its bucket exists."""

    def names(self, folder: Path) -> list[str]:
        """Return the names of files and folders in a folder, sorted; none if it is no folder."""

    def tree(self, folder: Path) -> dict[str, list[str]]:
        """Return the names in each folder of a folder, sorted."""

    def fetch(self, paths: Iterable[Path]) -> None:
        """Make what is read at these paths current. A file that is gone is gone there too."""

    def fetch_all(self, folder: Path) -> None:
        """Make every file below a folder current, and remove what is no file of the lake."""

    def version(self, path: Path) -> str | None:
        """Return a text that changes with a listed or fetched file; None: reading is cheap."""

    def replace(self, path: Path, write: Write, check: Check | None = None) -> None:
        """Create or replace a file atomically: nobody reads a part of it.

        `check` raises if what is there must not be replaced. Files without versions call it while
        no other process replaces the file; others replace only what was seen, and raise
        `LakeChanged`.
        """

    def create(self, path: Path, content: bytes) -> None:
        """Create a file atomically; raise `FileExistsError` if there is one."""

    def rename(self, path: Path, target: Path) -> None:
        """Give a file another name."""

    def delete(self, path: Path) -> None:
        """Delete a file, if there is one."""

    def sync(self, folder: Path) -> None:
        """Make what was written in a folder durable."""


_OWNER_FILE = 0o600


@dataclass(frozen=True)
class LocalFiles:
    """The files of a folder; see `LakeFiles`. The first write creates the folder."""

    root: Path
    parallel_writes: ClassVar = 1
    has_versions: ClassVar = False

    def name(self, path: Path) -> str:
        return str(path)

    def check(self) -> None:
        if self.root.exists() and not self.root.is_dir():
            raise BadUsage(f"`{self.root}` is not a folder; name the folder of a lake with --lake")

    def names(self, folder: Path) -> list[str]:
        return entry_names(folder)

    def tree(self, folder: Path) -> dict[str, list[str]]:
        return {name: entry_names(folder / name) for name in entry_names(folder)}

    def fetch(self, paths: Iterable[Path]) -> None:
        """Do nothing: the files are read where they are."""

    def fetch_all(self, folder: Path) -> None:
        """Do nothing, as `fetch`."""

    def version(self, _: Path) -> str | None:
        return None

    def replace(self, path: Path, write: Write, check: Check | None = None) -> None:
        """Replace a file. Without `check` the last process wins. Durable after a `sync`.

        Where folders have no locks (Windows, some network file systems), another process may
        replace the file just after the check.
        """
        replace_file(path, write, self.root, check or _accept)

    def create(self, path: Path, content: bytes) -> None:
        """Create a file that only its owner may read, durably."""
        private_files.create_folder(path.parent, path.parent)
        temporary = path.with_name(f".{path.name}.{os.urandom(8).hex()}.tmp")
        try:
            private_files.write_whole(temporary, content)
            _name_first(temporary, path, content)
        finally:
            temporary.unlink(missing_ok=True)
        sync_folder(path.parent)

    def rename(self, path: Path, target: Path) -> None:
        path.replace(target)

    def delete(self, path: Path) -> None:
        path.unlink(missing_ok=True)

    def sync(self, folder: Path) -> None:
        sync_folder(folder)


def _accept() -> None:
    """Accept whatever is replaced."""


def _name_first(temporary: Path, path: Path, content: bytes) -> None:
    """Give a complete file its name; raise `FileExistsError` if another process was first."""
    try:
        path.hardlink_to(temporary)
    except FileExistsError:
        raise
    except OSError:
        # A disk without hard links. Here a process that reads during the write fails.
        with private_files.create_file(path) as file:
            path.chmod(_OWNER_FILE)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
