"""The summaries of a group, kept up to date with its turns, also ahead of them; and their audit."""

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache

import numpy as np

from turnetl.base import ids
from turnetl.base.errors import RunStopped
from turnetl.base.graph_model import GroupContents, Lease
from turnetl.base.model import (
    Change,
    Entity,
    Episode,
    SummaryWrites,
    TurnId,
    Usage,
    Vector,
    description,
)
from turnetl.graph.port import TurnStore
from turnetl.ingestion.commit import time_of
from turnetl.ingestion.ingest_run import IngestRun
from turnetl.ingestion.summarize_report import AuditedSummary, SummaryAudit
from turnetl.ingestion.undo import EmbedTexts
from turnetl.llm.vectors import unpack
from turnetl.summaries.gate import GateLimits
from turnetl.summaries.group_facts import GroupFacts
from turnetl.summaries.group_sagas import SagaTurn, sagas_of
from turnetl.summaries.group_summaries import GroupSummaries, outcome
from turnetl.summaries.port import Summarised, Summariser, SummaryInput
from turnetl.summaries.reasons import GateReason
from turnetl.summaries.records import EntityRecord, EntitySummary, decode, replay, with_flushed


class SummariesAhead:
    """Summarises turns as `TurnSummaries` does; the summaries of the group are not changed."""

    def __init__(self, group: GroupSummaries, summariser: Summariser) -> None:
        self._group = group.ahead()
        self._summariser = summariser

    async def summarise(self, change: Change) -> tuple[Change, Change]:
        """Return the next turn's change with its summaries, and as later turns see it."""
        plan = self._group.plan(change, time_of(change.episode))
        texts = (await self._summariser.summarise(plan.inputs)).all().texts
        decided = replace(change, summaries=self._group.record(plan, texts))
        return shown(decided, self._group, texts), with_texts(decided, texts)

    def apply(self, change: Change) -> None:
        """Apply a change of `summarise`, in the order of the turns."""
        self._group.apply(change, change.summaries, time_of(change.episode))


@dataclass(frozen=True, slots=True)
class Flush:
    """What the end of a run wrote to deferred summaries."""

    written: Summarised
    missing: int = 0
    """Summaries that were to be written and are still deferred."""

    @property
    def reasons(self) -> Mapping[GateReason, int]:
        """How many were written and how many were not, by reason; none is zero."""
        is_stopped = self.written.error is not None
        missing = GateReason.FLUSH_STOPPED if is_stopped else GateReason.FLUSH_NO_TEXT
        counts = {GateReason.FLUSHED: len(self.written.texts), missing: self.missing}
        return {reason: count for reason, count in counts.items() if count}


@dataclass(frozen=True, slots=True)
class SummarisedChange:
    """A change with the summaries that its turn writes, and why."""

    change: Change
    for_mirror: Change
    """The change as later turns of the run see it: without what the ends of runs wrote, so that no
    prompt depends on the number of runs."""
    reasons: Mapping[GateReason, int]
    """How many summaries were refreshed and kept, by reason."""


def with_texts(change: Change, texts: Mapping[str, str]) -> Change:
    """Return the change with new summaries by uuid, in its own entities and apart from them."""
    changed = {entity.uuid for entity in change.entities}
    return replace(
        change,
        entities=tuple(
            replace(entity, summary=texts.get(entity.uuid, entity.summary))
            for entity in change.entities
        ),
        summary_texts={uuid: text for uuid, text in texts.items() if uuid not in changed},
    )


def shown(change: Change, group: GroupSummaries, texts: Mapping[str, str]) -> Change:
    """Return the change with new summaries, else those that its entities have in the graph."""
    summaries = ((entity.uuid, group.summary(entity.uuid)) for entity in change.entities)
    known = {uuid: summary for uuid, summary in summaries if summary is not None}
    return with_texts(change, {**known, **texts})


@dataclass(frozen=True, slots=True)
class SummaryRules:
    """How a run summarises entities."""

    summariser: Summariser
    limits: GateLimits
    flushes: bool = True
    """Whether summaries that are still deferred are written at the end of the run."""

    def of_group(self, contents: GroupContents) -> "TurnSummaries":
        """Return the summaries of a group as the graph holds it, read under its lease."""
        return TurnSummaries(contents, self)


@dataclass(frozen=True, slots=True)
class DeferredEstimate:
    """Summaries that are still to be written."""

    count: int
    usage: Usage
    """If no response is in the journal."""
    kept: tuple[str, ...] = ()
    """Names of the entities whose summary was edited by hand and is not to be written, sorted."""


class TurnSummaries:
    """Summarises the turns of one group, in the order of their commits."""

    def __init__(self, contents: GroupContents, rules: SummaryRules) -> None:
        times = (receipt.started_at for receipt in contents.receipts)
        self._rules = rules
        self._group = GroupSummaries(
            contents.entities,
            contents.facts,
            contents.summaries.values(),
            max(times, default=None),
            rules.limits,
            unrecorded_until=_unrecorded_until(contents),
            embedder=_embedder(contents),
        )
        self._sagas = sagas_of(contents)
        # What a flush extends.
        self._latest = _latest_turn(contents)
        # Of the latest turn: the end of the run does not ask for them again.
        self._without_text: set[str] = set()

    def decided(self, contents: GroupContents) -> GroupContents:
        """Return the group with the summaries that turns wrote, without those of ends of runs."""
        return replace(contents, entities=tuple(map(self._group.decided, contents.entities)))

    def with_summariser(self, summariser: Summariser) -> "TurnSummaries":
        """Return a view of the same summaries that another summariser writes."""
        view = copy(self)
        view._rules = replace(self._rules, summariser=summariser)  # noqa: SLF001 - of this class
        return view

    def ahead(self) -> SummariesAhead:
        """Return the summaries of turns that are not committed."""
        return SummariesAhead(self._group, self._rules.summariser)

    async def summarise(self, change: Change, *, ends_run: bool) -> SummarisedChange:
        """Return the change, perhaps the last of its run, with its summaries. Applies nothing."""
        at = time_of(change.episode)
        plan = self._group.plan(change, at, ends_run=ends_run and self._rules.flushes)
        self._without_text.clear()
        written = (await self._summarise(plan.inputs)).all()
        flushed = await self._flushed(plan.flushed)
        texts = {**written.texts, **flushed.texts}
        decided = replace(
            change,
            summaries=self._group.record(plan, texts),
            usage=change.usage + written.usage + flushed.usage,
            saga_texts=self._sagas.after(_saga_turn(change.episode, at), change.facts),
        )
        return SummarisedChange(
            shown(decided, self._group, texts),
            with_texts(decided, written.texts),
            outcome(plan, texts, is_flushed=flushed.error is None),
        )

    def apply(self, change: Change) -> None:
        at = change.episode.turn.started_at
        if at is not None:
            self._group.apply(change, change.summaries, at)
            self._sagas.add(_saga_turn(change.episode, at), change.facts)
        self._latest = _LatestTurn(change.episode.turn_id, change.summaries, change.usage)

    def deferred(self, *, edited: bool = False) -> DeferredEstimate:
        """Return how many summaries are still deferred, with `edited` also those edited by hand."""
        inputs = self._due(all_deferred=True, edited=edited)
        due = {one.entity.uuid for one in inputs}
        kept = (one.entity for one in self._group.edited() if one.entity.uuid not in due)
        return DeferredEstimate(
            len(inputs),
            self._rules.summariser.estimate([one for one in inputs if self._is_told(one)]),
            tuple(sorted(entity.name for entity in kept)),
        )

    async def write_deferred(
        self,
        store: TurnStore,
        lease: Lease,
        run: IngestRun,
        *,
        all_deferred: bool = False,
        edited: bool = False,
    ) -> Flush:
        """Write the summaries that are still deferred after the last commit, if the run flushes.

        With `all_deferred` also those that wait for more turns because no text was returned, with
        `edited` also those that were edited by hand.
        """
        flush = await self._deferred_texts(all_deferred=all_deferred, edited=edited)
        written = flush.written
        if self._latest is not None and written.texts:
            latest = self._latest.flushed(written)
            writes = SummaryWrites(
                written.texts, {latest.turn: latest.record}, {latest.turn: latest.usage}
            )
            await run.repeat(
                lambda: store.write_summaries(lease, writes, now=run.clock(), ttl=run.lease_ttl)
            )
        return flush

    async def rehearse_deferred(self) -> None:
        """Request what `write_deferred` would write. Writes nothing."""
        (await self._deferred_texts()).written.all()

    async def _deferred_texts(self, *, all_deferred: bool = False, edited: bool = False) -> Flush:
        if not self._rules.flushes:
            return Flush(Summarised({}))
        due = self._due(all_deferred=all_deferred, edited=edited)
        asked = [
            one for one in due if one.entity.uuid not in self._without_text and self._is_told(one)
        ]
        written = await self._summarise(asked)
        # As if nobody had edited them: they had their description until there are facts.
        described = {
            one.entity.uuid: description(one.entity) for one in due if not self._is_told(one)
        }
        missing = len(asked) - len(written.texts)
        return Flush(replace(written, texts={**written.texts, **described}), missing)

    def _due(self, *, all_deferred: bool, edited: bool) -> Sequence[SummaryInput]:
        """Return what deferred summaries are made of, and edited ones if something is known."""
        deferred = self._group.unwritten(all_deferred=all_deferred)
        if not edited:
            return deferred
        known = (
            one for one in self._group.edited() if self._is_told(one) or description(one.entity)
        )
        return [*deferred, *known]

    def _is_told(self, given: SummaryInput) -> bool:
        """Return whether there is more to tell than the description of an edited entity."""
        return bool(given.facts or given.previous) or not self._group.is_edited(given.entity.uuid)

    async def _flushed(self, inputs: Sequence[SummaryInput]) -> Summarised:
        """Return what the budget covers: the turn is paid for, and committed without the others."""
        flushed = await self._summarise(inputs)
        return flushed if isinstance(flushed.error, RunStopped) else flushed.all()

    async def _summarise(self, inputs: Sequence[SummaryInput]) -> Summarised:
        written = await self._rules.summariser.summarise(inputs)
        if written.error is not None:
            return written
        self._without_text |= {one.entity.uuid for one in inputs}
        self._without_text -= written.texts.keys()
        return written


@dataclass(frozen=True, slots=True)
class _LatestTurn:
    """The turn that was committed last."""

    turn: TurnId
    record: str
    """What it records about summaries."""
    usage: Usage

    def flushed(self, written: Summarised) -> "_LatestTurn":
        record = with_flushed(self.record, written.texts)
        return replace(self, record=record, usage=self.usage + written.usage)


def _latest_turn(contents: GroupContents) -> _LatestTurn | None:
    latest = next(reversed([*contents.summaries.items()]), None)
    if latest is None:
        return None
    of_turn = (one.usage for one in contents.receipts if one.turn_id == latest[0])
    return _LatestTurn(*latest, next(of_turn))


def _embedder(contents: GroupContents) -> str | None:
    """Return the digest of the name of what made the vectors of the group, if it is known."""
    return ids.digest(contents.profile.embedder)[:8] if contents.profile is not None else None


def _unrecorded_until(contents: GroupContents) -> datetime | None:
    """Return when the latest turn that records no summaries was committed, if there is one."""
    summaries = contents.summaries
    unrecorded = (one for one in contents.receipts if not summaries.get(one.turn_id))
    return max((receipt.committed_at for receipt in unrecorded), default=None)


def _saga_turn(episode: Episode, at: datetime) -> SagaTurn:
    # As the graph returns the text, which is split there.
    text = "\n\n".join(episode.chunks)
    return _parsed_turn(episode.turn_id, episode.turn.session_id, at, text)


# A turn is parsed for its commit, and needed again when it is applied.
_parsed_turn = lru_cache(maxsize=16)(SagaTurn.of_text)


async def audit_summaries(
    kept: Sequence[SummaryInput], summariser: Summariser, embed: EmbedTexts
) -> SummaryAudit:
    """Compare kept summaries with new ones, by vectors of length 1. Writes nothing."""
    fresh = (await summariser.summarise(kept)).all().texts
    pairs = [
        (one.entity.name, one.entity.summary, fresh[one.entity.uuid])
        for one in kept
        if one.entity.uuid in fresh
    ]
    if not pairs:
        return SummaryAudit()
    vectors = await embed([*(old for _, old, _ in pairs), *(new for *_, new in pairs)])
    cosines = map(_cosine, vectors[: len(pairs)], vectors[len(pairs) :])
    audited = [
        AuditedSummary(name, old, new, cosine, missing_facts(old, new))
        for (name, old, new), cosine in zip(pairs, cosines, strict=True)
    ]
    return SummaryAudit(tuple(sorted(audited, key=lambda one: (one.cosine, one.entity))))


def _cosine(one: Vector, other: Vector) -> float:
    return float(np.dot(unpack(one), unpack(other)))


def kept_summaries(contents: GroupContents, limit: int) -> tuple[SummaryInput, ...]:
    """Return what new summaries of a sample of entities would be made of, sorted by uuid.

    The latest turn about each of them kept its summary and did not defer it, and nobody edited it.
    Uuids are digests, so that those that sort first are a sample.
    """
    latest = _latest_decisions(contents)
    summaries = replay(contents.summaries.values())
    sample = [
        entity
        for entity in sorted(contents.entities, key=lambda one: one.uuid)
        if entity.summary
        and _is_kept(latest.get(entity.uuid))
        and entity.summary == summaries[entity.uuid].shown
    ][:limit]
    facts = GroupFacts(contents.facts)
    return tuple(_input(entity, summaries[entity.uuid], facts) for entity in sample)


def missing_facts(kept: str, fresh: str) -> int:
    """Return how many lines about facts only the new summary has.

    The first line is none of them: it is a heading, the oldest fact, which both have, or what a
    model wrote.
    """
    return len(set(fresh.splitlines()[1:]) - set(kept.splitlines()))


def _input(entity: Entity, summary: EntitySummary, facts: GroupFacts) -> SummaryInput:
    active = facts.active_about(entity.uuid)
    new = frozenset(summary.state.pending)
    return SummaryInput(entity, summary.text, active, new, (), facts.degrees(active, {}))


def _latest_decisions(contents: GroupContents) -> Mapping[str, EntityRecord]:
    return {
        record.entity: record
        for of_turn in contents.summaries.values()
        for record in decode(of_turn)
        if record.flushed is None
    }


def _is_kept(record: EntityRecord | None) -> bool:
    return record is not None and record.refresh is None and not record.deferred
