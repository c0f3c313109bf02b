"""The turns that a run would ingest, a sample of them by length, and totals predicted from it.

The strata have about the same amount of text, so that long turns, which decide the cost, are drawn
more often than short ones. The method is that of survey sampling: the mean of each stratum times
the turns of it that were not drawn (Cochran, Sampling Techniques, chapter 5). The interval is that
of Student's distribution with the degrees of freedom after Satterthwaite. Nothing of a prediction
is random: equal samples give equal ranges.
"""

import math
import random
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from statistics import NormalDist, fmean, variance
from typing import Annotated

import polars as pl

from turnetl.base.batched import grouped
from turnetl.base.graph_model import GroupContents
from turnetl.base.model import Episode, GroupId, TurnId, Usage
from turnetl.base.results import described
from turnetl.graph.port import TurnStore
from turnetl.ingestion import group
from turnetl.ingestion.admission import with_context
from turnetl.ingestion.estimate_record import Range
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


CONFIDENCE = 0.95
"""Share of samples whose range holds the actual total, if the sample is like the rest."""
MIN_SAMPLE = 2
"""Values of a stratum from which its variance can be computed."""


def exactly(amount: float) -> Range:
    """Return the range of an amount that is known."""
    return Range(amount, amount, amount)


def at_least(amount: float) -> Range:
    """Return the range of an amount of which only a lower bound is known."""
    return Range(amount, amount, None)


@dataclass(frozen=True, slots=True)
class StratumValues:
    """The values of the drawn turns of a stratum, and how many turns they stand for."""

    values: tuple[float, ...]
    """At least `MIN_SAMPLE`, unless `others` is 0."""
    others: int
    """Turns of the stratum whose value is not known."""


def predict(
    strata: Sequence[StratumValues], *, known: float = 0.0, confidence: float = CONFIDENCE
) -> Range:
    """Return the total over the turns that were not drawn, plus what is known, also if negative."""
    expected, parts = known, list[tuple[float, int]]()
    for stratum in strata:
        if not stratum.others:
            continue
        drawn = len(stratum.values)
        expected += stratum.others * fmean(stratum.values)
        # The error of the mean, and that of the sum of the single turns.
        spread = stratum.others**2 / drawn + stratum.others
        parts.append((spread * variance(stratum.values), drawn - 1))
    total = sum(part for part, _ in parts)
    if total <= 0:
        return exactly(max(expected, 0.0))
    freedom = total**2 / sum(part**2 / degrees for part, degrees in parts)
    margin = student_quantile((1 + confidence) / 2, freedom) * math.sqrt(total)
    return Range(*(max(end, 0.0) for end in (expected - margin, expected, expected + margin)))


def student_quantile(probability: float, freedom: float) -> float:
    """Return the quantile of Student's distribution for a probability above 0.5.

    Exact for one and two degrees of freedom; from three on within 1 % (Abramowitz and Stegun,
    26.7.5). Degrees between are rounded down, which makes the interval wider.
    """
    degrees = max(math.floor(freedom), 1)
    if degrees == 1:
        return math.tan(math.pi * (probability - 0.5))
    if degrees == 2:  # noqa: PLR2004 - the case with a formula of its own
        return (2 * probability - 1) / math.sqrt(2 * probability * (1 - probability))
    z = NormalDist().inv_cdf(probability)
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return float(z + sum(term / degrees**power for power, term in enumerate(terms, start=1)))


UsageByPrompt = Mapping[str, Usage]


@dataclass(frozen=True, slots=True)
class UsageRange:
    """Requests, tokens and cost, each with its interval."""

    requests: Annotated[Range, described("Attempts of requests to send.", digits=0)]
    prompt_tokens: Annotated[Range, described("Tokens of the requests.", digits=0)]
    completion_tokens: Annotated[Range, described("Tokens of the responses.", digits=0)]
    tokens: Annotated[Range, described("Tokens of both.", digits=0)]
    seconds: Range
    """Spent waiting for responses, summed over all requests."""
    cost: Annotated[
        Range | None, described("US dollars; null if the price of a model is unknown.", digits=6)
    ]

    def scaled(self, factor: float) -> "UsageRange":
        return self._each(self, lambda amount, _: amount * factor)

    def widened(self, completion_tokens: float, cost: float) -> "UsageRange":
        """Add half the interval of an error to both ends, in tokens of responses and US dollars."""
        return replace(
            self,
            completion_tokens=_widened(self.completion_tokens, completion_tokens),
            tokens=_widened(self.tokens, completion_tokens),
            cost=None if self.cost is None else _widened(self.cost, cost),
        )

    def down_to(self, least: "UsageRange") -> "UsageRange":
        """Return it with lower ends that are not above those of another one."""
        return self._each(least, _down_to)

    def _each(self, other: "UsageRange", combined: Callable[[Range, Range], Range]) -> "UsageRange":
        changed = {name: combined(getattr(self, name), getattr(other, name)) for name in _METRICS}
        cost = self.cost
        if cost is not None and other.cost is not None:
            cost = combined(cost, other.cost)
        return UsageRange(**changed, cost=cost)


NO_USAGE = UsageRange(*(exactly(0.0) for _ in range(6)))

_METRICS: Mapping[str, Callable[[Usage], float]] = {
    "requests": attrgetter("calls"),
    "prompt_tokens": attrgetter("prompt_tokens"),
    "completion_tokens": attrgetter("completion_tokens"),
    "tokens": attrgetter("tokens"),
    "seconds": attrgetter("seconds"),
}


def predict_usage(
    strata: Sequence[tuple[Sequence[UsageByPrompt], int]],
    known: Iterable[UsageByPrompt],
    prompt: str | None = None,
) -> UsageRange:
    """Return the usage of the turns that were not drawn plus the known one.

    Args:
        strata: what the drawn turns of each use, and how many turns they stand for.
        prompt: of the requests; None: all.
    """
    drawn = [([_select(one, prompt) for one in usages], others) for usages, others in strata]
    added = sum((_select(one, prompt) for one in known), Usage())

    def total(metric: Callable[[Usage], float]) -> Range:
        values = (StratumValues(tuple(map(metric, usages)), others) for usages, others in drawn)
        return predict(list(values), known=metric(added))

    ranges = {name: total(metric) for name, metric in _METRICS.items()}
    usages = [added, *(usage for of_stratum, _ in drawn for usage in of_stratum)]
    is_priced = all(usage.cost is not None for usage in usages)
    return UsageRange(**ranges, cost=total(_cost) if is_priced else None)


def minimum_usage(known: Iterable[UsageByPrompt], prompt: str | None = None) -> UsageRange:
    """Return the usage of which only a part is known, as lower bounds."""
    added = sum((_select(one, prompt) for one in known), Usage())
    ranges = {name: at_least(metric(added)) for name, metric in _METRICS.items()}
    return UsageRange(**ranges, cost=None if added.cost is None else at_least(added.cost))


def scaled(usage: Usage, factor: float) -> Usage:
    """Return a multiple of a usage, in whole requests and tokens."""
    return Usage(
        round(usage.calls * factor),
        round(usage.prompt_tokens * factor),
        round(usage.completion_tokens * factor),
        None if usage.cost is None else usage.cost * factor,
        round(usage.cached_tokens * factor),
        usage.seconds * factor,
    )


def prompts_of(usages: Iterable[UsageByPrompt]) -> list[str]:
    return sorted({prompt for usage in usages for prompt in usage})


def _widened(amount: Range, margin: float) -> Range:
    """Return the amount with an independent error added to its own."""
    if amount.high is None:
        return amount
    low = amount.expected - math.hypot(amount.expected - amount.low, margin)
    high = amount.expected + math.hypot(amount.high - amount.expected, margin)
    return Range(max(low, 0.0), amount.expected, high)


def _down_to(amount: Range, least: Range) -> Range:
    return Range(min(amount.low, least.low), amount.expected, amount.high)


def _select(usage: UsageByPrompt, prompt: str | None) -> Usage:
    if prompt is not None:
        return usage.get(prompt, Usage())
    return sum(usage.values(), Usage())


def _cost(usage: Usage) -> float:
    return usage.cost or 0.0
