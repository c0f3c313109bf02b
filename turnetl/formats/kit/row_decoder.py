"""Decoding of JSON into the few fields that a format uses, with repair of damaged JSON.

A field of a type that the format does not expect counts as missing. A number may be written as a
string, and a whole one as a float.
"""

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from types import UnionType
from typing import Any, Generic, TypeVar, Union, get_args, get_origin

import msgspec

from turnetl.base.skip_reasons import SkipReason
from turnetl.formats.kit.damaged_lines import Envelope, rows_on_line
from turnetl.formats.kit.limits import MIN_BYTES_OF_TOO_MANY, has_too_many_values

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
    """A row on a damaged line."""

    row: _Row
    start: int
    """Offset in the line."""
    end: int


class RowDecoder(Generic[_Row]):
    """Decodes one kind of row."""

    def __init__(self, row_type: type[_Row], envelope: Envelope = Envelope()) -> None:  # noqa: B008 - a frozen value
        self._row_type, self._envelope = row_type, envelope
        self._decode = msgspec.json.Decoder(row_type).decode

    def decode(self, line: bytes | memoryview) -> _Row | None:
        """Return the row of a valid line, or None: then call `decode_damaged`."""
        if len(line) >= MIN_BYTES_OF_TOO_MANY and has_too_many_values(bytes(line)):
            return None
        try:
            return self._decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None

    def decode_first(self, raw: bytes) -> _Row | None:
        """Return the first row in the bytes, repaired if necessary; None if there is none."""
        row = self.decode(raw)
        if row is not None:
            return row
        return next((placed.row for placed in self.decode_damaged(raw)[0]), None)

    def decode_damaged(self, line: bytes) -> tuple[list[PlacedRow[_Row]], int]:
        """Decode a damaged line.

        Returns:
            The rows on the line, and the number of JSON values on it: 1 on a valid line, more if
            rows are concatenated. A value that is not an object gives no row. The number is zero or
            negative if there is anything else on the line, such as a row that was cut off. A row of
            more than 8 MiB that needs repair, or with too many values, is not read.
        """
        if _is_repairable(line):
            value = _lenient_value(line.decode("utf-8", "replace"))
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
        if row is not None or not _is_repairable(raw):
            return row
        value = _lenient_value(raw.decode("utf-8", "replace"))
        return decode_lenient(self._row_type, value) if isinstance(value, dict) else None


def decode_text(text: str, default: Any) -> Any:
    """Return the value of a text that is JSON, or the default if it is not."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return default


def decode_lenient(row_type: type[_Row], value: dict[str, Any]) -> _Row:
    """Return the struct with the fields that have the expected type; others count as missing."""
    matching: dict[str, Any] = {}
    for field in msgspec.structs.fields(row_type):
        if field.encode_name in value:
            with suppress(msgspec.ValidationError, RecursionError):
                matching[field.name] = _convert(field.type, value[field.encode_name])
    return row_type(**matching)


def _convert(expected: Any, value: Any) -> Any:
    """Return as much of a value as has the expected type.

    Raises:
        msgspec.ValidationError: no part of it has.
    """
    for option in _options(expected):
        if isinstance(value, dict) and isinstance(option, type) and _is_struct(option):
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


def _is_struct(option: type) -> bool:
    return issubclass(option, msgspec.Struct)


def _is_number_in_other_form(expected: Any, value: Any) -> bool:
    """Return whether a value may be a number as a text, or a whole one as a float (`12.0`)."""
    is_text = isinstance(value, str) and str not in _options(expected)
    return is_text or isinstance(value, float)


def _is_repairable(raw: bytes) -> bool:
    return len(raw) <= _MAX_REPAIRED and not has_too_many_values(raw)


def _lenient_value(text: str) -> Any:
    """Return the value of a text that is JSON as Python reads it; `_INVALID` if it is not."""
    try:
        return _without_lone_surrogates(_load(text.removeprefix("\ufeff").strip()))
    except (ValueError, RecursionError):
        return _INVALID


def _without_lone_surrogates(value: Any) -> Any:
    """Return the value without lone surrogates, which no table can store."""
    text = json.dumps(value, ensure_ascii=False)
    return json.loads(text.encode("utf-8", "replace"))
