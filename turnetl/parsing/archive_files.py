"""The files of archives, on this machine or in an object store: the port of everything that reads.

A file is named by its path; an object by the path that its URL makes, as `Path("s3://bucket/x")`.
"""

import os
import stat
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from turnetl.lake import is_object
from turnetl.parsing import problems
from turnetl.parsing.walk import FoundFile, OnProblem, walk_files


@dataclass(frozen=True, slots=True)
class ArchiveFile:
    """A file in its state at one point in time."""

    path: Path
    size: int
    """In bytes."""
    mtime_ns: int
    e_tag: str = ""
    """Changes with the content of an object; empty for a file."""


class ArchiveFiles(Protocol):
    """Where archives are. Worker processes receive a copy.

    Raises:
        BadArchive: a path cannot be read, or it is not known what it is.
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
        """Return the state of a file without reading it; `BadArchive` if it does not exist."""

    def read(self, file: ArchiveFile) -> tuple[bytes, ArchiveFile]:
        """Return the content of a file, and the state of which it is.

        A file is read up to its size in the given state: a later run reads what is appended in the
        meantime. An object is read as it is now.
        """

    def start(self, path: Path, size: int) -> bytes:
        """Return the first bytes of a file."""

    def is_file(self, path: Path) -> bool:
        """Return whether there is a file."""

    def is_folder(self, path: Path) -> bool:
        """Return whether there is a folder; in an object store, objects below the path."""

    def entries(self, folder: Path) -> list[Path]:
        """Return the files and folders in a folder, sorted; none if there is no folder."""

    def walk(self, folder: Path, on_problem: OnProblem) -> Iterator[FoundFile]:
        """Yield the files with the suffix of an archive in a folder and below it.

        `on_problem` is called for what cannot be searched, is not a file, or is no archive.
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


# A pipe without a writer would block forever.
_NONBLOCKING = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


class LocalArchives:
    """Regular files of this machine; see `ArchiveFiles`."""

    @property
    def schemes(self) -> Collection[str]:
        return ()

    def parallel_reads(self, _: Path) -> int:
        return 1

    def look_up(self, paths: Iterable[Path]) -> None:
        """Do nothing: the state of a file is read without delay."""

    def state(self, path: Path) -> ArchiveFile:
        try:
            status = path.stat()
        except OSError as error:
            raise problems.unreadable(path, error) from error
        _check_is_file(path, status.st_mode)
        return ArchiveFile(path, status.st_size, status.st_mtime_ns)

    def read(self, file: ArchiveFile) -> tuple[bytes, ArchiveFile]:
        return self.start(file.path, file.size), file

    def start(self, path: Path, size: int) -> bytes:
        try:
            with open(os.open(path, os.O_RDONLY | _NONBLOCKING), "rb") as file:  # noqa: PTH123 - fd
                _check_is_file(path, os.fstat(file.fileno()).st_mode)
                return file.read(size)
        except OSError as error:
            raise problems.unreadable(path, error) from error

    def is_file(self, path: Path) -> bool:
        return path.is_file()

    def is_folder(self, path: Path) -> bool:
        return path.is_dir()

    def entries(self, folder: Path) -> list[Path]:
        try:
            return sorted(folder.iterdir())
        except (OSError, ValueError):
            return []

    def walk(self, folder: Path, on_problem: OnProblem) -> Iterator[FoundFile]:
        return walk_files(str(folder), on_problem)


LOCAL = LocalArchives()


def _check_is_file(path: Path, mode: int) -> None:
    if stat.S_ISDIR(mode):
        raise problems.unreadable(path, IsADirectoryError())
    if not stat.S_ISREG(mode):
        raise problems.not_a_file(path)
