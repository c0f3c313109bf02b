"""An archive in JSON Lines: every line is decoded, repaired if it is damaged, and counted."""

from collections.abc import Callable
from typing import TypeVar

import msgspec

from turnetl.base.skip_reasons import SkipReason
from turnetl.formats.kit.counts import ParseCounts
from turnetl.formats.kit.documents import is_document, parse_document, read_elements
from turnetl.formats.kit.json_scanner import is_single_value
from turnetl.formats.kit.limits import has_too_many_values
from turnetl.formats.kit.lines import SourceSpan, count_lines, iter_filled_lines, overwrite_bom
from turnetl.formats.kit.row_decoder import PlacedRow, RowDecoder

_HEAD = 4096
"""Bytes in which the first JSON value must start; leading whitespace counts."""
_Row = TypeVar("_Row", bound=msgspec.Struct)


def read_lines(
    data: bytes,
    decoder: RowDecoder[_Row],
    handle: Callable[[_Row, SourceSpan], SkipReason | None],
    counts: ParseCounts,
) -> None:
    """Pass every row to `handle`, in file order, and count every line under exactly one reason.

    Rows that were saved as one JSON array are read as if each had a line of its own.

    Args:
        data: the whole archive.
        decoder: decodes a line.
        handle: returns None if the row added something to a turn, else the reason why not.
        counts: is added to.
    """
    if overwrite_bom(data[:_HEAD]).lstrip().startswith(b"[") and is_document(data):
        read_elements(data, parse_document(data), decoder, handle, counts)
        return
    filled = number = 0
    end = -1
    view = memoryview(data)
    for number, start, end in iter_filled_lines(data):
        filled += 1
        span = SourceSpan(number, number, start, end)
        row = decoder.decode(view[start:end])
        if row is not None:
            reason = handle(row, span)
        else:
            reason = _read_damaged(data[start:end], decoder, handle, span, counts)
        if reason is None:
            counts.used += 1
        else:
            counts.skipped[reason] += 1
    lines = number + count_lines(data, end + 1)
    counts.lines += lines
    if lines > filled:
        counts.blank_lines += lines - filled
        counts.skipped[SkipReason.BLANK] += lines - filled


def _read_damaged(
    line: bytes,
    decoder: RowDecoder[_Row],
    handle: Callable[[_Row, SourceSpan], SkipReason | None],
    span: SourceSpan,
    counts: ParseCounts,
) -> SkipReason | None:
    if not line.strip():
        counts.blank_lines += 1
        return SkipReason.BLANK
    rows, values = decoder.decode_damaged(line)
    counts.count_values(values, span.line)
    reasons = [
        handle(placed.row, _span_on_line(span, placed, counted=number == 0 and values > 0))
        for number, placed in enumerate(rows)
    ]
    if reasons and values > 0:
        return None if None in reasons else reasons[0]
    if has_too_many_values(line) and is_single_value(line):
        return SkipReason.TOO_MANY_VALUES
    return SkipReason.NOT_AN_OBJECT if values == 1 else SkipReason.INVALID_JSON


def _span_on_line(line: SourceSpan, placed: PlacedRow[_Row], *, counted: bool) -> SourceSpan:
    """Return the span of a row; `counted`: the line is counted with it."""
    start, end = line.start + placed.start, line.start + placed.end
    return SourceSpan(line.line, line.last_line, start, end, int(counted))
