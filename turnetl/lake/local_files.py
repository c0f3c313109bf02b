"""The files of a lake in a folder of this machine."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from turnetl.base import private_files
from turnetl.base.errors import BadUsage
from turnetl.lake.files import Check, Write
from turnetl.lake.paths import entry_names
from turnetl.lake.temporary import replace_file, sync_folder

_OWNER_FILE = 0o600


@dataclass(frozen=True)
class LocalFiles:
    """The files of a folder; see `LakeFiles`. The first write creates the folder."""

    root: Path

    @property
    def parallel_writes(self) -> int:
        return 1

    @property
    def has_versions(self) -> bool:
        return False

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

        Where there are no locks of folders (Windows, some network file systems), another process
        may replace the file just after the check.
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
    """Give a complete file its name.

    Raises:
        FileExistsError: another process was first.
    """
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
