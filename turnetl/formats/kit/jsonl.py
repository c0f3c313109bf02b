"""An archive as lines of JSON: every line read, mended if crooked, and counted."""

from collections.abc import Callable
from typing import TypeVar

import msgspec

from turnetl.formats.kit.documents import document, is_document, read_elements
from turnetl.formats.kit.lines import lines, without_mark
from turnetl.formats.kit.places import Counts, Place
from turnetl.formats.kit.rows import Rows
from turnetl.skip_reasons import SkipReason

_HEAD = 4096
"""Bytes in which an archive begins, blanks before it and all."""
_Row = TypeVar("_Row", bound=msgspec.Struct)


def read_lines(
    data: bytes, rows: Rows[_Row], take: Callable[[_Row, Place], SkipReason | None], counts: Counts
) -> None:
    """Hand every row to `take`, in file order, and count every line under exactly one word.

    Rows that were saved as one array are read as if each had its line.

    Args:
        data: the whole archive.
        rows: how a line is read.
        take: returns None if the row gave something to a turn, else the reason why not.
        counts: is added to.
    """
    if without_mark(data[:_HEAD]).lstrip().startswith(b"[") and is_document(data):
        read_elements(data, document(data), rows, take, counts)
        return
    for number, start, line in lines(data):
        counts.lines += 1
        place = Place(number, number, start, start + len(line))
        row = rows.read(line)
        reason = take(row, place) if row is not None else _crooked(line, rows, take, place, counts)
        if reason is None:
            counts.used += 1
        else:
            counts.skipped[reason] += 1


def _crooked(
    line: bytes,
    rows: Rows[_Row],
    take: Callable[[_Row, Place], SkipReason | None],
    place: Place,
    counts: Counts,
) -> SkipReason | None:
    if not line.strip():
        counts.blank_lines += 1
        return SkipReason.BLANK
    found, values = rows.mend(line)
    if values != 1:
        counts.bad_lines += 1
        counts.glued_lines += values > 1
        if values < 1 and counts.first_broken_line is None:
            counts.first_broken_line = place.line
    reasons = [take(row, place) for row in found]
    if None in reasons:
        return None
    if reasons:
        return reasons[0]
    return SkipReason.NOT_AN_OBJECT if values == 1 else SkipReason.INVALID_JSON
