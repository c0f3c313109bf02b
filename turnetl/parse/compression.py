"""gzip and zstd, told by their first bytes: several members or frames count as one text.

What is cut off or damaged gives what can be had of it, and a word for how it ended.
"""

import io
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum

import pyarrow as pa

_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
_STEP = 1 << 17
"""Bytes unpacked at a time: the largest block of zstd, so that a cut rarely falls inside a step."""


class Ending(StrEnum):
    """How what was unpacked ended."""

    WHOLE = "whole"
    UNFINISHED = "unfinished"
    """Cut off: more may come."""
    BROKEN = "broken"
    """Something that is neither gzip nor zstd, or does not fit its checksum."""
    MORE = "more"
    """There is more than was asked for."""


@dataclass(frozen=True, slots=True)
class Unpacked:
    data: bytes
    ending: Ending


class _CutOff(Exception):
    """The packed bytes ended too early."""


class _Damaged(Exception):
    """The packed bytes make no sense from here on."""


def is_packed(data: bytes) -> bool:
    """Say whether something that begins like this is packed."""
    return _unpacker(data) is not None


def unpacked(data: bytes, most: int) -> Unpacked:
    """Unpack; what is not packed is returned as it is. Stops soon after `most` bytes."""
    unpacker = _unpacker(data)
    if unpacker is None:
        return Unpacked(data, Ending.WHOLE)
    made = io.BytesIO()
    try:
        for step in unpacker(data):
            made.write(step)
            if made.tell() > most:
                return Unpacked(made.getvalue(), Ending.MORE)
    except _CutOff:
        return Unpacked(made.getvalue(), Ending.UNFINISHED)
    except _Damaged:
        return Unpacked(made.getvalue(), Ending.BROKEN)
    return Unpacked(made.getvalue(), Ending.WHOLE)


def _unpacker(data: bytes) -> Callable[[bytes], Iterator[bytes]] | None:
    if data.startswith(_GZIP):
        return _gzip
    return _zstd if data.startswith(_ZSTD) else None


def _gzip(data: bytes) -> Iterator[bytes]:
    """Yield the members' bytes; zeros behind the last one are padding."""
    view, at = memoryview(data), 0
    while at < len(view):
        member = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
        while not member.eof:
            packed = member.unconsumed_tail or view[at : at + _STEP]
            if not packed:
                raise _CutOff
            at += 0 if member.unconsumed_tail else len(packed)
            try:
                yield member.decompress(packed, _STEP)
            except zlib.error as error:
                raise _Damaged from error
        at -= len(member.unused_data)
        if not data[at:].strip(b"\0"):
            return


def _zstd(data: bytes) -> Iterator[bytes]:
    """Yield the frames' bytes; frames that hold none are stepped over.

    Arrow gives nothing of a step that it cannot finish: the last one is taken byte by byte.
    """
    given = 0
    try:
        for step in _steps(data, _STEP):
            given += len(step)
            yield step
    except OSError:
        yield from _last_step(data, given)


def _last_step(data: bytes, given: int) -> Iterator[bytes]:
    try:
        yield from _steps(data, 1, skipped=given)
    except OSError as error:
        raise (_CutOff if "Truncated" in str(error) else _Damaged) from error


def _steps(data: bytes, size: int, *, skipped: int = 0) -> Iterator[bytes]:
    with pa.CompressedInputStream(pa.BufferReader(data), "zstd") as stream:
        while skipped > 0:
            skipped -= len(stream.read(min(skipped, _STEP)))
        while step := stream.read(size):
            yield step
