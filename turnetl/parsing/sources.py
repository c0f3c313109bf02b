"""Access to an archive's bytes: a file, compressed or not, or a session of an OpenCode store.

A read never goes beyond the size at the time of `stat_archive`, and opens regular files only: a
pipe without a writer would block forever.
"""

import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from turnetl.errors import BadArchive
from turnetl.parsing import opencode_store, problems
from turnetl.parsing.compression import DecompressionStatus, decompress, is_compressed
from turnetl.parsing.report import Problem

HEAD_BYTES = 2 << 20
"""Bytes from the start of an archive; they are enough to detect the format of most archives."""
_NONBLOCKING = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


@dataclass(frozen=True, slots=True)
class ParseLimits:
    """Limits of a parse run, in bytes."""

    decompressed_bytes: int = 1 << 30
    """Maximum size of a decompressed archive."""
    expansion: int = 100
    """Maximum size of a decompressed archive as a multiple of its size on disk, unless it is
    small. Logs of agents shrink to a tenth, repetitive ones to a fiftieth."""
    small_bytes: int = 64 << 20
    """Size of a decompressed archive up to which it may have shrunk any further."""
    bytes_per_process: int = 128 << 20
    """Cost of archives, in bytes, for which a worker process is started. Its start, with the rules
    for secrets, takes as much CPU as half of that."""

    def max_bytes(self, compressed_bytes: int) -> int:
        """Return the maximum size of an archive that has this size on disk."""
        expanded = max(self.small_bytes, self.expansion * compressed_bytes)
        return min(self.decompressed_bytes, expanded)


@dataclass(frozen=True, slots=True)
class ArchiveStat:
    """An archive's size and modification time at one point in time."""

    path: Path
    size: int
    """Total bytes of its files."""
    mtime_ns: int
    """Modification time in nanoseconds of the file that changed last."""
    files: tuple[tuple[Path, int], ...]
    """Its files with their sizes: several for a session of a store, one for any other archive."""

    @property
    def is_store_session(self) -> bool:
        return self.files != ((self.path, self.size),)


@dataclass(frozen=True, slots=True)
class DecompressedArchive:
    """An archive's bytes, decompressed."""

    data: bytes
    problem: Problem | None
    """Set if only a part could be decompressed."""


def stat_archive(path: Path) -> ArchiveStat:
    """Return an archive's size and modification time without opening it.

    Raises:
        BadArchive: it does not exist or is not a file.
    """
    try:
        status = path.stat()
    except OSError as error:
        raise problems.unreadable(path, error) from error
    _check_is_file(path, status.st_mode)
    files = opencode_store.session_files(path)
    if files is None:
        return ArchiveStat(path, status.st_size, status.st_mtime_ns, ((path, status.st_size),))
    stats = [(file, file_stat) for file in files if (file_stat := _file_stat(file)) is not None]
    sizes = tuple((file, file_stat.st_size) for file, file_stat in stats)
    mtime_ns = max((file_stat.st_mtime_ns for _, file_stat in stats), default=status.st_mtime_ns)
    return ArchiveStat(path, sum(size for _, size in sizes), mtime_ns, sizes)


def read_stored(archive: ArchiveStat) -> bytes:
    """Return the bytes on disk. Of several files, each ends with a newline.

    Raises:
        BadArchive: they cannot be read.
    """
    if not archive.is_store_session:
        return _read(archive.path, archive.size)
    files = _existing(archive.files)
    return b"".join(_with_final_newline(_read(path, size)) for path, size in files)


def read_head(archive: ArchiveStat) -> bytes:
    """Return the start of the archive, decompressed: slightly more than `HEAD_BYTES`, or all of it.

    Raises:
        BadArchive: it cannot be read.
    """
    path, size = archive.files[0] if archive.files else (archive.path, 0)
    return decompress(_read(path, min(size, HEAD_BYTES)), HEAD_BYTES).data


def decompress_archive(path: Path, data: bytes, limits: ParseLimits) -> DecompressedArchive:
    """Return the decompressed bytes of an archive.

    Raises:
        BadArchive: they exceed the limit, or nothing precedes the place where they are truncated or
            corrupt.
    """
    if not is_compressed(data):
        return DecompressedArchive(data, None)
    max_bytes = limits.max_bytes(len(data))
    result = decompress(data, max_bytes)
    if result.status is DecompressionStatus.LIMIT_EXCEEDED:
        raise problems.too_large(path, max_bytes)
    problem = problems.decompression_problem(path, result.status, len(result.data))
    if problem is not None and not result.data:
        raise BadArchive(problem.reason, problem.message)
    return DecompressedArchive(result.data, problem)


def _check_is_file(path: Path, mode: int) -> None:
    if stat.S_ISDIR(mode):
        raise problems.unreadable(path, IsADirectoryError())
    if not stat.S_ISREG(mode):
        raise problems.not_a_file(path)


def _file_stat(path: Path) -> os.stat_result | None:
    """Return the stat of a regular file; None if it is missing or of another kind."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status if stat.S_ISREG(status.st_mode) else None


def _read(path: Path, size: int) -> bytes:
    """Return the first `size` bytes. A later run reads what is appended in the meantime."""
    try:
        with open(os.open(path, os.O_RDONLY | _NONBLOCKING), "rb") as file:  # noqa: PTH123 - fd
            _check_is_file(path, os.fstat(file.fileno()).st_mode)
            return file.read(size)
    except OSError as error:
        raise problems.unreadable(path, error) from error


def _existing(files: Iterable[tuple[Path, int]]) -> Iterable[tuple[Path, int]]:
    return ((path, size) for path, size in files if path.exists())


def _with_final_newline(data: bytes) -> bytes:
    return data if not data or data.endswith(b"\n") else data + b"\n"
