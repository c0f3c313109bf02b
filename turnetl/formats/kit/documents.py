"""An archive as one JSON document: an array of elements, or an object that holds one.

Every element knows its lines and bytes, so that a turn leads back to them although the document as
a whole is one value. A document that is cut off gives the elements before the cut.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

import msgspec

from turnetl.formats.kit.json_scanner import Scan
from turnetl.formats.kit.lines import lines, without_mark
from turnetl.formats.kit.places import Counts, Place
from turnetl.formats.kit.rows import Rows
from turnetl.formats.kit.shallow_json import UNREADABLE, is_whole, object_of, whole_characters
from turnetl.skip_reasons import SkipReason

_LINES = 64
_SIGHT = 64
"""Bytes by which a part is looked for."""
_Row = TypeVar("_Row", bound=msgspec.Struct)

_object = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_array = msgspec.json.Decoder(list[msgspec.Raw]).decode
_between = re.compile(rb"[\s,]*").match


@dataclass(frozen=True, slots=True)
class Document:
    """A document in pieces."""

    fields: dict[str, bytes]
    """What stands in the root object beside the elements; empty if the root is an array."""
    elements: list[tuple[int, bytes]]
    """Offset and bytes of each, in order."""
    broken_at: int | None = None
    """Offset of what is no JSON; what stands behind it is not among the elements."""


def is_document(data: bytes) -> bool:
    """Say whether the archive is one JSON value and not one a line."""
    found = (line.strip() for _, _, line in islice(lines(without_mark(data)), _LINES))
    heads = filter(None, found)
    first = next(heads, b"")
    if not first or _is_object(first):
        return False
    others = list(heads)
    lists = len(others) > 0 and first.startswith(b"[") and is_whole(first)
    return is_whole(without_mark(data)) or not (lists or any(map(_is_object, others)))


def document(data: bytes, key: str | None = None) -> Document:
    """Take a document apart. Never raises.

    Args:
        data: the whole archive.
        key: where in the root object the array of elements stands. A root that is an array is the
            array itself; a root object without the key is the only element.
    """
    data = without_mark(data)
    try:
        return _whole(data, key)
    except UNREADABLE:
        return _crooked(data, key)


def read_elements(
    data: bytes,
    parts: Document,
    rows: Rows[_Row],
    take: Callable[[_Row, Place], SkipReason | None],
    counts: Counts,
) -> None:
    """Hand every element to `take`, and count every line of the archive under one word.

    Args:
        data: the whole archive.
        parts: what `document` made of it.
        rows: how an element is read.
        take: returns None if the element gave something to a turn, else the reason why not.
        counts: is added to. A line of several elements is counted with the first of them.
    """
    verdicts = [(place, _taken(rows, raw, place, take)) for place, raw in places(data, parts)]
    count_elements(data, parts, verdicts, counts)


def places(data: bytes, parts: Document) -> Iterator[tuple[Place, bytes]]:
    """Yield the place and the bytes of each element."""
    line, at, counted = 1, 0, 0
    for start, raw in parts.elements:
        line, at = line + data.count(b"\n", at, start), start
        last = line + raw.count(b"\n")
        yield Place(line, last, start, start + len(raw), last - max(counted, line - 1)), raw
        counted = last


def count_elements(
    data: bytes,
    parts: Document,
    verdicts: Iterable[tuple[Place, SkipReason | None]],
    counts: Counts,
    *,
    between: SkipReason = SkipReason.ENVELOPE,
) -> None:
    """Count every line of the archive under one word: see `read_elements`.

    Args:
        data: the whole archive.
        parts: what `document` made of it.
        verdicts: of each element, in order: None if it gave something to a turn, else why not.
        counts: is added to.
        between: the word for lines that hold nothing of an element.
    """
    total = data.count(b"\n") + (not data.endswith(b"\n") if data else 0)
    counts.lines += total
    counted = 0
    for place, reason in verdicts:
        _count(counts, between, place.line - 1 - counted)
        _count(counts, reason, place.lines)
        counted = place.last_line
    if parts.broken_at is None:
        _count(counts, between, total - counted)
    else:
        _count_broken(data, parts.broken_at, counts, total - counted)


def torn(data: bytes) -> Iterator[dict[str, msgspec.Raw]]:
    """Yield the root of a torn document, or the objects in its array, as far as they go."""
    parts = _torn(without_mark(data), None)
    if parts.fields:
        yield {key: msgspec.Raw(value) for key, value in parts.fields.items()}
    for _, raw in parts.elements:
        try:
            yield object_of(raw)
        except UNREADABLE:
            continue


def _is_object(line: bytes) -> bool:
    try:
        return line.startswith(b"{") and bool(object_of(line))
    except UNREADABLE:
        return False


def _whole(data: bytes, key: str | None) -> Document:
    if data.lstrip().startswith(b"["):
        return Document({}, _placed(data, _array(data), 0))
    fields = {name: bytes(raw) for name, raw in _object(data).items()}
    if key not in fields or key is None:
        start = len(data) - len(data.lstrip())
        return Document(fields, [(start, data.strip())])
    array = fields.pop(key)
    return Document(fields, _placed(data, _array(array), _find(data, array)))


def _crooked(data: bytes, key: str | None) -> Document:
    """Take apart what is no JSON as it stands: some halves of characters, or a document torn."""
    try:
        return _whole(whole_characters(data), key)
    except UNREADABLE:
        return _torn(data, key)


def _find(data: bytes, part: bytes) -> int:
    """Return where a part stands that may be almost all there is: faster than to look for it."""
    at = data.find(part[:_SIGHT])
    while not data.startswith(part, at):
        at = data.find(part[:_SIGHT], at + 1)
    return at


def _placed(data: bytes, elements: list[msgspec.Raw], start: int) -> list[tuple[int, bytes]]:
    """Return the elements of the array at an offset, each with its own."""
    found = []
    start = data.find(b"[", start) + 1
    for element in elements:
        raw = bytes(element)
        start = _behind_comma(data, start)
        found.append((start, raw))
        start += len(raw)
    return found


def _behind_comma(data: bytes, at: int) -> int:
    found = _between(data, at)
    return found.end() if found is not None else at


def _torn(data: bytes, key: str | None) -> Document:
    """Take apart as much of a document as is JSON."""
    scan = Scan(data)
    if scan.opens("["):
        elements = list(scan.values("]"))
        scan.ends()
        return Document({}, elements, scan.broken_at)
    fields: dict[str, bytes] = {}
    found: list[tuple[int, bytes]] = []
    if scan.opens("{"):
        for name in scan.names():
            if scan.opens("["):
                values = list(scan.values("]"))
                found += values if name == key else []
                fields[name] = b"[%s]" % b",".join(raw for _, raw in values)
            elif (value := scan.value()) is not None:
                fields[name] = value[1]
    fields.pop(key or "", None)
    scan.ends()
    return Document(fields, found, scan.broken_at)


def _taken(
    rows: Rows[_Row], raw: bytes, place: Place, take: Callable[[_Row, Place], SkipReason | None]
) -> SkipReason | None:
    row = rows.one(raw)
    return take(row, place) if row is not None else SkipReason.NOT_AN_OBJECT


def _count(counts: Counts, reason: SkipReason | None, number: int) -> None:
    if number <= 0:
        return
    if reason is None:
        counts.used += number
    else:
        counts.skipped[reason] += number


def _count_broken(data: bytes, broken_at: int, counts: Counts, number: int) -> None:
    """Count the lines behind the last element of a torn document."""
    _count(counts, SkipReason.INVALID_JSON, number)
    counts.bad_lines += 1
    if counts.first_broken_line is None:
        counts.first_broken_line = data.count(b"\n", 0, broken_at) + 1
