"""An archive as lines."""

from collections.abc import Iterator

_MARK = b"\xef\xbb\xbf"


def lines(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Yield (number from 1, offset, line) of each line, cut at the byte 0x0A only.

    A final newline ends the last line and starts no other.
    """
    number, start, size = 1, 0, len(data)
    while start < size:
        end = data.find(b"\n", start)
        end = size if end < 0 else end
        yield number, start, data[start:end]
        number, start = number + 1, end + 1


def without_mark(data: bytes) -> bytes:
    """Return the bytes with blanks for a byte order mark: every offset stays what it is."""
    return b"   " + data[3:] if data.startswith(_MARK) else data
