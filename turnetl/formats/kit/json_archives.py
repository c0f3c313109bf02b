"""An archive as JSON Lines, or as one JSON document: an array, or an object with one such array.

Rows and elements are read one by one, repaired and counted. Each has a span, so that a turn leads
back to its lines and bytes. A truncated document gives the elements before the truncation.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

import msgspec

from turnetl.base.reason import SkipReason
from turnetl.base.text import HISTORY_MARK_BYTES
from turnetl.formats.kit.counts import (
    MAX_ROWS,
    ParseCounts,
    TooManyRows,
    has_too_many_values,
    limited,
    may_have_too_many_rows,
)
from turnetl.formats.kit.json_scanner import (
    DECODE_ERRORS,
    JsonScanner,
    is_single_value,
    replace_lone_surrogates,
    shallow_object,
)
from turnetl.formats.kit.row_decoder import PlacedRow, RowDecoder, unread_reason

# Spaces alone take half of the time of a class, and a history of prompts is mostly spaces.
_BLANK_LINES = re.compile(rb"(?: *+[ \t\r\v\f]*+\n)*+")
_WHITESPACE = b" \t\r\v\f\n"
_BOM = b"\xef\xbb\xbf"
_MESSAGE = 4096
"""Bytes in which a document starts after a message."""
_find_document = re.compile(rb'(?:[\[{][ \t]*(\r?\n)|[\[{][ \t]*["\[{])').search
_find_text = re.compile(rb"[^\n]").sub


def iter_lines(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Yield (number from 1, offset, line) of each line, which only the byte 0x0A ends."""
    number, start, size = 1, 0, len(data)
    while start < size:
        end = data.find(b"\n", start)
        end = size if end < 0 else end
        yield number, start, data[start:end]
        number, start = number + 1, end + 1


def iter_filled_lines(data: bytes) -> Iterator[tuple[int, int, int]]:
    """Yield (number from 1, offset, end) of each line that is not blank; the last one may be."""
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


HEAD = 4096
"""Bytes in which the first JSON value must start; leading whitespace counts."""
_Row = TypeVar("_Row", bound=msgspec.Struct)


def read_lines(
    data: bytes,
    decoder: RowDecoder[_Row],
    handle: Callable[[_Row, SourceSpan], SkipReason | None],
    counts: ParseCounts,
) -> None:
    """Pass every row to `handle`, in file order, and count every line under exactly one reason.

    Rows that were saved as one JSON array are read as if each had a line of its own. `handle`
    returns None if the row added something to a turn, else the reason why not.
    """
    if overwrite_bom(data[:HEAD]).lstrip().startswith(b"[") and is_document(data):
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
            reason = _own(handle(row, span), data, start, end)
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


def _own(reason: SkipReason | None, data: bytes, start: int, end: int) -> SkipReason | None:
    """Return a reason, or that a hook of turnetl wrote the skipped row; None: it is not skipped."""
    if reason is None or data.find(HISTORY_MARK_BYTES, start, end) < 0:
        return reason
    return SkipReason.INJECTED


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


_LINES = 64
"""Lines that `is_document` examines."""
_NEEDLE = 64
"""Bytes of a value that are searched for to locate it."""
_DECODED = 1 << 20
"""Bytes of an array that is decoded whole for its first elements: the scanner takes as long for a
twentieth of it."""

_object = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_array = msgspec.json.Decoder(list[msgspec.Raw]).decode
_separator = re.compile(rb"[\s,]*").match


@dataclass(frozen=True, slots=True)
class JsonDocument:
    fields: dict[str, bytes]
    """The other fields of the root object; empty if the root is an array."""
    elements: list[tuple[int, bytes]]
    """Offset and bytes of each element, in order."""
    invalid_at: int | None = None
    """Offset of the first invalid JSON; content after it is in no element."""


def is_document(data: bytes) -> bool:
    """Return whether the archive is one JSON value and not one value per line."""
    data = overwrite_message(data)
    lines = (line.strip() for _, _, line in islice(iter_lines(data), _LINES))
    starts = filter(None, lines)
    first = next(starts, b"")
    if not first or _is_object(first):
        return False
    others = list(starts)
    array_lines = len(others) > 0 and first.startswith(b"[") and is_single_value(first)
    if is_single_value(data):
        return True
    return not (array_lines or any(map(_is_object, others)))


def parse_document(data: bytes, key: str | None = None) -> JsonDocument:
    """Split a document into its elements: those of the root array, or of the array under `key`.

    A root object without the key is the only element.

    Raises:
        TooManyRows: the root has too many elements or keys.
    """
    data = overwrite_message(data)
    if may_have_too_many_rows(data):
        return _scan(replace_lone_surrogates(data), key)
    try:
        return _parse(data, key)
    except DECODE_ERRORS:
        pass
    try:
        return _parse(replace_lone_surrogates(data), key)
    except DECODE_ERRORS:
        return _scan(data, key)


def read_elements(
    data: bytes,
    document: JsonDocument,
    decoder: RowDecoder[_Row],
    handle: Callable[[_Row, SourceSpan], SkipReason | None],
    counts: ParseCounts,
) -> None:
    """Pass every element to `handle`, and count every line of the archive, as `read_lines` does.

    A line with several elements is counted with the first of them.
    """
    reasons = []
    for span, raw in element_spans(data, document):
        row = decoder.decode_first(raw)
        if row is not None:
            reason = _own(handle(row, span), raw, 0, len(raw))
        else:
            reason = unread_reason(raw)
        if reason is SkipReason.TOO_MANY_VALUES:
            counts.count_values(0, span.line)
        reasons.append((span, reason))
    count_elements(data, document, reasons, counts)


def element_spans(data: bytes, document: JsonDocument) -> Iterator[tuple[SourceSpan, bytes]]:
    line, previous_start, counted = 1, 0, 0
    for start, raw in document.elements:
        line, previous_start = line + data.count(b"\n", previous_start, start), start
        last = line + raw.count(b"\n")
        yield SourceSpan(line, last, start, start + len(raw), last - max(counted, line - 1)), raw
        counted = last


def count_elements(
    data: bytes,
    document: JsonDocument,
    reasons: Iterable[tuple[SourceSpan, SkipReason | None]],
    counts: ParseCounts,
    *,
    between: SkipReason = SkipReason.ENVELOPE,
) -> None:
    """Count every line of the archive once, by the reason of each element, in order.

    None: it added something to a turn. `between` is the reason for lines without any element.
    """
    total = count_lines(data)
    counts.lines += total
    counted = 0
    for span, reason in reasons:
        counts.count(between, span.line - 1 - counted)
        counts.count(reason, span.lines)
        counted = span.last_line
    if document.invalid_at is None:
        counts.count(between, total - counted)
    else:
        counts.count(SkipReason.INVALID_JSON, total - counted)
        counts.count_values(0, data.count(b"\n", 0, document.invalid_at) + 1)


def first_elements(data: bytes, limit: int) -> Iterator[bytes]:
    """Yield the first elements of a root array, up to the first invalid JSON."""
    if len(data) <= _DECODED:
        with suppress(*DECODE_ERRORS):
            yield from map(bytes, _array(data)[:limit])
            return
    scanner = JsonScanner(data)
    if scanner.skip(b"["):
        yield from (raw for _, raw in islice(scanner.values(b"]"), limit))


def object_fields(data: bytes) -> dict[str, msgspec.Raw]:
    """Return `shallow_object`, by scanning a large one; too many keys are a decode error, too."""
    if not may_have_too_many_rows(data):
        return shallow_object(data)
    scanner = JsonScanner(data)
    fields = partial_fields(scanner)
    scanner.end()
    if scanner.invalid_at is not None or not fields:
        raise msgspec.DecodeError
    return fields


def partial_fields(scanner: JsonScanner) -> dict[str, msgspec.Raw]:
    """Return the encoded values of an object up to the first invalid JSON; none if it is large."""
    with suppress(TooManyRows):
        fields, _ = _scan_object(scanner, None)
        return {name: msgspec.Raw(raw) for name, raw in fields.items()}
    return {}


def _is_object(line: bytes) -> bool:
    return line.startswith(b"{") and line[1:].lstrip() != b"}" and is_single_value(line)


def _parse(data: bytes, key: str | None) -> JsonDocument:
    if data.lstrip().startswith(b"["):
        return JsonDocument({}, _with_offsets(data, _array(data), 0))
    fields = {name: bytes(raw) for name, raw in _object(data).items()}
    if key not in fields or key is None:
        start = len(data) - len(data.lstrip())
        return JsonDocument(fields, [(start, data.strip())])
    array = fields.pop(key)
    return JsonDocument(fields, _with_offsets(data, _array(array), _find(data, array)))


def _find(data: bytes, value: bytes) -> int:
    """Return the offset of a value that may be most of the data: faster than `data.find(value)`."""
    offset = data.find(value[:_NEEDLE])
    while not data.startswith(value, offset):
        offset = data.find(value[:_NEEDLE], offset + 1)
    return offset


def _with_offsets(data: bytes, elements: list[msgspec.Raw], start: int) -> list[tuple[int, bytes]]:
    """Return the elements of the array that starts at an offset, each with its own offset."""
    located = []
    start = data.find(b"[", start) + 1
    for element in elements:
        raw = bytes(element)
        start = _after_separator(data, start)
        located.append((start, raw))
        start += len(raw)
    return located


def _after_separator(data: bytes, offset: int) -> int:
    separator = _separator(data, offset)
    return separator.end() if separator is not None else offset


def _scan(data: bytes, key: str | None) -> JsonDocument:
    scanner = JsonScanner(data)
    if scanner.skip(b"["):
        array = limited(scanner.values(b"]"))
        scanner.end()
        return JsonDocument({}, array, scanner.invalid_at)
    fields, elements = _scan_object(scanner, key)
    scanner.end()
    if elements is None and fields and scanner.invalid_at is None:
        elements = [(len(data) - len(data.lstrip()), data.strip())]
    return JsonDocument(fields, elements or [], scanner.invalid_at)


def _scan_object(
    scanner: JsonScanner, key: str | None
) -> tuple[dict[str, bytes], list[tuple[int, bytes]] | None]:
    """Return the fields of an object without the key, and the elements under it; None: no key."""
    fields: dict[str, bytes] = {}
    elements: list[tuple[int, bytes]] | None = None
    for name in scanner.field_names() if scanner.skip(b"{") else ():
        if len(fields) == MAX_ROWS:
            raise TooManyRows
        if name == key:
            elements = limited(scanner.elements())
        elif (value := scanner.partial_value()) is not None:
            fields[name] = value
    return fields, elements
