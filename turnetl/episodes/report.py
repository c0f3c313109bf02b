"""The account of a filter run: every turn once, kept or under the rule that speaks against it.

Tokens are estimated from the kept texts of a group; what is left out counts as many tokens a
character as they have, so that tokens and tokens saved are what all would have been.
"""

from dataclasses import dataclass, replace

import msgspec
import polars as pl

from turnetl.model import GroupId

_CHARS = 4
"""Of a token, where no text is kept that could say."""


@dataclass(frozen=True, slots=True)
class NoiseCount:
    """What one rule marked in one group."""

    rule: str
    turns: int
    chars: int
    """Of the whole turns, as the archives have them."""


@dataclass(frozen=True, slots=True)
class FilteredGroup:
    """What the filter made of one group: turns = kept + the turns of all rules."""

    group: GroupId
    turns: int
    """Different ones; see `copies`."""
    kept: int
    noise: tuple[NoiseCount, ...]
    """By rule name; only rules that matched."""
    copies: int
    """Rows that further archives hold of turns counted above."""
    chars_before: int
    """Of all turns, as the archives have them."""
    chars_after: int
    """Of the texts of the kept turns."""
    tokens: int
    """Estimate for the texts of the kept turns."""
    skipped: bool = False
    """Nothing had changed: nothing was read or written."""

    @property
    def kept_chars(self) -> int:
        """Of the kept turns, as the archives have them."""
        return self.chars_before - sum(marked.chars for marked in self.noise)

    @property
    def kept_tokens_saved(self) -> int:
        """Tokens that the texts of the kept turns leave out; below nothing if they say more."""
        return self.estimate_tokens(self.kept_chars - self.chars_after)

    @property
    def tokens_saved(self) -> int:
        return self.kept_tokens_saved + sum(
            self.estimate_tokens(marked.chars) for marked in self.noise
        )

    def estimate_tokens(self, chars: int) -> int:
        """Estimate the tokens of so many characters, if they are like the kept texts."""
        if not self.chars_after:
            return int(chars / _CHARS)
        return round(chars * self.tokens / self.chars_after)


@dataclass(frozen=True, slots=True)
class FilterReport:
    """The groups in the order asked for."""

    groups: tuple[FilteredGroup, ...]

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
    """Return the account of a group's episodes table."""
    kept = episodes.filter(pl.col("noise").is_null())
    marked = episodes.drop_nulls("noise").group_by("noise")
    noise = marked.agg(pl.len(), pl.col("chars_before").sum()).sort("noise")
    return FilteredGroup(
        group=group,
        turns=episodes.height,
        kept=kept.height,
        noise=tuple(NoiseCount(*row) for row in noise.iter_rows()),
        copies=int(episodes["copies"].sum()),
        chars_before=int(episodes["chars_before"].sum()),
        chars_after=int(kept["chars_after"].sum()),
        tokens=int(kept["tokens"].sum()),
    )


def to_json(report: FilteredGroup) -> str:
    """Return the report as a file's metadata holds it."""
    return msgspec.json.encode(report).decode()


def from_json(text: str) -> FilteredGroup | None:
    """Return the report that `to_json` wrote, as that of a group that was skipped."""
    try:
        report = msgspec.json.decode(text, type=FilteredGroup)
    except msgspec.MsgspecError:
        return None
    return replace(report, skipped=True)
