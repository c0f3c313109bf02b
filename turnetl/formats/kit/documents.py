"""An archive as one JSON document: an array of elements, or an object with one such array.

Every element has a span, so that a turn leads back to its lines and bytes. A truncated document
gives the elements before the truncation.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

import msgspec

from turnetl.base.skip_reasons import SkipReason
from turnetl.formats.kit.counts import ParseCounts
from turnetl.formats.kit.json_scanner import (
    DECODE_ERRORS,
    JsonScanner,
    is_single_value,
    replace_lone_surrogates,
    shallow_object,
)
from turnetl.formats.kit.limits import MAX_ROWS, TooManyRows, limited, may_have_too_many_rows
from turnetl.formats.kit.lines import SourceSpan, iter_lines, overwrite_message
from turnetl.formats.kit.row_decoder import RowDecoder, unread_reason

_LINES = 64
"""Lines that `is_document` examines."""
_NEEDLE = 64
"""Bytes of a value that are searched for to locate it."""
_DECODED = 1 << 20
"""Bytes of an array that is decoded whole for its first elements: the scanner takes as long for a
twentieth of it."""
_Row = TypeVar("_Row", bound=msgspec.Struct)

_object = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_array = msgspec.json.Decoder(list[msgspec.Raw]).decode
_separator = re.compile(rb"[\s,]*").match


@dataclass(frozen=True, slots=True)
class JsonDocument:
    """A document split into its elements."""

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
    """Split a document into its elements.

    Args:
        data: the whole archive.
        key: the field of the root object that holds the array of elements. A root that is an array
            is the array itself; a root object without the key is the only element.

    Raises:
        TooManyRows: the root has too many elements or keys.
    """
    data = overwrite_message(data)
    if may_have_too_many_rows(data):
        return _scan(replace_lone_surrogates(data), key)
    try:
        return _parse(data, key)
    except DECODE_ERRORS:
        return _parse_damaged(data, key)


def read_elements(
    data: bytes,
    document: JsonDocument,
    decoder: RowDecoder[_Row],
    handle: Callable[[_Row, SourceSpan], SkipReason | None],
    counts: ParseCounts,
) -> None:
    """Pass every element to `handle`, and count every line of the archive under one reason.

    Args:
        data: the whole archive.
        document: the result of `parse_document`.
        decoder: decodes an element.
        handle: returns None if the element added something to a turn, else the reason why not.
        counts: is added to. A line with several elements is counted with the first of them.
    """
    reasons = []
    for span, raw in element_spans(data, document):
        row = decoder.decode_first(raw)
        reason = handle(row, span) if row is not None else unread_reason(raw)
        if reason is SkipReason.TOO_MANY_VALUES:
            counts.count_values(0, span.line)
        reasons.append((span, reason))
    count_elements(data, document, reasons, counts)


def element_spans(data: bytes, document: JsonDocument) -> Iterator[tuple[SourceSpan, bytes]]:
    """Yield the span and the bytes of each element."""
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
    """Count every line of the archive under one reason, as `read_elements` does.

    Args:
        data: the whole archive.
        document: the result of `parse_document`.
        reasons: the reason of each element, in order; None if it added something to a turn.
        counts: is added to.
        between: the reason for lines without any element.
    """
    total = data.count(b"\n") + (not data.endswith(b"\n") if data else 0)
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
    """Return the encoded values of a JSON object, by key.

    Raises:
        DECODE_ERRORS: the bytes are not a JSON object, or it has too many keys.
    """
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


def _parse_damaged(data: bytes, key: str | None) -> JsonDocument:
    """Parse invalid JSON: a document with lone surrogates, or a truncated one."""
    try:
        return _parse(replace_lone_surrogates(data), key)
    except DECODE_ERRORS:
        return _scan(data, key)


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
    """Parse a document up to its first invalid JSON.

    Raises:
        TooManyRows: as `parse_document`.
    """
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
