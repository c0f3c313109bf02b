"""How an archive begins: all that a format is told by, never its name.

An archive is lines of JSON, or one JSON document over many lines. Either way it is looked at as a
few objects, the insides of which stay undecoded until somebody asks for them.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import Any, overload

import msgspec

from turnetl.formats.kit.documents import is_document, torn
from turnetl.formats.kit.json_sequence import pieces
from turnetl.formats.kit.lines import lines, without_mark, without_words
from turnetl.formats.kit.shallow_json import UNREADABLE, array_of, object_of

_ROWS = 64
"""Lines looked at, or elements of an array: an archive may begin with rows that name nothing."""
_BYTES = 1 << 20
"""Of lines looked at; the first is looked at whatever its length."""
_HEAD = 4096
"""Bytes in which a value begins, blanks before it and all."""


class Glimpse(Mapping[str, Any]):
    """A JSON object, seen from outside: a value is decoded when it is asked for.

    A value that is no JSON is None; half a character in one, or bytes that are none, hide nothing.
    """

    def __init__(self, raw: Mapping[str, msgspec.Raw]) -> None:
        self._raw = raw

    def __getitem__(self, key: str) -> Any:
        try:
            return msgspec.json.decode(self._raw[key])
        except UNREADABLE:
            return _mended(bytes(self._raw[key]))

    def __contains__(self, key: object) -> bool:
        return key in self._raw

    def __iter__(self) -> Iterator[str]:
        return iter(self._raw)

    def __len__(self) -> int:
        return len(self._raw)

    def within(self, key: str) -> "Glimpse | None":
        """Return the object that stands under a key, or first in the list that stands there."""
        return next(iter(self.each(key)), None)

    def each(self, key: str) -> "tuple[Glimpse, ...]":
        """Return the first objects in the list that stands under a key, or the object itself."""
        raw = self._raw.get(key)
        return tuple(_glimpses(bytes(raw))) if raw is not None else ()


class _AsAsked(Sequence[Glimpse]):
    """Objects that are read when they are asked for: most archives are known by the first few."""

    def __init__(self, rest: Iterator[Glimpse]) -> None:
        self._rest = rest
        self._read: list[Glimpse] = []

    @overload
    def __getitem__(self, at: int) -> Glimpse: ...
    @overload
    def __getitem__(self, at: slice) -> list[Glimpse]: ...
    def __getitem__(self, at: int | slice) -> Glimpse | list[Glimpse]:
        wanted = max(0, at + 1 - len(self._read)) if isinstance(at, int) and at >= 0 else None
        self._read += islice(self._rest, wanted)
        return self._read[at]

    def __len__(self) -> int:
        return len(self[:])


class Rows:
    """Objects that are looked at one by one, as far as somebody asks, and each but once."""

    def __init__(self, rows: Iterator[Glimpse]) -> None:
        self._rest = rows
        self._seen: list[Glimpse] = []

    def __iter__(self) -> Iterator[Glimpse]:
        at = 0
        while at < len(self._seen) or self._look():
            yield self._seen[at]
            at += 1

    def __len__(self) -> int:
        while self._look():
            pass
        return len(self._seen)

    def _look(self) -> bool:
        """Look at one more; return whether there was one."""
        found = [*islice(self._rest, 1)]
        self._seen += found
        return bool(found)


class Probe:
    """The first objects of an archive."""

    def __init__(self, data: bytes) -> None:
        self._data = without_mark(data)

    @cached_property
    def rows(self) -> "Rows":
        """The objects on the first lines; of a document the root, or the first in its array.

        Of documents one after another the first ones.
        """
        data = self._data
        return Rows(_in_document(data) if is_document(data) else _on_lines(data))

    @property
    def first(self) -> Glimpse:
        """The first of `rows`; an empty one if there is none."""
        return next(iter(self.rows), Glimpse({}))

    def behind(self, words: bytes) -> "Probe":
        """Return the opening of what stands behind words that a tool printed, if it has some."""
        data = without_words(self._data, words)
        return self if data is self._data else Probe(data)


# These know the bytes and not the opening: an opening that led to itself would keep them in memory.
def _in_document(data: bytes) -> Iterator[Glimpse]:
    whole = tuple(_glimpses(data)) or tuple(_in_pieces(data))
    yield from whole or map(Glimpse, islice(torn(data), _ROWS))


def _in_pieces(data: bytes) -> Iterator[Glimpse]:
    for start, piece in islice(pieces(data), _ROWS):
        if start > _BYTES:
            return
        yield from _glimpses(piece)


def _on_lines(data: bytes) -> Iterator[Glimpse]:
    for _, start, line in islice(lines(data), _ROWS):
        if start > _BYTES:
            return
        if line.lstrip()[:1] == b"{":
            yield from _glimpses(line)


def _mended(raw: bytes) -> Any:
    try:
        return json.loads(raw.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None


def _glimpses(data: bytes) -> Iterator[Glimpse]:
    """Yield the object, or the first ones in the array."""
    start = data[:_HEAD].lstrip()[:1]
    try:
        if start == b"{":
            yield Glimpse(object_of(data))
        elif start == b"[":
            yield from (Glimpse(object_of(bytes(raw))) for raw in array_of(data)[:_ROWS])
    except UNREADABLE:
        return
