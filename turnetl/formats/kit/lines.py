"""Iteration over the lines of an archive; spaces in place of bytes before its first JSON value."""

import re
from collections.abc import Iterator

# Spaces alone take half of the time of a class, and a history of prompts is mostly spaces.
_BLANK_LINES = re.compile(rb"(?: *+[ \t\r\v\f]*+\n)*+")
_WHITESPACE = b" \t\r\v\f\n"
_BOM = b"\xef\xbb\xbf"
_NEWLINE = 0x0A


def iter_lines(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Yield (number from 1, offset, line) of each line. Only the byte 0x0A ends a line.

    A final newline ends the last line and starts no other.
    """
    number, start, size = 1, 0, len(data)
    while start < size:
        end = data.find(b"\n", start)
        end = size if end < 0 else end
        yield number, start, data[start:end]
        number, start = number + 1, end + 1


def iter_filled_lines(data: bytes) -> Iterator[tuple[int, int, int]]:
    """Yield (number from 1, offset, end) of each line that is not blank; the last one may be.

    An archive may have millions of blank lines: they cost no step each.
    """
    number, start, size = 1, 0, len(data)
    while start < size:
        blank = _BLANK_LINES.match(data, start) if data[start] in _WHITESPACE else None
        if blank and blank.end() > start:
            number += data.count(b"\n", start, blank.end())
            start = blank.end()
            continue
        end = data.find(b"\n", start)
        end = size if end < 0 else end
        yield number, start, end
        number, start = number + 1, end + 1


def count_lines(data: bytes, start: int = 0) -> int:
    """Return the number of lines of `iter_lines` from the line at an offset on."""
    return data.count(b"\n", start) + (start < len(data) and not data.endswith(b"\n"))


def overwrite_bom(data: bytes) -> bytes:
    """Return the bytes with spaces in place of a byte order mark, so that offsets stay valid."""
    return b"   " + data[3:] if data.startswith(_BOM) else data


def overwrite_prefix(data: bytes, prefix: bytes) -> bytes:
    """Return the bytes with spaces up to the first brace if they start with the prefix.

    Some tools print a message before the JSON. Offsets and line numbers stay valid.
    """
    if not data.startswith(prefix):
        return data
    end = max(data.find(b"{"), 0)
    return b"".join(b"\n" if byte == _NEWLINE else b" " for byte in data[:end]) + data[end:]
