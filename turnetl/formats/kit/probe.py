"""The start of an archive: the only thing by which a format is recognised, never a file name.

An archive is JSON Lines, one JSON document, or concatenated JSON objects; one format is Markdown.
The probe holds its first
objects, and decodes their values only when they are read. A concatenated object starts on a line
that starts with a brace, and so ends an invalid one before it; nested ones do not.
"""

import json
from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import islice
from typing import Any

import msgspec

from turnetl.formats.kit.counts import has_too_many_values
from turnetl.formats.kit.json_archives import (
    HEAD,
    first_elements,
    is_document,
    iter_filled_lines,
    object_fields,
    overwrite_message,
    partial_fields,
)
from turnetl.formats.kit.json_scanner import DECODE_ERRORS, JsonScanner

_ROWS = 64
"""Elements, or lines that are not blank, examined: an archive may start with rows that identify no
format."""
_BYTES = 1 << 20
"""Bytes of lines examined. The first line is always examined."""
_KEPT_VALUE, _KEPT_OBJECTS = 1 << 12, 1 << 16
"""Bytes up to which a value, or a list of objects, is kept once it is decoded: ten formats read the
same few. In memory it takes thirty times as much."""
_MISSING = object()


class LazyObject(Mapping[str, Any]):
    """A JSON object whose values are decoded when they are read.

    A value that is not valid JSON, or too large, is None. A lone surrogate or invalid UTF-8 is
    replaced.
    """

    def __init__(self, raw: Mapping[str, msgspec.Raw]) -> None:
        self._raw = raw
        self._values: dict[str, Any] = {}
        self._objects: dict[str, tuple[LazyObject, ...]] = {}

    def __getitem__(self, key: str) -> Any:
        value = self._values.get(key, _MISSING)
        if value is not _MISSING:
            return value
        raw = bytes(self._raw[key])
        value = _decoded(raw)
        if len(raw) <= _KEPT_VALUE:
            self._values[key] = value
        return value

    def get(self, key: str, default: Any = None) -> Any:
        """Return the value of a key. The method of `Mapping` raises an error for each default."""
        return self[key] if key in self._raw else default

    def __contains__(self, key: object) -> bool:
        return key in self._raw

    def __iter__(self) -> Iterator[str]:
        return iter(self._raw)

    def __len__(self) -> int:
        return len(self._raw)

    def object_at(self, key: str) -> "LazyObject | None":
        """Return the object under a key, or the first object of the array under it."""
        return next(iter(self.objects_at(key)), None)

    def objects_at(self, key: str) -> "tuple[LazyObject, ...]":
        """Return the first objects of the array under a key, or the object under it."""
        if key in self._objects:
            return self._objects[key]
        raw = bytes(self._raw.get(key, b""))
        objects = tuple(_lazy_objects(raw))
        if len(raw) <= _KEPT_OBJECTS:
            self._objects[key] = objects
        return objects


class LazyRows:
    """Objects that are read once each, and only as far as a caller iterates."""

    def __init__(self, rows: Iterator[LazyObject]) -> None:
        self._remaining = rows
        self._read: list[LazyObject] = []

    def __iter__(self) -> Iterator[LazyObject]:
        index = 0
        while index < len(self._read) or self._read_next():
            yield self._read[index]
            index += 1

    def __len__(self) -> int:
        while self._read_next():
            pass
        return len(self._read)

    def _read_next(self) -> bool:
        rows = [*islice(self._remaining, 1)]
        self._read += rows
        return bool(rows)


class Probe:
    def __init__(self, data: bytes) -> None:
        self._data = overwrite_message(data)

    @property
    def start(self) -> bytes:
        """The first bytes, of an archive that is no JSON."""
        return self._data[:HEAD]

    @cached_property
    def rows(self) -> LazyRows:
        """The first objects: on lines, concatenated, or of a root array; or the root object."""
        data = self._data
        return LazyRows(_in_document(data) if is_document(data) else _on_lines(data))

    @property
    def first(self) -> LazyObject:
        """The first of `rows`; an empty object if there is none."""
        return next(iter(self.rows), LazyObject({}))


# Functions of the bytes, not methods: a probe in a reference cycle would stay in memory.
def _in_document(data: bytes) -> Iterator[LazyObject]:
    rows = tuple(_lazy_objects(data)) or tuple(_concatenated(data))
    yield from rows or filter(len, [LazyObject(partial_fields(JsonScanner(data)))])


def _concatenated(data: bytes) -> Iterator[LazyObject]:
    for start, raw in islice(split_objects(data), _ROWS):
        if start > _BYTES:
            return
        yield from _lazy_objects(raw)


def _on_lines(data: bytes) -> Iterator[LazyObject]:
    read = 0
    for _, start, end in islice(iter_filled_lines(data), _ROWS):
        if read > _BYTES:
            return
        read += end - start
        line = data[start:end]
        if line.lstrip()[:1] == b"{":
            yield from _lazy_objects(line)


def _decoded(raw: bytes) -> Any:
    if has_too_many_values(raw):
        return None
    try:
        return msgspec.json.decode(raw)
    except DECODE_ERRORS:
        return _decode_damaged(raw)


def _decode_damaged(raw: bytes) -> Any:
    try:
        return json.loads(raw.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None


def _lazy_objects(data: bytes) -> Iterator[LazyObject]:
    """Yield the object, or the first objects of the array."""
    start = data[:HEAD].lstrip()[:1]
    try:
        if start == b"{":
            yield LazyObject(object_fields(data))
        elif start == b"[":
            yield from (LazyObject(object_fields(raw)) for raw in first_elements(data, _ROWS))
    except DECODE_ERRORS:
        return


_NEXT = b"\n{"


def split_objects(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield offset and bytes of each object, or of invalid content, stripped of whitespace."""
    start, size = 0, len(data)
    while start < size:
        end = data.find(_NEXT, start) + 1 or size
        chunk = data[start:end]
        raw = chunk.strip()
        if raw:
            yield start + len(chunk) - len(chunk.lstrip()), raw
        start = end
