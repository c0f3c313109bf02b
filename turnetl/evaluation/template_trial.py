"""A sample of turns extracted and resolved with two templates, each into a shadow group in memory.

A shadow group starts empty and is never written anywhere: when the process ends, however it ends,
nothing of it is left. Its turns are resolved oldest first, so that entities and facts are matched
with those of the turns before, as an ingest matches them.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any

from turnetl.base.errors import BadTurn, RunStopped
from turnetl.base.model import Entity, Episode, Fact, GroupId, TurnId, Usage
from turnetl.base.result_fields import TurnIdField
from turnetl.base.results import described
from turnetl.estimation.sample import PendingTurn, draw, stratify
from turnetl.extraction.port import DiscardReason, Extractor
from turnetl.graph.mirror.group import empty_contents
from turnetl.ingestion.admission import PrefetchedTurn, TurnAdmission, prefetch_turns
from turnetl.ingestion.commit import (
    MirroredGroup,
    ResolvedTurn,
    as_bad_turn,
    resolve_turn,
)
from turnetl.ingestion.turn_summaries import SummaryRules
from turnetl.llm.costs import charged_to
from turnetl.llm.embedders import Embedder

_RUN_ID = "comparison"
"""Of receipts that are never written."""
_SIDES = 2

TrialTurn = tuple[Episode, Sequence[Episode]]
"""A turn as one template renders it, and the turns of its context."""


@dataclass(frozen=True, slots=True)
class TrialResources:
    """What a trial uses; opened and closed by the caller."""

    extractors: tuple[Extractor[Any], Extractor[Any]]
    """Of both templates, over the same model."""
    embedder: Embedder
    summaries: SummaryRules
    admission: TurnAdmission
    """With the budget of the comparison."""
    clock: Callable[[], datetime]
    prefetch: int
    """Turns that may be extracted at the same time."""


@dataclass(frozen=True, slots=True)
class FailedTurn:
    """A turn that cannot be ingested with a template."""

    turn_id: TurnIdField
    reason: Annotated[str, described("Why.")]


@dataclass
class TrialSide:
    """What one template made of the turns."""

    entities: tuple[Entity, ...] = ()
    """In the order in which they were created."""
    facts: tuple[Fact, ...] = ()
    """The same, invalidated ones included."""
    discarded: Counter[DiscardReason] = field(default_factory=Counter)
    failed: list[FailedTurn] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    """Of all responses that the turns need, whenever they were paid for."""


@dataclass
class TrialResult:
    """What both templates made of the turns that both could ingest."""

    sides: tuple[TrialSide, TrialSide] = field(default_factory=lambda: (TrialSide(), TrialSide()))
    turns: list[Episode] = field(default_factory=list)
    """The compared turns as the first template renders them, oldest first."""
    stopped: RunStopped | None = None
    """Why the trial ended early."""


class TemplateTrial:
    """Runs the turns of one group through both templates. Writes nothing."""

    def __init__(self, resources: TrialResources, group: GroupId) -> None:
        self._resources = resources
        empty = empty_contents(group)
        self._groups = [MirroredGroup.of(empty, resources.summaries) for _ in range(_SIDES)]
        self.result = TrialResult()

    async def run(
        self, turns: Sequence[tuple[TrialTurn, TrialTurn]], progress: Callable[[int], None]
    ) -> TrialResult:
        """Extract and resolve the turns, oldest first, up to the budget.

        A turn that one template cannot ingest, or that the budget does not cover, is part of
        neither side.
        """
        renderings = {first[0].turn_id: (first, second) for first, second in turns}

        async def extract(episode: Episode, _: Sequence[Episode]) -> list[Any]:
            return await self._extract(renderings[episode.turn_id])

        prefetched = prefetch_turns(
            _longest(turns),
            extract,
            limit=self._resources.prefetch,
            admission=self._resources.admission,
        )
        done = 0
        try:
            async with aclosing(prefetched):
                async for turn in prefetched:
                    await self._take(turn, renderings[turn.episode.turn_id])
                    done += 1
                    progress(done)
        except RunStopped as error:
            self.result.stopped = error
        for side, group in zip(self.result.sides, self._groups, strict=True):
            side.entities, side.facts = tuple(group.mirror.entities), tuple(group.mirror.facts)
        return self.result

    async def _extract(self, renderings: tuple[TrialTurn, TrialTurn]) -> list[Any]:
        """Return what each template extracts from a turn, or why it cannot."""

        async def attempt(extractor: Extractor[Any], turn: TrialTurn) -> Any:
            episode, context = turn
            try:
                with as_bad_turn(episode):
                    return await extractor.extract(episode, context)
            except BadTurn as error:
                return error

        pairs = zip(self._resources.extractors, renderings, strict=True)
        tasks = [asyncio.ensure_future(attempt(*pair)) for pair in pairs]
        try:
            return await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()

    async def _take(self, turn: PrefetchedTurn, renderings: tuple[TrialTurn, TrialTurn]) -> None:
        """Resolve a turn on both sides, and apply it to both groups, or to none."""
        with turn.admitted, charged_to(turn.admitted.account):
            extracted = await turn.extraction
            resolved = [
                await self._resolve(side, renderings[side][0], extracted[side])
                for side in range(_SIDES)
            ]
            turn.admitted.commit(
                sum((one.change.usage for one in resolved if one is not None), Usage())
            )
        if any(one is None for one in resolved):
            return
        self.result.turns.append(renderings[0][0])
        for side, one in enumerate(resolved):
            if one is not None:
                self._apply(side, one)

    async def _resolve(self, side: int, episode: Episode, extracted: Any) -> ResolvedTurn | None:
        """Return the turn as a template would commit it; None if it cannot be ingested."""
        resources = self._resources
        try:
            if isinstance(extracted, BadTurn):
                raise extracted
            return await resolve_turn(
                resources.extractors[side],
                resources.embedder,
                episode,
                extracted,
                self._groups[side],
                run_id=_RUN_ID,
                now=resources.clock(),
            )
        except BadTurn as error:
            failed = FailedTurn(episode.turn_id, str(error))
            self.result.sides[side].failed.append(failed)
            return None

    def _apply(self, side: int, resolved: ResolvedTurn) -> None:
        result = self.result.sides[side]
        result.usage += resolved.change.usage
        result.discarded.update(resolved.resolved.discarded)
        self._groups[side].apply(resolved)


def _longest(
    turns: Sequence[tuple[TrialTurn, TrialTurn]],
) -> Iterator[tuple[Episode, Sequence[Episode]]]:
    """Yield each turn in its longer rendering: the admission expects the cost by the length."""
    for first, second in turns:
        yield max(first, second, key=lambda turn: len(turn[0].text))


def sample_turns(
    turns: Mapping[str, Sequence[PendingTurn]],
    size: int,
    *,
    seed: int,
    first: Collection[TurnId] = (),
) -> frozenset[TurnId]:
    """Return a sample of the turns of all kinds, those of `first` before all others.

    Each kind has its share, with short and long turns. Equal arguments give an equal sample.
    """
    chosen = sorted(turn.turn_id for of_kind in turns.values() for turn in of_kind)
    preferred = [turn for turn in chosen if turn in first][:size]
    rest = {
        kind: [turn for turn in of_kind if turn.turn_id not in preferred]
        for kind, of_kind in sorted(turns.items())
    }
    quotas = _quotas({kind: len(of_kind) for kind, of_kind in rest.items()}, size - len(preferred))
    drawn = [
        turn.turn_id
        for kind, quota in quotas.items()
        for turn in draw(stratify(rest[kind], quota), quota, seed=seed)
    ]
    return frozenset((*preferred, *drawn))


def _quotas(counts: Mapping[str, int], size: int) -> dict[str, int]:
    """Divide a sample among kinds by their counts; as many kinds as possible get one turn."""
    quotas = dict.fromkeys(counts, 0)
    total = sum(counts.values())
    for _ in range(min(size, total)):
        # The kind that is furthest below its share; one without any turn comes first.
        open_kinds = [kind for kind, count in counts.items() if quotas[kind] < count]
        kind = min(
            open_kinds,
            key=lambda one: (quotas[one] > 0, (quotas[one] + 0.5) / counts[one], one),
        )
        quotas[kind] += 1
    return quotas
