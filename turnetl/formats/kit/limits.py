"""Limits on what an archive may hold: otherwise a small file could need any amount of memory."""

import re
from collections.abc import Iterable
from typing import TypeVar

MAX_ROWS = 200_000
"""Turns of an archive, and rows that are held until all are read. Each takes up to 2 kB."""
_MIN_VALUES = 1_000_000
"""JSON values that a line or an element may always have. Each may take 64 bytes."""
_BYTES_PER_VALUE = 16
"""A longer line or element may have a value for this many of its bytes."""
MIN_BYTES_OF_TOO_MANY = 2 * _MIN_VALUES
"""A shorter line cannot have too many values: each takes a separator and a byte."""
_SEPARATORS = (b",", b"[", b"{")
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
"""A string; one that is not closed reaches to the end."""

_Row = TypeVar("_Row")


class TooManyRows(Exception):
    """The archive has more turns or rows than the limit."""


def limited(rows: Iterable[_Row], limit: int = MAX_ROWS) -> list[_Row]:
    """Return the rows as a list.

    Raises:
        TooManyRows: there are more than the limit.
    """
    found: list[_Row] = []
    for row in rows:
        if len(found) == limit:
            raise TooManyRows
        found.append(row)
    return found


def may_have_too_many_rows(document: bytes) -> bool:
    """Return whether the elements and keys of a document must be counted before it is decoded."""
    return document.count(b",") >= MAX_ROWS


def has_too_many_values(line: bytes) -> bool:
    """Return whether a line or an element has more JSON values than the limit.

    Separators in strings do not count.
    """
    if len(line) < MIN_BYTES_OF_TOO_MANY:
        return False
    limit = max(_MIN_VALUES, len(line) // _BYTES_PER_VALUE)
    if _separators(line, 0, len(line)) <= limit:
        return False
    values = end = 0
    for string in _STRING.finditer(line):
        values += _separators(line, end, string.start())
        if values > limit:
            return True
        end = string.end()
    return values + _separators(line, end, len(line)) > limit


def _separators(line: bytes, start: int, end: int) -> int:
    return sum(line.count(separator, start, end) for separator in _SEPARATORS)
