"""A scanner for JSON that is truncated, damaged or large: it reads values up to the first error.

It builds no value: one takes thirty times the memory of its text. A lone surrogate, which makes a
whole document unreadable, becomes a question mark of the same length: offsets stay valid.
"""

import json
import re
from collections.abc import Callable, Iterator
from typing import TypeVar

import msgspec

from turnetl.formats.kit.counts import has_too_many_values

_STRING = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?'
"""A string that is not closed reaches to the end, so that no byte is scanned twice."""
_find_tokens = re.compile(rb"[\[\]{}]|" + _STRING, re.DOTALL).finditer
_match_scalar = re.compile(_STRING + rb'|[^\s,:\[\]{}"]+', re.DOTALL).match
_whitespace = re.compile(rb"[ \t\r\n]*").match
_MAX_REPAIRED = 8 << 20
"""Bytes of a value that is read although it is not quite JSON."""


class JsonScanner:
    """Reads JSON token by token and stops for good at the first invalid value."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._position = 0
        self.invalid_at: int | None = None
        """Offset of the first invalid value."""

    def skip(self, token: bytes) -> bool:
        """Skip a bracket or a colon if it is the next token; return whether it is."""
        self._skip_whitespace()
        if not self._data.startswith(token, self._position):
            return False
        self._position += 1
        return True

    def end(self) -> None:
        """Record any remaining content as invalid."""
        self._skip_whitespace()
        if self.invalid_at is None and self._position < len(self._data):
            self.invalid_at = self._position

    def value(self) -> tuple[int, bytes] | None:
        """Read a value; return its offset and bytes, or None if it is invalid."""
        self._skip_whitespace()
        start = self._position
        end = _value_end(self._data, start)
        raw = self._data[start:end]
        if end is None or not (is_single_value(raw) or _is_lenient(raw)):
            self.invalid_at = start
            return None
        self._position = end
        return start, raw

    def values(self, close: bytes) -> Iterator[tuple[int, bytes]]:
        """Yield the values up to the closing bracket."""
        while self._has_next(close):
            value = self.value()
            if value is not None:
                yield value

    def elements(self) -> Iterator[tuple[int, bytes]]:
        """Read a value, and yield its elements if it is an array."""
        if self.skip(b"["):
            yield from self.values(b"]")
        else:
            self.value()

    def partial_value(self) -> bytes | None:
        """Read a value, or an array up to its first invalid element; None: it is invalid."""
        self._skip_whitespace()
        complete = _value_end(self._data, self._position)
        raw = self._data[self._position : complete]
        if complete is not None and is_single_value(raw):
            self._position = complete
            return raw
        if not self.skip(b"["):
            value = self.value()
            return value[1] if value is not None else None
        start = end = self._position
        for offset, raw in self.values(b"]"):
            end = offset + len(raw)
        return b"[%s]" % self._data[start:end]

    def field_names(self) -> Iterator[str]:
        """Yield the keys up to the closing brace. The caller must read the value of each."""
        while self._has_next(b"}"):
            key = self.value()
            if key is None or not key[1].startswith(b'"') or not self.skip(b":"):
                self.invalid_at = self._position
                return
            yield str(json.loads(key[1].decode("utf-8", "replace")))

    def _has_next(self, close: bytes) -> bool:
        self._skip_whitespace()
        if self.invalid_at is not None:
            return False
        if self._data.startswith(b",", self._position):
            self._position += 1
            self._skip_whitespace()
        if self._data.startswith(close, self._position):
            self._position += 1
            return False
        if self._position >= len(self._data):
            self.invalid_at = self._position
        return self.invalid_at is None

    def _skip_whitespace(self) -> None:
        whitespace = _whitespace(self._data, self._position)
        self._position = whitespace.end() if whitespace is not None else self._position


def _value_end(data: bytes, start: int) -> int | None:
    """Return the offset after a value, which need not be valid; None if it is truncated."""
    if data[start : start + 1] not in (b"[", b"{"):
        scalar = _match_scalar(data, start)
        return scalar.end() if scalar is not None else None
    depth = 0
    for token in _find_tokens(data, start):
        first = data[token.start()]
        if first in b"[{":
            depth += 1
        elif first in b"]}":
            depth -= 1
            if depth == 0:
                return token.end()
    return None


def _is_lenient(raw: bytes) -> bool:
    """Return whether Python reads the value: it accepts NaN and, here, invalid UTF-8."""
    if len(raw) > _MAX_REPAIRED or has_too_many_values(raw):
        return False
    try:
        json.loads(raw.decode("utf-8", "surrogateescape"))
    except (ValueError, RecursionError):
        return False
    return True


DECODE_ERRORS = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)

_Value = TypeVar("_Value")

_object = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_any = msgspec.json.Decoder(msgspec.Raw).decode
_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}"
    rb"|(u[dD][89a-fA-F][\da-fA-F]{2})|.)",
    re.DOTALL,
)
_SURROGATES = (b"\\ud", b"\\uD")
_REPLACEMENT = b"\\u003f"


def shallow_object(data: bytes) -> dict[str, msgspec.Raw]:
    """Return the encoded values of a JSON object, by key; one of `DECODE_ERRORS` if it is none."""
    return _decode(_object, data)


def is_single_value(data: bytes) -> bool:
    try:
        _decode(_any, data)
    except DECODE_ERRORS:
        return False
    return True


def replace_lone_surrogates(data: bytes) -> bytes:
    """Return the JSON with a question mark for each lone surrogate; unchanged if it has none."""
    if not any(surrogate in data for surrogate in _SURROGATES):
        return data
    replaced = bytearray(data)
    for escape in _ESCAPE.finditer(data):
        if escape[1]:
            replaced[escape.start() : escape.end()] = _REPLACEMENT
    return bytes(replaced)


def _decode(decode: Callable[[bytes], _Value], data: bytes) -> _Value:
    try:
        return decode(data)
    except msgspec.DecodeError:
        repaired = replace_lone_surrogates(data)
        if repaired == data:
            raise
        return decode(repaired)
