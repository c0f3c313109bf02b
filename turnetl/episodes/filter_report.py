"""The report of a filter run: every turn once, either kept or counted under its noise rule.

Tokens are estimated from the kept texts of a group. What is removed counts as many tokens per
character as these have, so that tokens and tokens saved add up to those of the whole archives.
"""

from collections.abc import Iterable
from dataclasses import astuple, dataclass, replace
from typing import Annotated, TypeVar

import msgspec
import polars as pl

from turnetl.base.model import GroupId
from turnetl.base.result_fields import GroupField
from turnetl.base.results import described

COUNTED = ("noise", "copies", "variants", "chars_before", "chars_after", "tokens")
"""The columns of `schema.EPISODES` that `group_report` reads."""
_CHARS_PER_TOKEN = 4
"""Used if the group has no kept text to derive it from."""
_TurnsField = Annotated[int, described("Turns.")]
_CopiesField = Annotated[
    int, described("Copies of these turns in other archives; they are not counted.")
]
_VariantsField = Annotated[
    int,
    described(
        "Versions of these turns with another text in other archives; they are not counted, and "
        "the one with the most characters is kept."
    ),
]
_BeforeField = Annotated[int, described("Characters of the turns in the archives.")]
_AfterField = Annotated[int, described("Characters of their episode texts.")]
_TokensField = Annotated[int, described("Tokens of their episode texts.")]
_SavedField = Annotated[
    int, described("Tokens that the archives' text would need beyond the episode texts.")
]


@dataclass(frozen=True, slots=True)
class NoiseCount:
    """Turns that one rule marks in one group."""

    rule: str
    """Name of the rule."""
    turns: int
    """Turns that it marks."""
    chars: int
    """Characters of the turns as in the archives."""


@dataclass(frozen=True, slots=True)
class KeptTurns:
    """The turns that are not noise."""

    turns: _TurnsField = 0
    chars_before: _BeforeField = 0
    chars_after: _AfterField = 0
    tokens: _TokensField = 0
    tokens_saved: _SavedField = 0
    """Negative if their texts are longer than they were."""


@dataclass(frozen=True, slots=True)
class MarkedTurns:
    """The turns that one rule marks."""

    turns: _TurnsField = 0
    chars_before: _BeforeField = 0
    tokens_saved: _SavedField = 0
    chars_after: Annotated[int, described("Always 0: noise is not ingested.")] = 0


_C = TypeVar("_C", KeptTurns, MarkedTurns)
_KeptField = Annotated[KeptTurns, described("The turns that are not noise.", name="kept")]
_MarkedField = Annotated[dict[str, MarkedTurns], described("The noise, by rule.", name="noise")]


@dataclass(frozen=True, slots=True)
class FilteredGroup:
    """The turns of a group, kept and noise: the counts are the sums of `kept` and `noise`."""

    group: GroupField
    turns: _TurnsField
    kept: int
    noise: tuple[NoiseCount, ...]
    """Counts by rule name; only rules that matched."""
    copies: _CopiesField
    variants: _VariantsField
    chars_before: _BeforeField
    chars_after: _AfterField
    tokens: _TokensField
    unjoined_archives: Annotated[
        int, described("Archives of subagents whose turns are in no archive of the group.")
    ] = 0
    unchanged: Annotated[
        bool, described("Whether nothing changed, so that nothing was written.")
    ] = False

    @property
    def kept_turns(self) -> _KeptField:
        before = self.chars_before - sum(marked.chars for marked in self.noise)
        saved = self.estimate_tokens(before - self.chars_after)
        return KeptTurns(self.kept, before, self.chars_after, self.tokens, saved)

    @property
    def marked_turns(self) -> _MarkedField:
        return {
            count.rule: MarkedTurns(count.turns, count.chars, self.estimate_tokens(count.chars))
            for count in self.noise
        }

    @property
    def tokens_saved(self) -> _SavedField:
        marked = self.marked_turns.values()
        return self.kept_turns.tokens_saved + sum(turns.tokens_saved for turns in marked)

    def estimate_tokens(self, chars: int) -> int:
        """Estimate the tokens of a number of characters, at the ratio of the kept texts."""
        if not self.chars_after:
            return int(chars / _CHARS_PER_TOKEN)
        return round(chars * self.tokens / self.chars_after)


@dataclass(frozen=True, slots=True)
class FilterReport:
    """Totals over all groups: the counts are the sums of `kept` and `noise`."""

    groups: Annotated[tuple[FilteredGroup, ...], described("The groups.")]
    """In the order of the request."""
    removed_temporary_files: Annotated[
        int, described("Temporary files of killed runs that were removed from the lake.")
    ] = 0

    @property
    def turns(self) -> _TurnsField:
        return sum(group.turns for group in self.groups)

    @property
    def kept(self) -> int:
        """Turns that no rule marks."""
        return sum(group.kept for group in self.groups)

    @property
    def copies(self) -> _CopiesField:
        return sum(group.copies for group in self.groups)

    @property
    def variants(self) -> _VariantsField:
        return sum(group.variants for group in self.groups)

    @property
    def chars_before(self) -> _BeforeField:
        return sum(group.chars_before for group in self.groups)

    @property
    def chars_after(self) -> _AfterField:
        return sum(group.chars_after for group in self.groups)

    @property
    def tokens(self) -> _TokensField:
        return sum(group.tokens for group in self.groups)

    @property
    def tokens_saved(self) -> _SavedField:
        return sum(group.tokens_saved for group in self.groups)

    @property
    def kept_turns(self) -> _KeptField:
        return _sum(KeptTurns, [group.kept_turns for group in self.groups])

    @property
    def marked_turns(self) -> _MarkedField:
        marked = [group.marked_turns for group in self.groups]
        return {
            rule: _sum(MarkedTurns, [turns[rule] for turns in marked if rule in turns])
            for rule in sorted({rule for turns in marked for rule in turns})
        }


def _sum(kind: type[_C], counts: Iterable[_C]) -> _C:
    return kind(*map(sum, zip(*map(astuple, counts), strict=True)))


def group_report(group: GroupId, episodes: pl.DataFrame) -> FilteredGroup:
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
    return msgspec.json.encode(report).decode()


def from_json(text: str) -> FilteredGroup | None:
    """Return a report that `to_json` wrote, marked as unchanged; None if the text is not valid."""
    try:
        report = msgspec.json.decode(text, type=FilteredGroup)
    except msgspec.MsgspecError:
        return None
    return replace(report, unchanged=True)
