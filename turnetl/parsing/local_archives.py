"""The files of archives on this machine.

Only regular files are opened: a pipe without a writer would block forever.
"""

import os
import stat
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from turnetl.parsing import problems
from turnetl.parsing.archive_files import ArchiveFile
from turnetl.parsing.walk import FoundFile, OnProblem, walk_files

_NONBLOCKING = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


class LocalArchives:
    """Files of this machine; see `ArchiveFiles`."""

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
