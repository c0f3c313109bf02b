"""The files of archives, on this machine or in an object store: the port of everything that reads.

A file is named by its path; an object by the path that its URL makes, as `Path("s3://bucket/x")`.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from turnetl.lake import is_object
from turnetl.parsing.walk import FoundFile, OnProblem


@dataclass(frozen=True, slots=True)
class ArchiveFile:
    """A file in its state at one point in time."""

    path: Path
    size: int
    """In bytes."""
    mtime_ns: int
    """Modification time in nanoseconds."""
    e_tag: str = ""
    """Changes with the content of an object; empty for a file."""


class ArchiveFiles(Protocol):
    """Where archives are. Worker processes receive a copy.

    Every method may raise, beside what it names:
        Fatal: the object store cannot be used as it is configured.
        ArchivesBusy: it did not respond.
    """

    @property
    def schemes(self) -> Collection[str]:
        """The schemes of the URLs of archives that are read."""

    def parallel_reads(self, path: Path) -> int:
        """Return the number of files that are read in the time of one."""

    def look_up(self, paths: Iterable[Path]) -> None:
        """Request the states of several files concurrently, where each request takes long."""

    def state(self, path: Path) -> ArchiveFile:
        """Return the state of a file without reading it.

        Raises:
            BadArchive: it does not exist, or is not a file.
        """

    def read(self, file: ArchiveFile) -> tuple[bytes, ArchiveFile]:
        """Return the content of a file, and the state of which it is.

        A file is read up to its size in the given state: a later run reads what is appended in the
        meantime. An object is read as it is now.

        Raises:
            BadArchive: it cannot be read.
        """

    def start(self, path: Path, size: int) -> bytes:
        """Return the first bytes of a file.

        Raises:
            BadArchive: it cannot be read.
        """

    def is_file(self, path: Path) -> bool:
        """Return whether there is a file.

        Raises:
            BadArchive: that is not known.
        """

    def is_folder(self, path: Path) -> bool:
        """Return whether there is a folder; in an object store, objects below the path.

        Raises:
            BadArchive: that is not known.
        """

    def entries(self, folder: Path) -> list[Path]:
        """Return the files and folders in a folder, sorted; none if there is no folder.

        Raises:
            BadArchive: that is not known.
        """

    def walk(self, folder: Path, on_problem: OnProblem) -> Iterator[FoundFile]:
        """Yield the files with the suffix of an archive in a folder and below it.

        Args:
            folder: the folder to search.
            on_problem: called for what cannot be searched, is not a file, or is no archive.

        Raises:
            BadArchive: the folder cannot be listed.
        """


class RoutedArchives:
    """Archives on this machine and in object stores; see `ArchiveFiles`."""

    def __init__(self, local: ArchiveFiles, objects: ArchiveFiles) -> None:
        self._local, self._objects = local, objects

    @property
    def schemes(self) -> Collection[str]:
        return self._objects.schemes

    def parallel_reads(self, path: Path) -> int:
        return self._of(path).parallel_reads(path)

    def look_up(self, paths: Iterable[Path]) -> None:
        self._objects.look_up([path for path in paths if is_object(path)])

    def state(self, path: Path) -> ArchiveFile:
        return self._of(path).state(path)

    def read(self, file: ArchiveFile) -> tuple[bytes, ArchiveFile]:
        return self._of(file.path).read(file)

    def start(self, path: Path, size: int) -> bytes:
        return self._of(path).start(path, size)

    def is_file(self, path: Path) -> bool:
        return self._of(path).is_file(path)

    def is_folder(self, path: Path) -> bool:
        return self._of(path).is_folder(path)

    def entries(self, folder: Path) -> list[Path]:
        return self._of(folder).entries(folder)

    def walk(self, folder: Path, on_problem: OnProblem) -> Iterator[FoundFile]:
        return self._of(folder).walk(folder, on_problem)

    def _of(self, path: Path) -> ArchiveFiles:
        return self._objects if is_object(path) else self._local
