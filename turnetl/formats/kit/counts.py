"""Counts of an archive: how many lines are used, and why the others are not.

Limits on what an archive may hold: otherwise a small file could need any amount of memory.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Annotated, Any, TypeVar

from turnetl.base.reason import SkipReason
from turnetl.base.results import described


@dataclass(slots=True)
class ParseCounts:
    """The lines of archives, each counted once: `lines` = `used` + all of `skipped`."""

    lines: Annotated[int, described("Lines.")] = 0
    used: Annotated[int, described("Lines that contributed to a turn.")] = 0
    skipped: Annotated[
        Counter[SkipReason],
        described("Lines that contributed to no turn, by reason.", keys=SkipReason),
    ] = field(default_factory=Counter)
    turns: Annotated[int, described("Turns.")] = 0
    steering: Annotated[int, described("Messages that the user sent while the agent worked.")] = 0
    user_answers: Annotated[int, described("Answers of the user to questions of the agent.")] = 0
    sidechain_rows: Annotated[int, described("Rows of subagents.")] = 0
    tool_calls: Annotated[int, described("Tool calls.")] = 0
    invalid_lines: Annotated[
        int, described("Lines that are not exactly one JSON value, including `concatenated_lines`.")
    ] = 0
    """Also those that have too many values."""
    concatenated_lines: Annotated[
        int, described("Invalid lines with several objects, all of which were read.")
    ] = 0
    blank_lines: Annotated[int, described("Blank lines.")] = 0
    first_invalid_line: Annotated[
        int | None,
        described(
            "The first invalid line that is not concatenated; null if there is none, and in sums."
        ),
    ] = None

    def __add__(self, other: "ParseCounts") -> "ParseCounts":
        """Return the sums. A sum has no first invalid line."""
        sums = {name: getattr(self, name) + getattr(other, name) for name in _SUMMED}
        return ParseCounts(**sums)

    def count(self, reason: SkipReason | None, lines: int) -> None:
        """Count lines under a reason; None: they are used."""
        if reason is None:
            self.used += lines
        elif lines > 0:
            self.skipped[reason] += lines

    def recount(self, before: SkipReason | None, after: SkipReason | None, lines: int) -> None:
        """Count lines under another reason, now that later rows decided on them; None: as used.

        Of fewer lines than these, all are counted again.
        """
        lines = min(lines, self.used if before is None else self.skipped[before])
        if not lines:
            return
        if before is None:
            self.used -= lines
        else:
            self.skipped = self.skipped - Counter({before: lines})
        self.count(after, lines)

    def count_values(self, values: int, line: int) -> None:
        """Count a line as invalid unless it is one JSON value: see `RowDecoder.decode_damaged`."""
        if values == 1:
            return
        self.invalid_lines += 1
        self.concatenated_lines += values > 1
        if values < 1 and self.first_invalid_line is None:
            self.first_invalid_line = line

    def as_mapping(self) -> dict[str, Any]:
        """Return plain values by field name. `dataclasses.asdict` would corrupt the Counter."""
        values = {count.name: getattr(self, count.name) for count in fields(self)}
        return values | {"skipped": dict(self.skipped)}

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> "ParseCounts":
        skipped = {SkipReason(name): lines for name, lines in values["skipped"].items()}
        return cls(**{**values, "skipped": Counter(skipped)})


_SUMMED = [count.name for count in fields(ParseCounts) if count.name != "first_invalid_line"]


MAX_ROWS = 200_000
"""Turns of an archive, and rows that are held until all are read. Each takes up to 2 kB."""
_MIN_VALUES = 1_000_000
"""JSON values that a line or an element may always have. Each may take 64 bytes."""
_BYTES_PER_VALUE = 16
"""A longer line or element may have a value for this many of its bytes."""
MIN_BYTES_OF_TOO_MANY = 2 * _MIN_VALUES
"""A shorter line cannot have too many values: each takes a separator and a byte."""
_SEPARATORS = (b",", b"[", b"{")
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
"""A string; one that is not closed reaches to the end."""

_Row = TypeVar("_Row")


class TooManyRows(Exception):
    """The archive has more turns or rows than the limit."""


def limited(rows: Iterable[_Row], limit: int = MAX_ROWS) -> list[_Row]:
    """Return the rows as a list; raise `TooManyRows` if there are more than the limit."""
    found: list[_Row] = []
    for row in rows:
        if len(found) == limit:
            raise TooManyRows
        found.append(row)
    return found


def may_have_too_many_rows(document: bytes) -> bool:
    """Return whether the elements and keys of a document must be counted before it is decoded."""
    return document.count(b",") >= MAX_ROWS


def has_too_many_values(line: bytes) -> bool:
    """Return whether a line has too many JSON values. Separators in strings do not count."""
    if len(line) < MIN_BYTES_OF_TOO_MANY:
        return False
    limit = max(_MIN_VALUES, len(line) // _BYTES_PER_VALUE)
    if _separators(line, 0, len(line)) <= limit:
        return False
    values = end = 0
    for string in _STRING.finditer(line):
        values += _separators(line, end, string.start())
        if values > limit:
            return True
        end = string.end()
    return values + _separators(line, end, len(line)) > limit


def _separators(line: bytes, start: int, end: int) -> int:
    return sum(line.count(separator, start, end) for separator in _SEPARATORS)
