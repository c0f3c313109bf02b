"""gzip and zstd decompression, detected by the first bytes. Several members or frames are one text.

For data that is truncated or corrupt, the result holds what precedes the damage, and a status.
"""

import io
import re
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum

_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
_STEP = 1 << 17
"""Bytes decompressed at a time: the largest zstd block, so that data is rarely truncated within a
step."""
_FIRST_STEP = 1 << 12
"""Compressed bytes given to a gzip member first, doubled up to `_STEP`: what it does not use is
copied, and an archive may have a million members."""
_PADDING = re.compile(rb"\0*+")
_KEPT = 64 << 20
"""Bytes that are kept while it is not known whether all of the data is within the limit."""


class DecompressionStatus(StrEnum):
    """How a decompression ended."""

    COMPLETE = "complete"
    TRUNCATED = "truncated"
    """The data ends too early; more may be written later."""
    CORRUPT = "corrupt"
    """The data is neither gzip nor zstd from some place on, or does not match its checksum."""
    LIMIT_EXCEEDED = "limit_exceeded"
    """There is more data than the limit; what was decompressed is not kept if it is large."""
    WINDOW_EXCEEDED = "window_exceeded"
    """A zstd frame refers to data further back than the library's limit, 128 MiB."""


@dataclass(frozen=True, slots=True)
class Decompressed:
    data: bytes
    status: DecompressionStatus


class _StoppedError(Exception):
    """The data cannot be decompressed any further."""

    def __init__(self, status: DecompressionStatus) -> None:
        super().__init__(status)
        self.status = status


def is_compressed(data: bytes) -> bool:
    return _decompressor(data) is not None


def decompress(data: bytes, max_bytes: int) -> Decompressed:
    """Decompress data; data that is not compressed is returned unchanged.

    Stops soon after `max_bytes` bytes of output. Large data is decompressed twice, the first time
    only to measure it, so that data beyond the limit takes little memory.
    """
    decompressor = _decompressor(data)
    if decompressor is None:
        return Decompressed(data, DecompressionStatus.COMPLETE)
    if max_bytes <= _KEPT:
        return _collect(decompressor(data), max_bytes)
    first = _collect(decompressor(data), _KEPT)
    if first.status is not DecompressionStatus.LIMIT_EXCEEDED:
        return first
    del first
    if _exceeds(decompressor(data), max_bytes):
        return Decompressed(b"", DecompressionStatus.LIMIT_EXCEEDED)
    return _collect(decompressor(data), max_bytes)


def _collect(steps: Iterator[bytes], max_bytes: int) -> Decompressed:
    output = io.BytesIO()
    status = DecompressionStatus.COMPLETE
    try:
        for step in steps:
            output.write(step)
            if output.tell() > max_bytes:
                status = DecompressionStatus.LIMIT_EXCEEDED
                break
    except _StoppedError as stopped:
        status = stopped.status
    return Decompressed(output.getvalue(), status)


def _exceeds(steps: Iterator[bytes], max_bytes: int) -> bool:
    size = 0
    with suppress(_StoppedError):
        for step in steps:
            size += len(step)
            if size > max_bytes:
                return True
    return False


def _decompressor(data: bytes) -> Callable[[bytes], Iterator[bytes]] | None:
    if data.startswith(_GZIP):
        return _gunzip
    return _unzstd if data.startswith(_ZSTD) else None


def _gunzip(data: bytes) -> Iterator[bytes]:
    """Yield the bytes of all members; zeros after the last one are padding."""
    view, offset = memoryview(data), 0
    while offset < len(view):
        member, size = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16), _FIRST_STEP
        while not member.eof:
            compressed = member.unconsumed_tail or view[offset : offset + size]
            if not compressed:
                raise _StoppedError(DecompressionStatus.TRUNCATED)
            if not member.unconsumed_tail:
                offset, size = offset + len(compressed), min(2 * size, _STEP)
            try:
                yield member.decompress(compressed, _STEP)
            except zlib.error as error:
                raise _StoppedError(DecompressionStatus.CORRUPT) from error
        offset -= len(member.unused_data)
        if (padding := _PADDING.match(data, offset)) and padding.end() == len(data):
            return


def _unzstd(data: bytes) -> Iterator[bytes]:
    """Yield the bytes of all frames; skippable frames are skipped.

    Arrow returns nothing for a step that it cannot finish: that step is read byte by byte.
    """
    done = 0
    try:
        for step in _steps(data, _STEP):
            done += len(step)
            yield step
    except OSError:
        try:
            yield from _steps(data, 1, skipped=done)
        except OSError as error:
            raise _StoppedError(_zstd_status(str(error))) from error


def _zstd_status(message: str) -> DecompressionStatus:
    if "too much memory" in message:
        return DecompressionStatus.WINDOW_EXCEEDED
    is_truncated = "Truncated" in message
    return DecompressionStatus.TRUNCATED if is_truncated else DecompressionStatus.CORRUPT


def _steps(data: bytes, size: int, *, skipped: int = 0) -> Iterator[bytes]:
    import pyarrow as pa  # noqa: PLC0415 - few archives are compressed with zstd

    with pa.CompressedInputStream(pa.BufferReader(data), "zstd") as stream:
        while skipped > 0:
            skipped -= len(stream.read(min(skipped, _STEP)))
        while step := stream.read(size):
            yield step
