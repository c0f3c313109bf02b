"""What one rule speaks against, by itself: how many turns, and some of them. Writes nothing."""

import tempfile
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from itertools import chain, islice, zip_longest
from pathlib import Path

import polars as pl

from turnetl import noise, schema
from turnetl.episodes import order
from turnetl.episodes.filters import Filters
from turnetl.episodes.partitions import key_columns, partition
from turnetl.episodes.table import render_texts
from turnetl.lake import Batch, Lake
from turnetl.model import GroupId, SessionId, TurnId
from turnetl.noise import EMPTY, NoiseRule

_FIRST = 400
"""Characters of a prompt or an answer that are looked at."""
_EXAMPLE = (
    *("turn_id", "session_id", "started_at", "prompt", "answer"),
    *("archive", "first_line", "last_line"),
)
"""The fields of an `RuleExample`, behind its group."""


def _words(column: str) -> pl.Expr:
    """Return the first words on one line, fit for a terminal."""
    first = pl.col(column).str.slice(0, _FIRST)
    return first.str.replace_all(r"[\s\p{Cc}]+", " ").str.strip_chars()


_SHOWN = (_words("user_text").alias("prompt"), _words("assistant_text").alias("answer"))


@dataclass(frozen=True, slots=True)
class RuleExample:
    """A turn that the rule marks."""

    group: GroupId
    turn_id: TurnId
    session_id: SessionId
    started_at: datetime | None
    prompt: str
    """The first words, on one line."""
    answer: str
    archive: str
    first_line: int
    last_line: int


@dataclass(frozen=True, slots=True)
class RuleCounts:
    """What the rule marks in one group."""

    group: GroupId
    turns: int
    """If no other rule were there."""
    attributed: int
    """Those of them that bear its name today; the others are kept, or another rule comes first."""
    chars: int
    """Of the whole turns, as the archives have them."""


@dataclass(frozen=True, slots=True)
class RuleExplanation:
    """One rule, and what it marks."""

    rule: NoiseRule
    active: bool
    """Whether it marks today."""
    groups: tuple[RuleCounts, ...]
    """All that were asked for, in that order."""
    examples: tuple[RuleExample, ...]
    """Turns of different prompts, from as many groups as there are."""


def explain(
    lake: Lake,
    groups: Sequence[GroupId],
    rule: NoiseRule,
    today: Filters,
    *,
    examples: int = 5,
    progress: Callable[[int, int], None] | None = None,
) -> RuleExplanation:
    """Say what a rule marks by itself.

    Args:
        lake: where the turns files are.
        groups: those to look into.
        rule: also one that is off.
        today: the rules that mark, and what texts leave out.
        examples: at most so many.
        progress: told after each group how many are done, of how many.

    Raises:
        Stop: a table cannot be read.
    """
    counts, found = [], []
    for done, group in enumerate(groups, 1):
        rows = _matching(lake.turn_batches(group), rule, today)
        counts.append(_counted(group, rows, rule))
        found.append(_examples(group, rows, examples))
        if progress is not None:
            progress(done, len(groups))
    by_turns = chain.from_iterable(zip_longest(*found))
    shown = islice((one for one in by_turns if one is not None), examples)
    return RuleExplanation(rule, rule.name in today.active_rules, tuple(counts), tuple(shown))


def _matching(batches: Sequence[Batch], rule: NoiseRule, today: Filters) -> pl.DataFrame:
    """Return the turns that the rule marks, in order, with the rule that names them as `named`."""
    if rule.name == EMPTY.name:
        return _left_empty(batches, today)
    columns = [*key_columns([rule, *today.rules]), pl.col("last_line"), *_SHOWN]
    none = pl.DataFrame(schema=schema.TURNS.polars).select(columns)
    rows = pl.concat([none, *(batch.read(*columns) for batch in batches)])
    named = noise.mark(order.unique_turns(rows.lazy()), today.rules).rename({"noise": "named"})
    marked = noise.mark(named, [rule]).filter(pl.col("noise").is_not_null())
    return marked.select(*_EXAMPLE, "chars", "named").collect()


def _left_empty(batches: Sequence[Batch], today: Filters) -> pl.DataFrame:
    """Return the same of the rule that reads what is rendered."""
    named = pl.coalesce("noise", pl.lit(EMPTY.name)).alias("named")
    shown = [column.meta.output_name() for column in _SHOWN]
    columns = [name for name in (*_EXAMPLE, "chars") if name not in shown]
    none = pl.DataFrame(schema=schema.TURNS.polars).with_columns(noise=pl.lit(None, pl.String))
    with closing(partition(batches, today.rules, Path(tempfile.gettempdir()))) as slices:
        return pl.concat(
            rows.with_columns(render_texts(rows, today))
            .filter(EMPTY.condition)
            .select(*columns, *_SHOWN, named)
            for rows in chain([none], slices)
        )


def _counted(group: GroupId, rows: pl.DataFrame, rule: NoiseRule) -> RuleCounts:
    named = rows.filter(pl.col("named") == rule.name)
    return RuleCounts(group, rows.height, named.height, int(rows["chars"].sum()))


def _examples(group: GroupId, rows: pl.DataFrame, number: int) -> list[RuleExample]:
    different = rows.unique("prompt", keep="first", maintain_order=True).head(number)
    return [RuleExample(group, *row) for row in different.select(_EXAMPLE).iter_rows()]
