"""The checksum of a Parquet file: its readers decode most flipped bits as other values in silence.

A file has 16 bytes of turnetl's own where the Parquet format lets readers find nothing:

    rows | magic, CRC-32 of the footer, CRC-32 of rows and footer | footer

The metadata of thousands of files is read in every run without the rows: the footer has its own.
"""

import struct
from collections.abc import Callable
from typing import IO
from zlib import crc32

_SEAL = struct.Struct("<8sII")
_MAGIC = b"turnetl\x01"
_TAIL = struct.Struct("<I4s")
"""The end of a Parquet file: the length of the footer's Thrift structure, and a magic number."""
PARQUET_MAGIC = b"PAR1"
_BLOCK = 1 << 20
_FOOTER = 64 << 10
"""Bytes that are read from the end of a file: more than most footers have."""


class ChecksumError(Exception):
    """The bytes of a file are not those that were written."""


def sealed(data: memoryview) -> tuple[memoryview, bytes, memoryview]:
    """Return the parts of an encoded file with its checksums: rows, checksums, footer."""
    start = len(data) - _footer_bytes(data[-_TAIL.size :])
    rows, footer = data[:start], data[start:]
    return rows, _SEAL.pack(_MAGIC, crc32(footer), crc32(footer, crc32(rows))), footer


def seal_file(file: IO[bytes]) -> None:
    """Add the checksums to a complete file that is open for reading and writing."""
    size = file.seek(0, 2)
    start = size - _footer_bytes(_read_at(file, size - _TAIL.size, _TAIL.size))
    footer = _read_at(file, start, size - start)
    file.seek(0)
    checksum = crc32(footer, _checksum(file, start))
    file.seek(start)
    file.write(_SEAL.pack(_MAGIC, crc32(footer), checksum) + footer)


def read_footer(file: IO[bytes]) -> bytes | None:
    """Return the footer of a file; None if the file has no checksum, as turnetl's files have."""
    seal = _read_seal(file)
    return None if seal is None else seal[0]


def verify(file: IO[bytes]) -> None:
    """Read a whole file; raise `ChecksumError` if other bytes were written, or no checksum."""
    footer, expected, rows = _required_seal(file)
    file.seek(0)
    if crc32(footer, _checksum(file, rows)) != expected:
        raise ChecksumError


def copy_with_footer(
    source: IO[bytes], target: IO[bytes], changed: Callable[[bytes], bytes]
) -> None:
    """Copy the verified rows of a file, and write a changed footer of the same length."""
    footer, expected, size = _required_seal(source)
    source.seek(0)
    checksum = 0
    while size > 0 and (block := source.read(min(size, _BLOCK))):
        checksum = crc32(block, checksum)
        size -= target.write(block)
    if crc32(footer, checksum) != expected:
        raise ChecksumError
    footer = changed(footer)
    target.write(_SEAL.pack(_MAGIC, crc32(footer), crc32(footer, checksum)) + footer)


def _read_seal(file: IO[bytes]) -> tuple[bytes, int, int] | None:
    """Return the footer, the checksum of rows and footer, and the number of bytes of the rows."""
    size = file.seek(0, 2)
    end = _read_at(file, max(0, size - _FOOTER), _FOOTER)
    length = _footer_bytes(end[-_TAIL.size :]) + _SEAL.size
    if length > size:
        return None
    if length > len(end):
        end = _read_at(file, size - length, length)
    start = len(end) - length
    magic, of_footer, of_all = _SEAL.unpack_from(end, start)
    if magic != _MAGIC:
        return None
    footer = end[start + _SEAL.size :]
    if crc32(footer) != of_footer:
        raise ChecksumError
    return footer, of_all, size - length


def _required_seal(file: IO[bytes]) -> tuple[bytes, int, int]:
    if (seal := _read_seal(file)) is None:
        raise ChecksumError
    return seal


def _footer_bytes(tail: bytes | memoryview) -> int:
    """Return the length of the footer with its own length and the magic number."""
    if len(tail) < _TAIL.size:
        raise ChecksumError
    length, magic = _TAIL.unpack(tail)
    if magic != PARQUET_MAGIC:
        raise ChecksumError
    return int(length) + _TAIL.size


def _checksum(file: IO[bytes], size: int) -> int:
    checksum = 0
    while size > 0 and (block := file.read(min(size, _BLOCK))):
        checksum = crc32(block, checksum)
        size -= len(block)
    return checksum


def _read_at(file: IO[bytes], offset: int, size: int) -> bytes:
    file.seek(offset)
    return file.read(size)
