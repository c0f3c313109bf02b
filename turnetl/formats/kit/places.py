"""Where things stand in an archive, and what became of its lines."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import msgspec

from turnetl.skip_reasons import SkipReason


class Place(msgspec.Struct, gc=False):
    """Where a row or an element of a document stands. One is made for every line: cheaply."""

    line: int
    """From 1."""
    last_line: int
    start: int
    """Offset of the first byte."""
    end: int
    """Offset just behind the last byte."""
    lines: int = 1
    """Lines counted with it: a line of several elements is counted with the first of them."""


@dataclass(slots=True)
class Counts:
    """What became of an archive's lines: `lines == used + sum(skipped.values())`."""

    lines: int = 0
    used: int = 0
    skipped: Counter[SkipReason] = field(default_factory=Counter)
    """Lines that gave nothing to a turn, by reason."""
    turns: int = 0
    steering: int = 0
    user_answers: int = 0
    sidechain_rows: int = 0
    tool_uses: int = 0
    bad_lines: int = 0
    """Lines that are not one JSON value; glued ones are among them."""
    glued_lines: int = 0
    """Bad lines that held several objects, all of which were read."""
    blank_lines: int = 0
    first_broken_line: int | None = None
    """Number of the first bad line that was not glued."""

    def __add__(self, other: "Counts") -> "Counts":
        """Return the sums; the first broken line of a sum is nobody's."""
        sums = {name: getattr(self, name) + getattr(other, name) for name in _SUMMED}
        return Counts(**sums)

    def as_mapping(self) -> dict[str, Any]:
        """Return plain values by name. `dataclasses.asdict` would garble the Counter."""
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        return values | {"skipped": dict(self.skipped)}

    @classmethod
    def from_mapping(cls, said: Mapping[str, Any]) -> "Counts":
        """Return the counts of `as_mapping`."""
        skipped = {SkipReason(name): lines for name, lines in said["skipped"].items()}
        return cls(**{**said, "skipped": Counter(skipped)})


_SUMMED = [one.name for one in fields(Counts) if one.name != "first_broken_line"]
