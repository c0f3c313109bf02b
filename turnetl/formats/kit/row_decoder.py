"""Decoding of JSON into the few fields that a format uses, with repair of damaged JSON.

A field of a type that the format does not expect counts as missing. A number may be written as a
string, and a whole one as a float. A program that dies while it writes leaves a part of a row, and
the next row follows on the same line; a file system may leave a run of NUL. An object inside a row
is no row: it is told by its place, and by the keys that rows of a format have.
"""

import json
import re
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from types import UnionType
from typing import Any, Generic, TypeVar, Union, get_args, get_origin

import msgspec

from turnetl.base.reason import SkipReason
from turnetl.formats.kit.counts import MIN_BYTES_OF_TOO_MANY, has_too_many_values
from turnetl.formats.kit.json_scanner import DECODE_ERRORS, replace_lone_surrogates, shallow_object

_find_start = re.compile(rb'\{[ \t\r\n]*+["}]').search
_find_key = re.compile(rb'"([^"\\]*)"\s*:\s*\Z').search
_skip_empty = re.compile(rb"[ \t\r\n\v\f]*+").match
_EMPTY = b" \t\r\n\v\f"
_OPENING, _CONTINUING = b":,[", b",]}"
"""What is before an object inside of another value, and what is after it."""
_CONTEXT = 128
"""Bytes before and after an object that show whether it is inside of another one."""
_ERROR_AT = re.compile(r"(trailing characters )?\(byte (\d+)\)\Z")
_decode = msgspec.json.Decoder(msgspec.Raw).decode
_scan_leniently = json.JSONDecoder(strict=False).raw_decode
_SCANS, _LARGE_SCANS, _SMALL_SCANS = 32, 64 << 20, 64 << 20
"""Times that each byte of a line may be scanned, bytes of a long line that may be scanned more than
a few times, and bytes that may be scanned on any line: of objects inside of each other that are all
cut off, each is scanned once."""
_LENIENT_COST = 16
"""Bytes that are scanned in the time in which Python scans one."""
_START_COST, _NESTING_COST = 1 << 11, 1 << 13
"""Bytes that are scanned in the time that each start of an object takes, and one that is nested too
deep."""
_MAX_LENIENT = 8 << 20


@dataclass(frozen=True, slots=True)
class Envelope:
    """The keys by which a row is told from other objects."""

    own: Collection[Collection[str]] = ()
    """Sets of keys; an object with all keys of one of them is a row."""
    shared: Collection[Collection[str]] = ()
    """Of rows that look like objects inside of rows: the place of the object must decide."""
    holders: frozenset[str] = frozenset()
    """Keys of rows under which there are such objects. They may also be in any array."""

    def is_row(self, keys: Collection[str], *, own_only: bool) -> bool:
        sets = self.own if own_only else (*self.own, *self.shared)
        present = set(keys)
        return any(present.issuperset(needed) for needed in sets)


@dataclass(frozen=True, slots=True)
class RowsOnLine:
    """The complete rows on a damaged line."""

    places: list[tuple[int, int]]
    """Offset and end of each, in order."""
    is_all: bool
    """Whether there is nothing else on the line."""


def rows_on_line(line: bytes, envelope: Envelope) -> RowsOnLine:
    """Find the complete rows on a line, in time proportional to its length.

    The object with which the line starts is a row in any case, and so is every one of a line that
    holds nothing but objects.
    """
    finder = _RowFinder(replace_lone_surrogates(line), envelope)
    finder.find()
    is_all = finder.is_all
    places = [place for place, is_sure in finder.objects if is_sure or is_all]
    return RowsOnLine(places, is_all)


class _RowFinder:
    def __init__(self, line: bytes, envelope: Envelope) -> None:
        self._line, self._view, self._envelope = line, memoryview(line), envelope
        self._budget = min(_SCANS * len(line), 4 * len(line) + _LARGE_SCANS) + _SMALL_SCANS
        self._broken = -1
        """Offset of the last byte at which an object before could not be continued."""
        self._next = self._after_empty(0)
        """Offset of the first byte that is not blank after the last row."""
        self.objects: list[tuple[tuple[int, int], bool]] = []
        """Offset and end of each object that is a row, or is one if the line holds nothing else;
        whether it is one in any case."""
        self.is_all = True

    def find(self) -> None:
        position = 0
        while (found := _find_start(self._line, position)) and self._budget > 0:
            start = found.start()
            end = self._object_end(start)
            position = end or start + 1
            if end is None:
                continue
            is_sure = self._is_row(start, end) or (not self.objects and start == self._next)
            if is_sure or (self.is_all and start == self._next):
                self.is_all = self.is_all and start == self._next
                self.objects.append(((start, end), is_sure))
                self._next = self._after_empty(end)
        self.is_all = self.is_all and self._next == len(self._line)

    def _after_empty(self, offset: int) -> int:
        empty = _skip_empty(self._line, offset)
        return empty.end() if empty is not None else offset

    def _object_end(self, start: int) -> int | None:
        """Return the end of the object at an offset; None if it is incomplete or invalid."""
        end, failed = self._scan(start)
        self._budget -= (failed if end is None else end) - start + _START_COST
        if end is None and self._may_be_lenient(failed):
            end = self._lenient_end(start)
        if end is None:
            self._broken = max(self._broken, failed)
        return end

    def _scan(self, start: int) -> tuple[int | None, int]:
        """Return the end of the object, or None and the offset at which it is invalid."""
        try:
            _decode(self._view[start:])
        except RecursionError:
            return None, min(start + _NESTING_COST, len(self._line))
        except msgspec.DecodeError as error:
            found = _ERROR_AT.search(str(error))
            if found is None:
                return None, len(self._line)
            at = start + int(found[2])
            if found[1] is None:
                return None, at
            return start + len(self._line[start : at - 1].rstrip(_EMPTY)), at
        return start + len(self._line[start:].rstrip(_EMPTY)), 0

    def _may_be_lenient(self, at: int) -> bool:
        """Return whether Python may accept what is invalid: NaN, or a control character."""
        return self._line[at : at + 1] in (b"N", b"I") or self._line[at : at + 1] < b" "

    def _lenient_end(self, start: int) -> int | None:
        size = len(self._line) - start
        if size > _MAX_LENIENT or size * _LENIENT_COST > self._budget:
            return None
        self._budget -= size * _LENIENT_COST
        text = self._line[start:].decode("utf-8", "surrogateescape")
        try:
            _, end = _scan_leniently(text)
        except (ValueError, RecursionError):
            return None
        return start + len(text[:end].encode("utf-8", "surrogateescape"))

    def _is_row(self, start: int, end: int) -> bool:
        before = self._line[max(0, start - _CONTEXT) : start].rstrip(_EMPTY)
        after = self._line[end : end + _CONTEXT].lstrip(_EMPTY)[:1]
        # What is before cannot be continued from some byte of the object on: it is no part of it.
        is_apart = start <= self._broken < end
        if not is_apart and after and after in _CONTINUING:
            return False
        is_nested = not is_apart and before[-1:] and before[-1:] in _OPENING
        own_only = bool(is_nested) and not self._is_under_other_key(before)
        return self._envelope.is_row(self._keys(start, end), own_only=own_only)

    def _is_under_other_key(self, before: bytes) -> bool:
        """Return whether an object is under a key that never holds objects like rows."""
        key = _find_key(before)
        return key is not None and key[1].decode("utf-8", "replace") not in self._envelope.holders

    def _keys(self, start: int, end: int) -> Collection[str]:
        try:
            return shallow_object(self._line[start:end]).keys()
        except DECODE_ERRORS:
            return ()


_load = json.JSONDecoder(strict=False).decode
_INVALID = object()
_Row = TypeVar("_Row", bound=msgspec.Struct)
_MAX_REPAIRED = 8 << 20
"""Bytes of a line that is repaired: its values are built, which takes thirty times its memory."""


def unread_reason(raw: bytes) -> SkipReason:
    """Return why `RowDecoder.decode_first` returns no row for an element."""
    return SkipReason.TOO_MANY_VALUES if has_too_many_values(raw) else SkipReason.NOT_AN_OBJECT


@dataclass(frozen=True, slots=True)
class PlacedRow(Generic[_Row]):
    row: _Row
    start: int
    """Offset in the line."""
    end: int


class RowDecoder(Generic[_Row]):
    def __init__(self, row_type: type[_Row], envelope: Envelope = Envelope()) -> None:
        self._row_type, self._envelope = row_type, envelope
        self._decode = msgspec.json.Decoder(row_type).decode

    def decode(self, line: bytes | memoryview) -> _Row | None:
        """Return the row of a valid line, or None: then call `decode_damaged`."""
        if len(line) >= MIN_BYTES_OF_TOO_MANY and has_too_many_values(bytes(line)):
            return None
        try:
            return self._decode(line)
        except DECODE_ERRORS:
            return None

    def decode_first(self, raw: bytes) -> _Row | None:
        """Return the first row in the bytes, repaired if necessary; None if there is none."""
        row = self.decode(raw)
        if row is not None:
            return row
        return next((placed.row for placed in self.decode_damaged(raw)[0]), None)

    def decode_damaged(self, line: bytes) -> tuple[list[PlacedRow[_Row]], int]:
        """Return the rows on a damaged line, and the number of JSON values on it.

        That is 1 on a valid line, more if rows are concatenated, and zero or negative if there is
        anything else on the line, such as a row that was cut off. A value that is not an object
        gives no row. A row of more than 8 MiB that needs repair, or with too many values, is not
        read.
        """
        value = _lenient_value(line)
        if value is not _INVALID:
            rows = [decode_lenient(self._row_type, value)] if isinstance(value, dict) else []
            return [PlacedRow(row, 0, len(line)) for row in rows], 1
        found = rows_on_line(line, self._envelope)
        placed = [
            PlacedRow(row, start, end)
            for start, end in found.places
            if (row := self._decode_object(line[start:end])) is not None
        ]
        are_all = found.is_all and len(placed) == len(found.places)
        return placed, len(placed) if are_all else -len(placed)

    def _decode_object(self, raw: bytes) -> _Row | None:
        row = self.decode(raw)
        if row is None and isinstance(value := _lenient_value(raw), dict):
            row = decode_lenient(self._row_type, value)
        return row


def decode_text(text: str, default: Any) -> Any:
    """Return the value of a text that is JSON, or the default if it is not."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return default


def decode_lenient(row_type: type[_Row], value: dict[str, Any]) -> _Row:
    """Return the struct with the fields that have the expected type; others count as missing."""
    matching: dict[str, Any] = {}
    for field in _fields(row_type):
        if field.encode_name in value:
            with suppress(msgspec.ValidationError, RecursionError):
                matching[field.name] = _convert(field.type, value[field.encode_name])
    return row_type(**matching)


# Evaluates the annotations, which takes longer than a row.
_fields = cache(msgspec.structs.fields)


def _convert(expected: Any, value: Any) -> Any:
    """Return as much of a value as has the expected type; `ValidationError` if no part has."""
    for option in _options(expected):
        is_struct = isinstance(option, type) and issubclass(option, msgspec.Struct)
        if isinstance(value, dict) and is_struct:
            return decode_lenient(option, value)
        if isinstance(value, list) and get_origin(option) is list:
            return list(_convert_each(get_args(option)[0], value))
    return msgspec.convert(value, expected, strict=not _is_number_in_other_form(expected, value))


def _convert_each(expected: Any, values: list[Any]) -> Iterator[Any]:
    for value in values:
        with suppress(msgspec.ValidationError, RecursionError):
            yield _convert(expected, value)


def _options(expected: Any) -> tuple[Any, ...]:
    return get_args(expected) if get_origin(expected) in (Union, UnionType) else (expected,)


def _is_number_in_other_form(expected: Any, value: Any) -> bool:
    """Return whether a value may be a number as a text, or a whole one as a float (`12.0`)."""
    is_text = isinstance(value, str) and str not in _options(expected)
    return is_text or isinstance(value, float)


def _lenient_value(raw: bytes) -> Any:
    """Return the value of JSON as Python reads it; `_INVALID` if it is none or too large."""
    if len(raw) > _MAX_REPAIRED or has_too_many_values(raw):
        return _INVALID
    with suppress(*DECODE_ERRORS):
        return msgspec.json.decode(raw)
    text = raw.decode("utf-8", "replace").removeprefix("\ufeff")
    try:
        return _without_lone_surrogates(_load(text.strip()))
    except (ValueError, RecursionError):
        return _INVALID


def _without_lone_surrogates(value: Any) -> Any:
    """Return the value without lone surrogates, which no table can store."""
    text = json.dumps(value, ensure_ascii=False)
    return json.loads(text.encode("utf-8", "replace"))
