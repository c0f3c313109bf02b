"""JSON taken apart one level deep: what stands inside stays as it is written.

Half a character, as programs leave it when they cut a text, would make a whole document unreadable:
it is a question mark here, of the same length, so that every offset stays what it is.
"""

import re
from collections.abc import Callable
from typing import TypeVar

import msgspec

UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)

_Found = TypeVar("_Found")

_object = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_array = msgspec.json.Decoder(list[msgspec.Raw]).decode
_any = msgspec.json.Decoder(msgspec.Raw).decode
_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}"
    rb"|(u[dD][89a-fA-F][\da-fA-F]{2})|.)",
    re.DOTALL,
)
_HALVES = (b"\\ud", b"\\uD")
_INSTEAD = b"\\u003f"


def object_of(data: bytes) -> dict[str, msgspec.Raw]:
    """Return what an object holds.

    Raises:
        UNREADABLE: it is none.
    """
    return _read(_object, data)


def array_of(data: bytes) -> list[msgspec.Raw]:
    """Return what an array holds.

    Raises:
        UNREADABLE: it is none.
    """
    return _read(_array, data)


def is_whole(data: bytes) -> bool:
    """Say whether this is one JSON value and nothing else."""
    try:
        _read(_any, data)
    except UNREADABLE:
        return False
    return True


def whole_characters(data: bytes) -> bytes:
    """Return the JSON with a question mark for each half of a character; itself if it has none."""
    if not any(half in data for half in _HALVES):
        return data
    return _ESCAPE.sub(lambda found: _INSTEAD if found[1] else found[0], data)


def _read(decode: Callable[[bytes], _Found], data: bytes) -> _Found:
    try:
        return decode(data)
    except msgspec.DecodeError:
        whole = whole_characters(data)
        if whole == data:
            raise
        return decode(whole)
