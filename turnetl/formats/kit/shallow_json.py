"""JSON decoded one level deep: nested values stay encoded.

A lone surrogate, as programs leave it when they truncate a text, makes a whole document unreadable.
It becomes a question mark of the same length, so that offsets stay valid.
"""

import re
from collections.abc import Callable
from typing import TypeVar

import msgspec

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
    """Return the encoded values of a JSON object, by key.

    Raises:
        DECODE_ERRORS: the bytes are not a JSON object.
    """
    return _decode(_object, data)


def is_single_value(data: bytes) -> bool:
    """Return whether the bytes are one JSON value and nothing else."""
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
