"""Iteration over the lines of an archive; spaces in place of bytes before its first JSON value."""

import re
from collections.abc import Iterator

import msgspec

from turnetl.formats.kit.json_scanner import is_single_value

# Spaces alone take half of the time of a class, and a history of prompts is mostly spaces.
_BLANK_LINES = re.compile(rb"(?: *+[ \t\r\v\f]*+\n)*+")
_WHITESPACE = b" \t\r\v\f\n"
_BOM = b"\xef\xbb\xbf"
_MESSAGE = 4096
"""Bytes in which a document starts after a message."""
_find_document = re.compile(rb'(?:[\[{][ \t]*(\r?\n)|[\[{][ \t]*["\[{])').search
_find_text = re.compile(rb"[^\n]").sub


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


def overwrite_message(data: bytes) -> bytes:
    """Return the bytes with spaces in place of a mark, and of text before a JSON document.

    Some tools print a message before the JSON, possibly with colours, or a shell does. Offsets and
    line numbers stay valid. Lines of JSON after a line of text are no document.
    """
    data = overwrite_bom(data)
    start = _find_document(data[:_MESSAGE])
    if start is None or not data[: start.start()].strip() or b'"' in data[: start.start()]:
        return data
    document = data[start.start() :]
    if start[1] is None and not is_single_value(document.strip()):
        return data
    return _find_text(b" ", data[: start.start()]) + document


class SourceSpan(msgspec.Struct, gc=False):
    """The position of a row or an element of a document. Cheap, because every line has one."""

    line: int
    """First line, counted from 1."""
    last_line: int
    start: int
    """Offset of the first byte."""
    end: int
    """Offset just after the last byte."""
    lines: int = 1
    """Lines that are counted with this span. A line with several elements is counted once, with the
    first of them."""
