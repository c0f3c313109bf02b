"""The turns that a run would ingest, and a sample of them, stratified by their length.

The strata have about the same amount of text, so that long turns, which decide the cost, are drawn
more often than short ones.
"""

import random
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from turnetl.base.batched import grouped
from turnetl.base.graph_model import GroupContents
from turnetl.base.model import Episode, GroupId, TurnId
from turnetl.estimation.usage_range import MIN_SAMPLE
from turnetl.graph.port import TurnStore
from turnetl.ingestion import group
from turnetl.ingestion.admission import with_context
from turnetl.ingestion.group import GroupPlan
from turnetl.ingestion.redo import undone_contents
from turnetl.ingestion.undo_plan import UndoPlan
from turnetl.lake import CHUNK_COUNT
from turnetl.llm.embedders import Embedder

_FIXED_CHARS = 10_000
"""Characters that cost as much as the instructions of the prompts of a turn, as in `TurnCosts`."""
_LEADING, _MIN_LEADING, _MAX_LEADING = 5, 3, 4
"""One in this number of turns of a pilot is one with which a group begins, within these limits:
they come first, and a budget may end the pilot."""
_MAX_STRATA = 5
_PER_STRATUM = 3


@dataclass(frozen=True, slots=True)
class PendingTurn:
    """A turn that would be ingested."""

    turn_id: TurnId
    group_id: GroupId
    chars: int
    """Of its episode."""
    tokens: int
    """Estimated, of its episode."""
    chunks: int
    """Episodes as which it is ingested."""


@dataclass(frozen=True, slots=True)
class Stratum:
    """Turns of similar length."""

    turns: tuple[PendingTurn, ...]
    """Shortest first."""

    def is_sampled(self, drawn: Collection[TurnId]) -> bool:
        """Return whether enough of its turns are drawn."""
        count = sum(turn.turn_id in drawn for turn in self.turns)
        return count >= min(MIN_SAMPLE, len(self.turns))


def choose(
    turns: Sequence[PendingTurn], answered: Collection[TurnId], size: int, *, seed: int
) -> tuple[list[PendingTurn], list[PendingTurn]]:
    """Choose the turns of a pilot: some with which the largest group begins, and drawn ones.

    A pilot that is repeated chooses the same turns, although the journal answers the first ones:
    these are not returned. Leading turns are in the order of the run, others as `draw` orders them.
    """
    pending = [turn for turn in turns if turn.turn_id not in answered]
    if size >= len(pending):
        return pending, []
    leading = _leading(turns, size)
    # More than a pilot answers: a run was stopped, and its turns say nothing about the others.
    source = turns if len(answered) <= 2 * len(leading) else pending
    leading = _leading(source, size)
    first = {turn.turn_id for turn in leading}
    rest = [turn for turn in source if turn.turn_id not in first]
    drawn = draw(stratify(rest, size - len(leading)), size - len(leading), seed=seed)
    return (
        [turn for turn in leading if turn.turn_id not in answered],
        [turn for turn in drawn if turn.turn_id not in answered],
    )


def stratify(turns: Sequence[PendingTurn], sample_size: int) -> tuple[Stratum, ...]:
    """Divide turns by length, shortest first, as finely as a sample of this size allows."""
    ordered = sorted(turns, key=lambda turn: (turn.chars, turn.turn_id))
    count = max(1, min(_MAX_STRATA, sample_size // _PER_STRATUM))
    total = sum(turn.chars + _FIXED_CHARS for turn in ordered)
    strata: list[list[PendingTurn]] = [[]]
    passed = 0.0
    for number, turn in enumerate(ordered):
        is_full = len(strata[-1]) >= MIN_SAMPLE and len(ordered) - number >= MIN_SAMPLE
        if is_full and passed >= total * len(strata) / count and len(strata) < count:
            strata.append([])
        strata[-1].append(turn)
        passed += turn.chars + _FIXED_CHARS
    return tuple(Stratum(tuple(stratum)) for stratum in strata if stratum)


def draw(strata: Sequence[Stratum], sample_size: int, *, seed: int) -> list[PendingTurn]:
    """Draw turns at random, as many of each stratum as possible.

    The order is that in which a pilot takes them: one of each stratum in turn, so that a pilot that
    ends early has seen short and long turns.
    """
    # Not for secrets: the same plan draws the same turns.
    generator = random.Random(seed)  # noqa: S311
    shuffled = [generator.sample(stratum.turns, len(stratum.turns)) for stratum in strata]
    longest = max(map(len, shuffled), default=0)
    # The longest turns first: if the rounds do not come out even, they get the last draws.
    drawn = [
        of_stratum[number]
        for number in range(longest)
        for of_stratum in reversed(shuffled)
        if number < len(of_stratum)
    ]
    return drawn[:sample_size]


def merged(strata: Sequence[Stratum], drawn: Collection[TurnId]) -> tuple[Stratum, ...]:
    """Return the strata, those with too few drawn turns joined with their neighbour."""
    joined: list[Stratum] = []
    for stratum in strata:
        if joined and not joined[-1].is_sampled(drawn):
            joined[-1] = Stratum((*joined[-1].turns, *stratum.turns))
        else:
            joined.append(stratum)
    if len(joined) > 1 and not joined[-1].is_sampled(drawn):
        last = joined.pop()
        joined[-1] = Stratum((*joined[-1].turns, *last.turns))
    return tuple(joined)


def _leading(turns: Sequence[PendingTurn], size: int) -> list[PendingTurn]:
    """Return the first turns of the group with the most turns."""
    by_group = grouped((turn.group_id, turn) for turn in turns)
    count = min(max(size // _LEADING, _MIN_LEADING), _MAX_LEADING)
    return max(by_group.values(), key=len)[:count]


@dataclass(frozen=True, slots=True)
class Workload:
    """The turns of one group."""

    plan: GroupPlan
    """Its turns to commit are the turns of the estimate."""
    undo: UndoPlan | None = None
    """What a redo undoes before it ingests them; None for an ingest."""
    store: TurnStore | None = None
    """In which the run finds the group, if it is not the graph itself."""

    @property
    def group(self) -> GroupId:
        return self.plan.group

    def pending(self) -> list[PendingTurn]:
        """Return the turns in the order of the run. Reads no text."""
        wanted = pl.col("turn_id").is_in(list(self.plan.turns.to_commit))
        columns = "turn_id", "chars_after", "tokens", CHUNK_COUNT
        rows = self.plan.rows.filter(wanted).select(*columns).collect()
        return [PendingTurn(TurnId(turn), self.group, *sizes) for turn, *sizes in rows.iter_rows()]

    def episodes(self, turns: Collection[TurnId]) -> Iterator[tuple[Episode, list[Episode]]]:
        """Yield these turns, each with its context, in the order of the run."""
        planned = self.plan.turns
        context = {turn: planned.context[turn] for turn in planned.to_commit if turn in turns}
        required = {*context, *(earlier for of_turn in context.values() for earlier in of_turn)}
        loaded = group.load_episodes(self.plan.rows, required, batch_rows=self.plan.batch_rows)
        yield from with_context(loaded, context)

    async def contents(self, store: TurnStore, embedder: Embedder) -> GroupContents:
        """Return the group as the run would find it. Writes nothing."""
        contents = await (self.store or store).load(self.group)
        if self.undo is not None:
            contents = await undone_contents(contents, self.undo, embedder)
        return contents
