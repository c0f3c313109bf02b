"""Explain one noise rule: how many turns it marks by itself, and examples. Writes nothing."""

import tempfile
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import Annotated

import polars as pl

from turnetl import noise
from turnetl.base import schema
from turnetl.base.model import GroupId
from turnetl.base.result_fields import (
    FirstLineField,
    GroupField,
    LastLineField,
    SessionIdField,
    TurnIdField,
)
from turnetl.base.results import described
from turnetl.episodes import order
from turnetl.episodes.filters import Filters
from turnetl.episodes.partitions import key_columns, merge_recorded, partition, read_prompts
from turnetl.episodes.table import render_texts
from turnetl.lake import Batch, Lake
from turnetl.noise import EMPTY, ListedRule, NoiseRule

_EXCERPT_CHARS = 400
"""Characters of a prompt or a response that are read."""
_EXAMPLE = (
    *("turn_id", "session_id", "started_at", "prompt", "response"),
    *("archive", "first_line", "last_line"),
)
"""The fields of a `RuleExample` after its group."""


def _excerpt(column: str) -> pl.Expr:
    """Return the beginning of a text on one line, without control characters."""
    text = pl.col(column).str.slice(0, _EXCERPT_CHARS)
    return text.str.replace_all(r"[\s\p{Cc}]+", " ").str.strip_chars()


_EXCERPTS = (_excerpt("user_text").alias("prompt"), _excerpt("assistant_text").alias("response"))


@dataclass(frozen=True, slots=True)
class RuleExample:
    """A turn that a rule matches."""

    group: GroupField
    turn_id: TurnIdField
    session_id: SessionIdField
    started_at: Annotated[
        datetime | None, described("Time of the prompt; null if the archive has none.")
    ]
    prompt: Annotated[str, described("Beginning of the user's prompt, on one line.")]
    response: Annotated[str, described("Beginning of the agent's response, on one line.")]
    archive: Annotated[str, described("Path of the archive.")]
    first_line: FirstLineField
    last_line: LastLineField


@dataclass(frozen=True, slots=True)
class RuleCounts:
    """The turns of a group that a rule matches."""

    group: GroupField
    turns: Annotated[int, described("Turns that the rule matches.")]
    attributed: Annotated[
        int, described("Those that it marks today: it is active, and the first that matches.")
    ]
    chars: Annotated[int, described("Characters of the turns in the archives.")]


@dataclass(frozen=True, slots=True)
class RuleExplanation(ListedRule):
    """A noise rule, the turns that it matches by itself, and examples."""

    groups: Annotated[tuple[RuleCounts, ...], described("The same per group.")]
    """All groups of the request, in its order."""
    examples: Annotated[
        tuple[RuleExample, ...],
        described("Turns with different prompts, from as many groups as possible."),
    ]

    @property
    def turns(self) -> Annotated[int, described("Turns that the rule matches, over all groups.")]:
        return sum(group.turns for group in self.groups)

    @property
    @described("Those that it marks today, over all groups.")
    def attributed(self) -> int:
        return sum(group.attributed for group in self.groups)

    @property
    def chars(self) -> Annotated[int, described("Characters of the turns, over all groups.")]:
        return sum(group.chars for group in self.groups)


def explain(
    lake: Lake,
    groups: Sequence[GroupId],
    rule: NoiseRule,
    filters: Filters,
    *,
    examples: int = 5,
    progress: Callable[[int, int], None] | None = None,
) -> RuleExplanation:
    """Return what a rule, active or not, marks by itself; `progress` gets groups done and all."""
    counts, examples_by_group = [], []
    for done, group in enumerate(groups, 1):
        rows = _matching(lake.turn_batches(group), rule, filters)
        counts.append(_counts(group, rows, rule))
        examples_by_group.append(_examples(group, rows, examples))
        if progress is not None:
            progress(done, len(groups))
    round_robin = chain.from_iterable(zip_longest(*examples_by_group))
    selected = islice((example for example in round_robin if example is not None), examples)
    active = rule.name in filters.active_rules
    return RuleExplanation(rule, active, tuple(counts), tuple(selected))


def _matching(batches: Sequence[Batch], rule: NoiseRule, filters: Filters) -> pl.DataFrame:
    """Return the turns that the rule marks, in order; `marked_by` is the active rule that does."""
    if rule.name == EMPTY.name:
        return _matching_empty(batches, filters)
    columns = [*key_columns([rule, *filters.rules]), pl.col("last_line"), *_EXCERPTS]
    none = pl.DataFrame(schema=schema.TURNS.polars).select(columns)
    rows = merge_recorded(
        pl.concat([none, *(batch.read(*columns) for batch in batches)]),
        lambda: read_prompts(batches),
    )
    marked = noise.mark(order.unique_turns(rows.lazy()), filters.rules)
    alone = noise.mark(marked.rename({"noise": "marked_by"}), [rule])
    matching = alone.filter(pl.col("noise").is_not_null())
    return matching.select(*_EXAMPLE, "chars", "marked_by").collect()


def _matching_empty(batches: Sequence[Batch], filters: Filters) -> pl.DataFrame:
    """Return the same for `EMPTY`, which reads the rendered text."""
    marked_by = pl.coalesce("noise", pl.lit(EMPTY.name)).alias("marked_by")
    excerpts = [column.meta.output_name() for column in _EXCERPTS]
    columns = [name for name in (*_EXAMPLE, "chars") if name not in excerpts]
    none = pl.DataFrame(schema=schema.TURNS.polars).with_columns(noise=pl.lit(None, pl.String))
    with closing(partition(batches, filters.rules, Path(tempfile.gettempdir()))) as partitions:
        return pl.concat(
            rows.with_columns(render_texts(rows, filters))
            .filter(EMPTY.condition)
            .select(*columns, *_EXCERPTS, marked_by)
            for rows in chain([none], partitions)
        )


def _counts(group: GroupId, rows: pl.DataFrame, rule: NoiseRule) -> RuleCounts:
    attributed = rows.filter(pl.col("marked_by") == rule.name)
    return RuleCounts(group, rows.height, attributed.height, int(rows["chars"].sum()))


def _examples(group: GroupId, rows: pl.DataFrame, number: int) -> list[RuleExample]:
    different = rows.unique("prompt", keep="first", maintain_order=True).head(number)
    return [RuleExample(group, *row) for row in different.select(_EXAMPLE).iter_rows()]
