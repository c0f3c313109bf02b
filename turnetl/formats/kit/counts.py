"""Counts of an archive: how many lines are used, and why the others are not."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Annotated, Any

from turnetl.base.results import described
from turnetl.base.skip_reasons import SkipReason


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
        """Return the counts that `as_mapping` returned as plain values."""
        skipped = {SkipReason(name): lines for name, lines in values["skipped"].items()}
        return cls(**{**values, "skipped": Counter(skipped)})


_SUMMED = [count.name for count in fields(ParseCounts) if count.name != "first_invalid_line"]
