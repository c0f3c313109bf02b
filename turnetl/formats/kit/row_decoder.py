"""Decoding of JSON into the few fields that a format uses, with repair of damaged JSON.

A field of a type that the format does not expect counts as missing. A number may be written as a
string.
"""

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from types import UnionType
from typing import Any, Generic, TypeVar, Union, get_args, get_origin

import msgspec

from turnetl.formats.kit.limits import MIN_BYTES_OF_TOO_MANY, has_too_many_values
from turnetl.skip_reasons import SkipReason

_scan = json.JSONDecoder().raw_decode
_whitespace = re.compile(r"\s*").match
_Row = TypeVar("_Row", bound=msgspec.Struct)
_MAX_REPAIRED = 8 << 20
"""Bytes of a line that is repaired: its values are built, which takes thirty times its memory."""


def unread_reason(raw: bytes) -> SkipReason:
    """Return why `RowDecoder.decode_first` returns no row for an element."""
    return SkipReason.TOO_MANY_VALUES if has_too_many_values(raw) else SkipReason.NOT_AN_OBJECT


class RowDecoder(Generic[_Row]):
    """Decodes one kind of row."""

    def __init__(self, row_type: type[_Row]) -> None:
        self._row_type = row_type
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
        return row if row is not None else next(iter(self.decode_damaged(raw)[0]), None)

    def decode_damaged(self, line: bytes) -> tuple[list[_Row], int]:
        """Decode a damaged line.

        Returns:
            The rows of the JSON objects on the line, and the number of JSON values on it: 1 on a
            valid line, 0 if it does not start with a value, more if values are concatenated. A
            value that is not an object gives no row. The number is negative if invalid JSON follows
            the values. A line of more than 8 MiB or with too many values is not repaired: no row is
            read.
        """
        if len(line) > _MAX_REPAIRED or has_too_many_values(line):
            return [], 0
        values, valid = _values(line.decode("utf-8", "replace").removeprefix("\ufeff").strip())
        objects = (value for value in values if isinstance(value, dict))
        rows = [decode_lenient(self._row_type, value) for value in objects]
        return rows, len(values) if valid else -len(values)


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
    return msgspec.convert(value, expected, strict=not _is_number_as_text(expected, value))


def _convert_each(expected: Any, values: list[Any]) -> Iterator[Any]:
    for value in values:
        with suppress(msgspec.ValidationError, RecursionError):
            yield _convert(expected, value)


def _options(expected: Any) -> tuple[Any, ...]:
    return get_args(expected) if get_origin(expected) in (Union, UnionType) else (expected,)


def _is_struct(option: type) -> bool:
    return issubclass(option, msgspec.Struct)


def _is_number_as_text(expected: Any, value: Any) -> bool:
    return isinstance(value, str) and str not in _options(expected)


def _values(text: str) -> tuple[list[Any], bool]:
    """Return the JSON values at the start of a text, and whether they are all of it."""
    values: list[Any] = []
    position = 0
    while position < len(text):
        try:
            value, position = _scan(text, position)
            values.append(_without_lone_surrogates(value))
        except (ValueError, RecursionError):
            return values, False
        position = _skip_whitespace(text, position)
    return values, True


def _without_lone_surrogates(value: Any) -> Any:
    """Return the value without lone surrogates, which no table can store."""
    text = json.dumps(value, ensure_ascii=False)
    return json.loads(text.encode("utf-8", "replace"))


def _skip_whitespace(text: str, position: int) -> int:
    whitespace = _whitespace(text, position)
    return whitespace.end() if whitespace is not None else position
