"""The report of a filter run: every turn once, either kept or counted under its noise rule.

Tokens are estimated from the kept texts of a group. What is removed counts as many tokens per
character as these have, so that tokens and tokens saved add up to those of the whole archives.
"""

from dataclasses import dataclass, replace

import msgspec
import polars as pl

from turnetl.base.model import GroupId

COUNTED = ("noise", "copies", "variants", "chars_before", "chars_after", "tokens")
"""The columns of `schema.EPISODES` that `group_report` reads."""
_CHARS_PER_TOKEN = 4
"""Used if the group has no kept text to derive it from."""


@dataclass(frozen=True, slots=True)
class NoiseCount:
    """Turns that one rule marks in one group."""

    rule: str
    turns: int
    chars: int
    """Characters of the turns as in the archives."""


@dataclass(frozen=True, slots=True)
class FilteredGroup:
    """The counts of one group: turns = kept turns + the turns of all rules."""

    group: GroupId
    turns: int
    """Number of turns, without copies; see `copies` and `variants`."""
    kept: int
    noise: tuple[NoiseCount, ...]
    """Counts by rule name; only rules that matched."""
    copies: int
    """Rows of further archives that are copies of the turns counted above."""
    variants: int
    """Rows of further archives that are these turns with another text, which is not kept."""
    chars_before: int
    """Characters of all turns as in the archives."""
    chars_after: int
    """Characters of the texts of the kept turns."""
    tokens: int
    """Estimated tokens of the texts of the kept turns."""
    unchanged: bool = False
    """Whether the table was up to date, so that nothing was read or written."""

    @property
    def kept_chars(self) -> int:
        """Characters of the kept turns as in the archives."""
        return self.chars_before - sum(marked.chars for marked in self.noise)

    @property
    def kept_tokens_saved(self) -> int:
        """Tokens removed from the kept turns; negative if their texts are longer than they were."""
        return self.estimate_tokens(self.kept_chars - self.chars_after)

    @property
    def tokens_saved(self) -> int:
        noise = sum(self.estimate_tokens(marked.chars) for marked in self.noise)
        return self.kept_tokens_saved + noise

    def estimate_tokens(self, chars: int) -> int:
        """Estimate the tokens of a number of characters, at the ratio of the kept texts."""
        if not self.chars_after:
            return int(chars / _CHARS_PER_TOKEN)
        return round(chars * self.tokens / self.chars_after)


@dataclass(frozen=True, slots=True)
class FilterReport:
    """The groups in the order of the request."""

    groups: tuple[FilteredGroup, ...]
    removed_temporary_files: int = 0
    """Temporary files of killed runs that this run removed from the lake."""

    @property
    def turns(self) -> int:
        return sum(group.turns for group in self.groups)

    @property
    def kept(self) -> int:
        return sum(group.kept for group in self.groups)

    @property
    def copies(self) -> int:
        return sum(group.copies for group in self.groups)

    @property
    def variants(self) -> int:
        return sum(group.variants for group in self.groups)

    @property
    def chars_before(self) -> int:
        return sum(group.chars_before for group in self.groups)

    @property
    def chars_after(self) -> int:
        return sum(group.chars_after for group in self.groups)

    @property
    def tokens(self) -> int:
        return sum(group.tokens for group in self.groups)

    @property
    def tokens_saved(self) -> int:
        return sum(group.tokens_saved for group in self.groups)


def group_report(group: GroupId, episodes: pl.DataFrame) -> FilteredGroup:
    """Return the counts of a group's episodes table."""
    kept = episodes.filter(pl.col("noise").is_null())
    marked = episodes.drop_nulls("noise").group_by("noise")
    noise = marked.agg(pl.len(), pl.col("chars_before").sum()).sort("noise")
    # A table that an older turnetl wrote has nulls.
    variants = int(episodes["variants"].sum())
    return FilteredGroup(
        group=group,
        turns=episodes.height,
        kept=kept.height,
        noise=tuple(NoiseCount(*row) for row in noise.iter_rows()),
        copies=int(episodes["copies"].sum()) - variants,
        variants=variants,
        chars_before=int(episodes["chars_before"].sum()),
        chars_after=int(kept["chars_after"].sum()),
        tokens=int(kept["tokens"].sum()),
    )


def to_json(report: FilteredGroup) -> str:
    """Return the report as it is stored in the metadata of a table."""
    return msgspec.json.encode(report).decode()


def from_json(text: str) -> FilteredGroup | None:
    """Return a report that `to_json` wrote, marked as unchanged; None if the text is not valid."""
    try:
        report = msgspec.json.decode(text, type=FilteredGroup)
    except msgspec.MsgspecError:
        return None
    return replace(report, unchanged=True)
