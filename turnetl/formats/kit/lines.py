"""An archive as lines."""

from collections.abc import Iterator

_MARK = b"\xef\xbb\xbf"
_NEWLINE = 0x0A


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


def without_words(data: bytes, words: bytes) -> bytes:
    """Return the bytes with blanks for what a tool printed before the JSON, if it begins so."""
    if not data.startswith(words):
        return data
    end = max(data.find(b"{"), 0)
    return b"".join(b"\n" if byte == _NEWLINE else b" " for byte in data[:end]) + data[end:]
