"""Complete rows on a damaged line: a row was cut off before them, or bytes were overwritten.

A program that dies while it writes leaves a part of a row without a newline, and the next row
follows on the same line. A file system may leave a run of NUL. An object inside a row is no row: it
is told by the keys that rows of a format have, and by its place.
"""

import json
import re
from collections.abc import Collection
from dataclasses import dataclass

import msgspec

from turnetl.formats.kit.shallow_json import DECODE_ERRORS, replace_lone_surrogates, shallow_object

_find_start = re.compile(rb'\{[ \t\r\n]*+["}]').search
_EMPTY = b" \t\r\n\v\f"
_OPENING, _CONTINUING = b":,[", b",]}"
"""What is before an object inside of another value, and what is after it."""
_ERROR_AT = re.compile(r"(trailing characters )?\(byte (\d+)\)\Z")
_decode = msgspec.json.Decoder(msgspec.Raw).decode
_scan_leniently = json.JSONDecoder(strict=False).raw_decode
_SCANS, _LARGE_SCANS = 32, 64 << 20
"""Times that each byte of a line may be scanned, and bytes of a long line that may be scanned more
than a few times: objects inside of each other that are all cut off are scanned once each."""
_LENIENT_COST = 16
"""Bytes that are scanned in the time in which Python scans one."""
_NESTING_COST = 1 << 13
_MAX_LENIENT = 8 << 20


@dataclass(frozen=True, slots=True)
class Envelope:
    """The keys by which a row is told from other objects."""

    own: Collection[frozenset[str]] = ()
    """Sets of keys; an object with all keys of one of them is a row."""
    shared: Collection[frozenset[str]] = ()
    """Of rows that look like objects inside of rows: the place of the object must decide."""

    def of_row(self, keys: Collection[str], *, may_be_nested: bool) -> bool:
        sets = self.own if may_be_nested else (*self.own, *self.shared)
        return any(needed <= set(keys) for needed in sets)


@dataclass(frozen=True, slots=True)
class RowsOnLine:
    """The complete rows on a damaged line."""

    places: list[tuple[int, int]]
    """Offset and end of each, in order."""
    is_all: bool
    """Whether there is nothing else on the line."""


def rows_on_line(line: bytes, envelope: Envelope) -> RowsOnLine:
    """Find the complete rows on a line, in time proportional to its length.

    Objects with which the line starts are rows in any case, also several.
    """
    finder = _Finder(replace_lone_surrogates(line), envelope)
    finder.find()
    return RowsOnLine(finder.places, finder.is_all)


class _Finder:
    def __init__(self, line: bytes, envelope: Envelope) -> None:
        self._line, self._view, self._envelope = line, memoryview(line), envelope
        self._budget = min(_SCANS * len(line), 4 * len(line) + _LARGE_SCANS)
        self._broken = -1
        """Offset of the last byte at which an object before could not be continued."""
        self.places: list[tuple[int, int]] = []
        self.is_all = True

    def find(self) -> None:
        position = done = 0
        while (start := self._next_start(position)) is not None and self._budget > 0:
            end = self._object_end(start)
            if end is None:
                position = start + 1
            elif self._is_row(start, end, is_first=not self._line[done:start].strip(_EMPTY)):
                self._note_rest(done, start)
                self.places.append((start, end))
                position = done = end
            else:
                position = end
        self._note_rest(done, len(self._line))

    def _next_start(self, position: int) -> int | None:
        match = _find_start(self._line, position)
        return match.start() if match is not None else None

    def _note_rest(self, start: int, end: int) -> None:
        self.is_all = self.is_all and not self._line[start:end].strip(_EMPTY)

    def _object_end(self, start: int) -> int | None:
        """Return the end of the object at an offset; None if it is incomplete or invalid."""
        end, failed = self._scan(start)
        self._budget -= (failed if end is None else end) - start
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

    def _is_row(self, start: int, end: int, *, is_first: bool) -> bool:
        """Return whether an object is a row; `is_first`: the line starts with it and other rows."""
        if is_first:
            return True
        before = self._line[max(0, start - 64) : start].rstrip(_EMPTY)[-1:]
        after = self._line[end : end + 64].lstrip(_EMPTY)[:1]
        looks_nested = before != b"" and before in _OPENING
        # What is before cannot be continued from some byte of the object on: it is no part of it.
        if not start <= self._broken < end:
            if after != b"" and after in _CONTINUING:
                return False
        elif self._broken > start:
            looks_nested = False
        return self._envelope.of_row(self._keys(start, end), may_be_nested=looks_nested)

    def _keys(self, start: int, end: int) -> Collection[str]:
        try:
            return shallow_object(self._line[start:end]).keys()
        except DECODE_ERRORS:
            return ()
