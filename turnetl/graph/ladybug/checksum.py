"""The checksum of an embedded graph's file, kept beside it: `graph.lbug.checksum`.

The database has no checksums of its own, and reads most flipped bits as other values in silence.
No byte of the file is kept: only what is derived from it.
A writer compares the file when it opens it, and records a new checksum when it has closed it: there
is none after a kill, and for a graph of an earlier version. A doubt stays until somebody accepts
the file, so that the next write does not hide the damage.
"""

import logging
from contextlib import suppress
from enum import Enum, auto
from pathlib import Path
from zlib import crc32

import msgspec

from turnetl.base import private_files
from turnetl.base.private_files import NotReadable, read_regular

_SUFFIX = ".checksum"
_BLOCK = 1 << 20
_MAX_BYTES = 16 << 10
_PAGE = 4096
"""Bytes of the first page, with the header of the database."""
_PIECE = 16
_FEW = 2
"""Pieces: a writer that changes nothing but the first page changes more of it."""
_OPEN = -1
"""The size while a writer has the file open, and after it was killed."""

log = logging.getLogger(__name__)


class ChecksumMatch(Enum):
    """A graph file compared with its checksum."""

    SAME = auto()
    UNRECORDED = auto()
    """There is no checksum."""
    CHANGED = auto()
    """Another program wrote it, or it is another copy: its first page is another one."""
    DAMAGED = auto()
    """Bytes changed as no program changes them, now or before the last write."""


class _Recorded(msgspec.Struct, frozen=True):
    size: int
    rest: int = 0
    """The checksum of everything after the first page."""
    head: tuple[int, ...] = ()
    """The checksums of the pieces of the first page, of which every writer changes many."""
    is_doubted: bool = False
    """Whether a writer found the file damaged."""


def checksum_path(graph: Path) -> Path:
    return graph.with_name(f"{graph.name}{_SUFFIX}")


def compare(graph: Path) -> ChecksumMatch:
    """Read the whole file, which nobody writes meanwhile; OSError if it cannot be read."""
    recorded = _read(graph)
    if recorded is None or recorded.size == _OPEN:
        is_doubted = recorded is not None and recorded.is_doubted
        return ChecksumMatch.DAMAGED if is_doubted else ChecksumMatch.UNRECORDED
    state = _state(graph)
    if state == msgspec.structs.replace(recorded, is_doubted=False):
        return ChecksumMatch.DAMAGED if recorded.is_doubted else ChecksumMatch.SAME
    different = sum(now != before for now, before in zip(state.head, recorded.head, strict=False))
    is_same_otherwise = (state.size, state.rest) == (recorded.size, recorded.rest)
    is_written = different > (_FEW if is_same_otherwise else 0)
    return ChecksumMatch.CHANGED if is_written else ChecksumMatch.DAMAGED


def begin_writing(graph: Path) -> None:
    """Record that a writer opens the file, and whether something else changed it before."""
    if not graph.exists():
        return
    with suppress(OSError):
        is_doubted = compare(graph) is ChecksumMatch.DAMAGED
        if is_doubted:
            log.warning("graph `%s` is damaged; run `turnetl verify`, which says more", graph)
        _write(graph, _Recorded(_OPEN, is_doubted=is_doubted))


def end_writing(graph: Path) -> None:
    """Record the checksum of a closed file. Without disk space there is none."""
    recorded = _read(graph)
    accept(graph, is_doubted=recorded is not None and recorded.is_doubted)


def accept(graph: Path, *, is_doubted: bool = False) -> None:
    """Record the checksum of the file as it is, without a doubt unless there is one."""
    with suppress(OSError):
        _write(graph, msgspec.structs.replace(_state(graph), is_doubted=is_doubted))


def _read(graph: Path) -> _Recorded | None:
    try:
        content = read_regular(checksum_path(graph), _MAX_BYTES)
        return msgspec.json.decode(content, type=_Recorded)
    except (NotReadable, msgspec.DecodeError):
        return None


def _write(graph: Path, recorded: _Recorded) -> None:
    path = checksum_path(graph)
    path.unlink(missing_ok=True)
    # Half a file, which a power failure leaves, is no checksum.
    with private_files.create_file(path) as file:
        file.write(msgspec.json.encode(recorded))


def _state(graph: Path) -> _Recorded:
    with private_files.open_no_follow(graph.resolve(), write=False) as file:
        page = file.read(_PAGE)
        checksum, size = 0, len(page)
        while block := file.read(_BLOCK):
            checksum, size = crc32(block, checksum), size + len(block)
    head = tuple(crc32(page[at : at + _PIECE]) for at in range(0, len(page), _PIECE))
    return _Recorded(size, checksum, head)
