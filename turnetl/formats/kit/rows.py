"""JSON read into the few fields that a format uses, and a way to read what is crooked.

A field of another type than the format expects counts as missing; a number may stand as a string.
"""

import json
import re
from contextlib import suppress
from types import UnionType
from typing import Any, Generic, TypeVar, Union, get_args, get_origin

import msgspec

_scan = json.JSONDecoder().raw_decode
_blanks = re.compile(r"\s*").match
_Row = TypeVar("_Row", bound=msgspec.Struct)


class Rows(Generic[_Row]):
    """Reads one kind of row."""

    def __init__(self, kind: type[_Row]) -> None:
        self._kind = kind
        self._decode = msgspec.json.Decoder(kind).decode

    def read(self, line: bytes) -> _Row | None:
        """Return the row of a line that is as it should be, or None: then ask `mend`."""
        try:
            return self._decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None

    def one(self, raw: bytes) -> _Row | None:
        """Return the first row that stands here, mended if need be; None if there is none."""
        row = self.read(raw)
        return row if row is not None else next(iter(self.mend(raw)[0]), None)

    def mend(self, line: bytes) -> tuple[list[_Row], int]:
        """Read a crooked line.

        Returns:
            The rows of the JSON objects on it, and how many JSON values stand there: 1 on a line
            that is sound, 0 if it does not start with one, several if they were glued. A value that
            is not an object gives no row; what follows a value and is no JSON makes the number
            negative.
        """
        values, whole = _values(line.decode("utf-8", "replace").removeprefix("\ufeff").strip())
        rows = [lenient(self._kind, value) for value in values if isinstance(value, dict)]
        return rows, len(values) if whole else -len(values)


def lenient(kind: type[_Row], value: dict[str, Any]) -> _Row:
    """Return the struct with whatever fields fit; those that do not are as if they were missing."""
    found: dict[str, Any] = {}
    for field in msgspec.structs.fields(kind):
        if field.encode_name in value:
            with suppress(msgspec.ValidationError, RecursionError):
                found[field.name] = _fitting(field.type, value[field.encode_name])
    return kind(**found)


def _fitting(kind: Any, value: Any) -> Any:
    """Return what of a value fits a type.

    Raises:
        msgspec.ValidationError: nothing does.
    """
    for option in _options(kind):
        if isinstance(value, dict) and isinstance(option, type) and _is_struct(option):
            return lenient(option, value)
        if isinstance(value, list) and get_origin(option) is list:
            return list(_those_that_fit(get_args(option)[0], value))
    return msgspec.convert(value, kind, strict=not _is_number_as_text(kind, value))


def _those_that_fit(kind: Any, values: list[Any]) -> Any:
    for value in values:
        with suppress(msgspec.ValidationError, RecursionError):
            yield _fitting(kind, value)


def _options(kind: Any) -> tuple[Any, ...]:
    return get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)


def _is_struct(kind: type) -> bool:
    return issubclass(kind, msgspec.Struct)


def _is_number_as_text(kind: Any, value: Any) -> bool:
    return isinstance(value, str) and str not in _options(kind)


def _values(text: str) -> tuple[list[Any], bool]:
    found: list[Any] = []
    at = 0
    while at < len(text):
        try:
            value, at = _scan(text, at)
            found.append(_sound(value))
        except (ValueError, RecursionError):
            return found, False
        at = _behind_blanks(text, at)
    return found, True


def _sound(value: Any) -> Any:
    """Return the value without lone halves of characters, which no table can hold."""
    text = json.dumps(value, ensure_ascii=False)
    return json.loads(text.encode("utf-8", "replace"))


def _behind_blanks(text: str, at: int) -> int:
    found = _blanks(text, at)
    return found.end() if found is not None else at
