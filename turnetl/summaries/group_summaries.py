"""The summaries of one group in memory: which of them a turn refreshes, and what it records.

Its cost for a turn depends on the entities that the turn touches, not on the size of the group.
"""

import heapq
from collections import ChainMap, Counter
from collections.abc import Iterable, Iterator, Mapping, MutableMapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from datetime import datetime

from turnetl.base.model import Change, Entity, Fact, description
from turnetl.summaries.gate import (
    EVERY_FACT,
    GateLimits,
    GateState,
    NodeDelta,
    after_turn,
    has_ended,
    may_flush,
    node_deltas,
    should_refresh,
    without_text,
)
from turnetl.summaries.group_facts import FactsAhead, FactsOfGroup, GroupFacts
from turnetl.summaries.port import SummaryInput
from turnetl.summaries.reasons import SKIPPED, GateReason
from turnetl.summaries.records import EntitySummary, add_record, encode, replay, with_flushed


@dataclass(frozen=True, slots=True)
class SummaryPlan:
    """What a turn does with the summaries of the entities that it touches."""

    decisions: Mapping[str, GateReason]
    """By uuid."""
    inputs: tuple[SummaryInput, ...]
    """Of those that are refreshed, sorted by uuid."""
    states: Mapping[str, GateState]
    """After the turn, by uuid."""
    deltas: Mapping[str, NodeDelta]
    """Of those that are refreshed, by uuid."""
    flushed: tuple[SummaryInput, ...] = ()
    """Of those that remain deferred, if the run ends with the turn; sorted by uuid."""


def outcome(
    plan: SummaryPlan, texts: Mapping[str, str], *, is_flushed: bool = True
) -> Mapping[GateReason, int]:
    """Return how many summaries a turn refreshed and kept, by reason, sorted.

    Args:
        is_flushed: whether all of `plan.flushed` were asked for; else those without a text do not
            count: they are asked for again when the run ends.
    """
    reasons = [
        GateReason.NO_TEXT if decision not in SKIPPED and uuid not in texts else decision
        for uuid, decision in plan.decisions.items()
    ]
    flushes = (given.entity.uuid in texts for given in plan.flushed)
    reasons += [
        GateReason.FLUSHED if has_text else GateReason.FLUSH_NO_TEXT
        for has_text in flushes
        if has_text or is_flushed
    ]
    return dict(sorted(Counter(reasons).items()))


_NOTHING = EntitySummary()
_NO_CHANGES: Mapping[str, int] = {}


class GroupSummaries:
    """Summaries and active facts of a group, with one writer. It never queries the database."""

    def __init__(
        self,
        entities: Iterable[Entity],
        facts: Iterable[Fact],
        records: Iterable[str],
        now: datetime | None,
        limits: GateLimits,
        *,
        unrecorded_until: datetime | None = None,
        embedder: str | None = None,
    ) -> None:
        """Start with a group as the graph holds it: facts oldest first, records by commit.

        Args:
            unrecorded_until: when the latest turn that records no summaries was committed; None if
                there is none. A summary of an entity that was created by then was not edited by
                hand, as long as no turn wrote it one: the extractor of that turn did.
        """
        self._limits = limits
        self._now = now
        self._entities: MutableMapping[str, Entity] = {one.uuid: one for one in entities}
        self._facts: FactsOfGroup = GroupFacts(facts, embedder)
        self._summaries: MutableMapping[str, EntitySummary] = replay(records)
        self._unrecorded_until = unrecorded_until
        self._deferred = {
            uuid for uuid, summary in self._summaries.items() if summary.state.deferred
        }
        # Those that wait for the end of a burst, by the latest turn about their entity; may hold
        # outdated entries.
        self._bursts = [
            (self._summaries[uuid].state.recent_turns[-1], uuid)
            for uuid in self._deferred
            if not self._summaries[uuid].state.pause
        ]
        heapq.heapify(self._bursts)

    def ahead(self) -> "GroupSummaries":
        """Return the same summaries, to which turns may be applied that are not committed.

        It may be used as long as the turns that are applied here are those that are applied there.
        """
        ahead = copy(self)
        ahead._run_ahead()  # noqa: SLF001 - of this class
        return ahead

    def plan(self, change: Change, at: datetime, *, ends_run: bool = False) -> SummaryPlan:
        """Decide about entities that a turn touches, and about ended bursts. Applies nothing.

        Args:
            ends_run: whether summaries that remain deferred are flushed with it.
        """
        now = at if self._now is None else max(self._now, at)
        changed = {entity.uuid: entity for entity in change.entities}
        touched = self._deltas(change, at)
        more = self._facts.degree_changes(change.facts)
        decisions, states, refreshed, inputs = {}, {}, {}, []
        for uuid, delta in sorted({**self._ended(now, change), **touched}.items()):
            entity = changed.get(uuid) or self._entities.get(uuid)
            if entity is None:  # another program removed it
                continue
            state, edited = self._known(uuid).state, self.is_edited(uuid)
            relabelled = entity.labels != self._entities.get(uuid, entity).labels
            decision = should_refresh(
                state, delta, now, self._limits, edited=edited, relabelled=relabelled
            )
            decisions[uuid] = decision
            states[uuid] = after_turn(state, delta, decision, now, self._limits)
            if decision not in SKIPPED:
                inputs.append(self._input(entity, change.facts, more, delta))
                refreshed[uuid] = delta
        plan = SummaryPlan(decisions, tuple(inputs), states, refreshed)
        if not ends_run:
            return plan
        flushed = [
            self._input(entity, change.facts, more, touched.get(entity.uuid))
            for entity in self._unwritten(states, changed)
        ]
        return replace(plan, flushed=tuple(flushed))

    def unwritten(self, *, all_deferred: bool = False) -> tuple[SummaryInput, ...]:
        """Return what to flush when no other turn follows, sorted by uuid.

        With `all_deferred` also those that wait for more turns because no text was returned.
        """
        deferred = self._unwritten({}, {}, all_deferred=all_deferred)
        return tuple(self._input(entity) for entity in deferred)

    def edited(self) -> tuple[SummaryInput, ...]:
        """Return what new summaries of those edited by hand are made of, sorted by uuid.

        Entities about which no turn records anything belong to other programs.
        """
        return tuple(
            # A new summary repeats what was recorded, not what someone wrote over it.
            replace(self._input(self._entities[uuid]), previous=known.text)
            for uuid, known in sorted(self._summaries.items())
            if self.is_edited(uuid)
        )

    def record(self, plan: SummaryPlan, texts: Mapping[str, str]) -> str:
        """Return the JSON that the turn records, with new and flushed texts by uuid.

        One that is missing is recorded as skipped: a later turn decides about it again.
        """
        summaries, refreshed_now = {}, {}
        for uuid, state in plan.states.items():
            known = self._known(uuid)
            if plan.decisions[uuid] in SKIPPED:
                summaries[uuid] = EntitySummary(state, known.text)
            elif uuid in texts:
                summaries[uuid] = EntitySummary(state, texts[uuid])
                refreshed_now[uuid] = "" if known.shown else self.summary(uuid) or ""
            else:
                kept = without_text(known.state, plan.deltas[uuid], self._limits)
                summaries[uuid] = EntitySummary(kept, known.text)
        flushed = {given.entity.uuid for given in plan.flushed} & texts.keys()
        record = encode(summaries, refreshed_now)
        return with_flushed(record, {uuid: texts[uuid] for uuid in flushed}) if flushed else record

    def apply(self, change: Change, record: str, at: datetime) -> None:
        self._now = at if self._now is None else max(self._now, at)
        self._entities.update({entity.uuid: entity for entity in change.entities})
        for fact in change.facts:
            self._facts.put(fact)
        self.apply_record(record)

    def apply_record(self, record: str) -> None:
        """Apply what a turn recorded, or what was flushed after it."""
        for uuid, before in add_record(self._summaries, record).items():
            summary = self._summaries[uuid]
            entity = self._entities.get(uuid)
            # An edited summary that was not refreshed stays.
            if entity is not None and summary.shown != before.shown:
                self._entities[uuid] = replace(entity, summary=summary.shown)
            self._deferred.discard(uuid)
            if summary.state.deferred:
                self._deferred.add(uuid)
                if not summary.state.pause:
                    heapq.heappush(self._bursts, (summary.state.recent_turns[-1], uuid))

    def is_edited(self, uuid: str) -> bool:
        """Return whether the entity has another summary than was written."""
        entity, known = self._entities.get(uuid), self._known(uuid)
        if entity is None or entity.summary in (known.shown, description(entity)):
            return False
        until = self._unrecorded_until
        return bool(known.shown) or until is None or entity.created_at > until

    def summary(self, uuid: str) -> str | None:
        """Return the summary that the entity has; None if the group does not hold it."""
        entity = self._entities.get(uuid)
        return None if entity is None else entity.summary

    def decided(self, entity: Entity) -> Entity:
        """Return an entity of the group with the summary that turns wrote, not the end of a run.

        A prompt that shows it does not depend on the number of runs.
        """
        known = self._summaries.get(entity.uuid)
        if known is None or known.flushed is None or entity.summary != known.flushed:
            return entity
        return replace(entity, summary=known.text)

    def _run_ahead(self) -> None:
        self._entities = ChainMap({}, self._entities)
        self._facts = FactsAhead(self._facts)
        self._summaries = ChainMap({}, self._summaries)
        self._deferred = set(self._deferred)
        self._bursts = list(self._bursts)

    def _deltas(self, change: Change, at: datetime) -> Mapping[str, NodeDelta]:
        return node_deltas(
            change.facts,
            change.facts_before,
            change.mentions,
            at,
            between=self._facts.active_between,
            active=lambda uuid: self._facts.active_after(uuid, change.facts),
        )

    def _ended(self, now: datetime, change: Change) -> dict[str, NodeDelta]:
        """Return empty deltas for the deferred entities whose burst ended before this turn."""
        found = {}
        while self._bursts and now - self._bursts[0][0] > self._limits.burst_window:
            last, uuid = heapq.heappop(self._bursts)
            state = self._summaries[uuid].state
            is_current = state.recent_turns[-1] == last and not self.is_edited(uuid)
            if is_current and has_ended(state, now, self._limits):
                active = self._facts.active_after(uuid, change.facts)
                found[uuid] = NodeDelta(uuid, last, (), (), (), active, touched=False)
        # The turn may fail: once it is applied, its entries are outdated.
        for uuid, delta in found.items():
            heapq.heappush(self._bursts, (delta.at, uuid))
        return found

    def _unwritten(
        self,
        states: Mapping[str, GateState],
        changed: Mapping[str, Entity],
        *,
        all_deferred: bool = False,
    ) -> Iterator[Entity]:
        """Yield the entities whose summary is deferred and not flushed after a turn."""
        for uuid in sorted(self._deferred | states.keys()):
            known = self._known(uuid)
            entity = changed.get(uuid) or self._entities.get(uuid)
            state = states.get(uuid, known.state)
            is_due = bool(state.deferred) if all_deferred else may_flush(state)
            is_flushed = known.is_flushed and uuid not in states
            if entity is not None and is_due and not is_flushed and not self.is_edited(uuid):
                yield entity

    def _input(
        self,
        entity: Entity,
        changed: Sequence[Fact] = (),
        degree_changes: Mapping[str, int] = _NO_CHANGES,
        delta: NodeDelta | None = None,
    ) -> SummaryInput:
        """Return what a summary of the entity is made of, after a turn, if it is touched by one."""
        known = self._known(entity.uuid)
        active = self._facts.active_about(entity.uuid, changed)
        facts_new = delta.facts_new if delta else ()
        new = frozenset((*known.state.pending, *(fact.uuid for fact in facts_new)))
        invalidated = delta.facts_invalidated if delta else ()
        ended = (*known.state.ended, *(fact.uuid for fact in invalidated))
        is_every = EVERY_FACT in new
        return SummaryInput(
            entity,
            # Not a flushed text: one run and ten give the model the same input.
            known.text if known.shown else entity.summary,
            active,
            frozenset(fact.uuid for fact in active) if is_every else new,
            self._facts.ended_about(entity.uuid, None if is_every else ended, changed),
            self._facts.degrees(active, degree_changes),
            known.state.failures,
        )

    def _known(self, uuid: str) -> EntitySummary:
        return self._summaries.get(uuid, _NOTHING)
