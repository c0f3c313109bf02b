"""Where the bytes of an archive come from: a file, packed or not, or a session of a store.

Nothing is read that was not there when we looked, and nothing but files is opened: a pipe without a
writer would hold us for ever.
"""

import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from turnetl.errors import BadArchive
from turnetl.parse import problems, stores
from turnetl.parse.compression import Ending, is_packed, unpacked
from turnetl.parse.report import Problem

HEAD = 2 << 20
"""Bytes by which most archives can be told."""
_NEVER_WAIT = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


@dataclass(frozen=True, slots=True)
class ParseLimits:
    """How much is taken on."""

    unpacked: int = 1 << 30
    """Bytes that a packed archive may unpack to."""
    alone: int = 30 << 20
    """Effort, in bytes, for which no other processes are started: that takes half a second."""


@dataclass(frozen=True, slots=True)
class Seen:
    """An archive as it was when we looked."""

    path: Path
    size: int
    """Bytes, of all its files together."""
    mtime_ns: int
    """Of the file that changed last."""
    files: tuple[tuple[Path, int], ...]
    """The files it is made of and their sizes; a store's session has many, all others one."""

    @property
    def is_store(self) -> bool:
        return self.files != ((self.path, self.size),)


@dataclass(frozen=True, slots=True)
class Content:
    """What an archive says, unpacked."""

    data: bytes
    problem: Problem | None
    """If it could be unpacked in part only."""


def look(path: Path) -> Seen:
    """Look at an archive without opening it.

    Raises:
        BadArchive: it is not there, or no file.
    """
    try:
        status = path.stat()
    except OSError as error:
        raise problems.unreadable(path, error) from error
    _check(path, status.st_mode)
    members = stores.members(path)
    if members is None:
        return Seen(path, status.st_size, status.st_mtime_ns, ((path, status.st_size),))
    found = [(member, of) for member in members if (of := _status(member)) is not None]
    sizes = tuple((member, of.st_size) for member, of in found)
    changed = max((of.st_mtime_ns for _, of in found), default=status.st_mtime_ns)
    return Seen(path, sum(size for _, size in sizes), changed, sizes)


def stored(seen: Seen) -> bytes:
    """Return the bytes as they lie on disk; those of several files end with a newline each.

    Raises:
        BadArchive: they cannot be read.
    """
    if not seen.is_store:
        return _read(seen.path, seen.size)
    return b"".join(_ended(_read(path, size)) for path, size in _still_there(seen.files))


def head(seen: Seen) -> bytes:
    """Return how the archive begins, unpacked: all of it, or a bit more than `HEAD` bytes.

    Raises:
        BadArchive: it cannot be read.
    """
    path, size = seen.files[0] if seen.files else (seen.path, 0)
    return unpacked(_read(path, min(size, HEAD)), HEAD).data


def content(path: Path, data: bytes, bounds: ParseLimits) -> Content:
    """Return what the bytes of an archive say.

    Raises:
        BadArchive: they unpack to too much, or to nothing because they are cut off or damaged.
    """
    if not is_packed(data):
        return Content(data, None)
    made = unpacked(data, bounds.unpacked)
    if made.ending is Ending.MORE:
        raise problems.too_large(path, bounds.unpacked)
    problem = problems.incomplete(path, made.ending, len(made.data))
    if problem is not None and not made.data:
        raise BadArchive(problem.reason, problem.message)
    return Content(made.data, problem)


def _check(path: Path, mode: int) -> None:
    if stat.S_ISDIR(mode):
        raise problems.unreadable(path, IsADirectoryError())
    if not stat.S_ISREG(mode):
        raise problems.no_file(path)


def _status(path: Path) -> os.stat_result | None:
    """Return how a member is; None if it has gone or is no file."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status if stat.S_ISREG(status.st_mode) else None


def _read(path: Path, size: int) -> bytes:
    """Return what was there when we looked: what is appended meanwhile, the next run reads."""
    try:
        with open(os.open(path, os.O_RDONLY | _NEVER_WAIT), "rb") as file:  # noqa: PTH123 - a number
            _check(path, os.fstat(file.fileno()).st_mode)
            return file.read(size)
    except OSError as error:
        raise problems.unreadable(path, error) from error


def _still_there(files: Iterable[tuple[Path, int]]) -> Iterable[tuple[Path, int]]:
    return ((path, size) for path, size in files if path.exists())


def _ended(data: bytes) -> bytes:
    return data if not data or data.endswith(b"\n") else data + b"\n"
