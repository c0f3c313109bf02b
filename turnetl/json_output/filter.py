"""`turnetl filter --json`. Tokens are estimates."""

from collections.abc import Sequence
from typing import Annotated, Any

from turnetl.base.results import JsonOutput, described
from turnetl.episodes import FilteredGroup, FilterReport
from turnetl.json_output import fields

_TURNS = described("Turns.")
_BEFORE = described("Characters of the turns in the archives.")
_AFTER = described("Characters of their episode texts.")
_TOKENS = described("Tokens of their episode texts.")
_SAVED = described("Tokens that the archives' text would need beyond the episode texts.")


class KeptOutput(JsonOutput):
    """The turns that are not noise."""

    turns: Annotated[int, _TURNS]
    chars_before: Annotated[int, _BEFORE]
    chars_after: Annotated[int, _AFTER]
    tokens: Annotated[int, _TOKENS]
    tokens_saved: Annotated[int, _SAVED]


class NoiseOutput(JsonOutput):
    """The turns that one rule marks."""

    turns: Annotated[int, _TURNS]
    chars_before: Annotated[int, _BEFORE]
    chars_after: Annotated[int, described("Always 0: noise is not ingested.")]
    tokens_saved: Annotated[int, _SAVED]


class FilterCountsOutput(KeptOutput):
    """The turns, kept and noise: the counts are the sums of `kept` and `noise`."""

    copies: Annotated[
        int, described("Copies of these turns in other archives; they are not counted.")
    ]
    variants: Annotated[
        int,
        described(
            "Versions of these turns with another text in other archives; they are not counted, "
            "and the one with the most characters is kept."
        ),
    ]
    kept: Annotated[KeptOutput, described("The turns that are not noise.")]
    noise: Annotated[dict[str, NoiseOutput], described("The noise, by rule.")]


class FilterGroupOutput(FilterCountsOutput):
    """The turns of a group."""

    group: fields.GroupField
    unchanged: Annotated[bool, described("Whether nothing changed, so that nothing was written.")]


class FilterOutput(FilterCountsOutput):
    """Totals over all groups."""

    groups: Annotated[list[FilterGroupOutput], described("The groups.")]
    removed_temporary_files: Annotated[
        int, described("Temporary files of killed runs that were removed from the lake.")
    ]


def filter_output(report: FilterReport) -> FilterOutput:
    return FilterOutput(
        **_values(report.groups),
        groups=[
            FilterGroupOutput(**_values([group]), group=group.group, unchanged=group.unchanged)
            for group in report.groups
        ],
        removed_temporary_files=report.removed_temporary_files,
    )


def _values(groups: Sequence[FilteredGroup]) -> dict[str, Any]:
    kept = _kept(groups)
    noise = _noise(groups)
    marked = noise.values()
    return {
        "turns": kept.turns + sum(rule.turns for rule in marked),
        "chars_before": kept.chars_before + sum(rule.chars_before for rule in marked),
        "chars_after": kept.chars_after,
        "tokens": kept.tokens,
        "tokens_saved": kept.tokens_saved + sum(rule.tokens_saved for rule in marked),
        "copies": sum(group.copies for group in groups),
        "variants": sum(group.variants for group in groups),
        "kept": kept,
        "noise": noise,
    }


def _kept(groups: Sequence[FilteredGroup]) -> KeptOutput:
    return KeptOutput(
        turns=sum(group.kept for group in groups),
        chars_before=sum(group.kept_chars for group in groups),
        chars_after=sum(group.chars_after for group in groups),
        tokens=sum(group.tokens for group in groups),
        tokens_saved=sum(group.kept_tokens_saved for group in groups),
    )


def _noise(groups: Sequence[FilteredGroup]) -> dict[str, NoiseOutput]:
    rules = sorted({count.rule for group in groups for count in group.noise})
    return {rule: _rule(rule, groups) for rule in rules}


def _rule(rule: str, groups: Sequence[FilteredGroup]) -> NoiseOutput:
    counts = [(group, count) for group in groups for count in group.noise if count.rule == rule]
    return NoiseOutput(
        turns=sum(count.turns for _, count in counts),
        chars_before=sum(count.chars for _, count in counts),
        chars_after=0,
        tokens_saved=sum(group.estimate_tokens(count.chars) for group, count in counts),
    )
