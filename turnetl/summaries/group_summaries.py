"""The summaries of one group in memory: which of them a turn refreshes, and what it records.

Its cost for a turn depends on the entities that the turn touches, not on the size of the group.
"""

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from turnetl.model import Change, Entity, Fact
from turnetl.summaries.active_facts import ActiveFacts, ActiveFactSet
from turnetl.summaries.delta import NodeDelta, node_deltas
from turnetl.summaries.gate import (
    Decision,
    GateLimits,
    GateState,
    after_turn,
    has_ended,
    refreshed,
    should_refresh,
)
from turnetl.summaries.reasons import GateReason
from turnetl.summaries.records import (
    EntitySummary,
    add_record,
    encode,
    replay,
    with_flushed,
)
from turnetl.summaries.summary_input import SummaryInput


@dataclass(frozen=True, slots=True)
class SummaryPlan:
    """What a turn does with the summaries of the entities that it touches."""

    decisions: Mapping[str, Decision]
    """By uuid."""
    inputs: tuple[SummaryInput, ...]
    """Of those that are refreshed, sorted by uuid."""
    states: Mapping[str, GateState]
    """After the turn, by uuid."""
    flushed: tuple[SummaryInput, ...] = ()
    """Of those that remain deferred, if the run ends with the turn; sorted by uuid."""


class GroupSummaries:
    """Summaries and active facts of a group, with one writer. It never queries the database."""

    def __init__(
        self,
        entities: Iterable[Entity],
        facts: Iterable[Fact],
        records: Iterable[str],
        now: datetime | None,
        limits: GateLimits,
    ) -> None:
        """Start with a group as the graph holds it.

        Args:
            entities: all entities.
            facts: all facts, oldest first.
            records: of all turns, in the order of the commits.
            now: the latest reference time of the turns; None if there are none.
            limits: of the gate.
        """
        self._limits = limits
        self._now = now
        self._entities = {entity.uuid: entity for entity in entities}
        self._facts: dict[str, Fact] = {}
        self._facts_of: dict[str, dict[str, None]] = {}
        self._active: dict[str, ActiveFactSet] = {}
        self._summaries = replay(records)
        for fact in facts:
            self._put(fact)
        # Deferred summaries by the latest turn about their entity; may hold outdated entries.
        self._deferred = [
            (summary.state.recent_turns[-1], uuid)
            for uuid, summary in self._summaries.items()
            if summary.state.deferred
        ]
        heapq.heapify(self._deferred)

    def plan(self, change: Change, at: datetime, *, ends_run: bool = False) -> SummaryPlan:
        """Decide about the entities that a turn touches, and about bursts that have ended.

        Args:
            change: what the turn changes; it is not applied.
            at: the turn's reference time.
            ends_run: whether summaries that remain deferred are flushed with it.
        """
        now = at if self._now is None else max(self._now, at)
        changed = {entity.uuid: entity for entity in change.entities}
        touched = self._deltas(change, at)
        decisions, states, inputs = {}, {}, []
        for uuid, delta in sorted({**self._ended(now, change), **touched}.items()):
            entity = changed.get(uuid) or self._entities.get(uuid)
            if entity is None:  # another program removed it
                continue
            known = self._summaries.get(uuid, EntitySummary())
            edited = self.is_edited(uuid)
            decision = should_refresh(known.state, delta, now, self._limits, edited=edited)
            decisions[uuid] = decision
            states[uuid] = (
                after_turn(known.state, delta, decision, now, self._limits)
                if uuid in touched or not decision.refresh
                else refreshed(known.state, delta.active, now)
            )
            if decision.refresh:
                inputs.append(self._input(entity, change, delta))
        plan = SummaryPlan(decisions, tuple(inputs), states)
        if not ends_run:
            return plan
        flushed = [
            self._input(entity, change, touched.get(entity.uuid))
            for entity in self._unwritten(states, changed)
        ]
        return replace(plan, flushed=tuple(flushed))

    def unwritten(self) -> tuple[SummaryInput, ...]:
        """Return what to flush when no other turn follows, sorted by uuid."""
        return tuple(self._input(entity) for entity in self._unwritten({}, {}))

    def record(self, plan: SummaryPlan, texts: Mapping[str, str]) -> str:
        """Return the JSON that the turn records.

        Args:
            plan: of `plan`.
            texts: the new summaries, also the flushed ones. One that is missing is recorded as
                skipped: the next turn decides about it again.
        """
        summaries, refreshed_now = {}, []
        for uuid, state in plan.states.items():
            known = self._summaries.get(uuid, EntitySummary())
            if not plan.decisions[uuid].refresh:
                summaries[uuid] = EntitySummary(state, known.text)
            elif uuid in texts:
                summaries[uuid] = EntitySummary(state, texts[uuid])
                refreshed_now.append(uuid)
            else:
                summaries[uuid] = EntitySummary(known.state, known.text)
        flushed = {given.entity.uuid for given in plan.flushed} & texts.keys()
        record = encode(summaries, refreshed_now)
        return with_flushed(record, {uuid: texts[uuid] for uuid in flushed}) if flushed else record

    def apply(self, change: Change, record: str, at: datetime) -> None:
        """Apply a committed change and its record."""
        self._now = at if self._now is None else max(self._now, at)
        self._entities |= {entity.uuid: entity for entity in change.entities}
        for fact in change.facts:
            self._put(fact)
        self.apply_record(record)

    def apply_record(self, record: str) -> None:
        """Apply what a turn recorded, or what was flushed after it."""
        for uuid, before in add_record(self._summaries, record).items():
            summary = self._summaries[uuid]
            entity = self._entities.get(uuid)
            # An edited summary that was not refreshed stays.
            if entity is not None and summary.shown != before.shown:
                self._entities[uuid] = replace(entity, summary=summary.shown)
            if summary.state.deferred:
                heapq.heappush(self._deferred, (summary.state.recent_turns[-1], uuid))

    def is_edited(self, uuid: str) -> bool:
        """Return whether the entity has another summary than was written."""
        entity = self._entities.get(uuid)
        if entity is None:
            return False
        return entity.summary != self._summaries.get(uuid, EntitySummary()).shown

    def _deltas(self, change: Change, at: datetime) -> Mapping[str, NodeDelta]:
        return node_deltas(
            change.facts,
            change.facts_before,
            change.mentions,
            at,
            between=self._between,
            active=lambda uuid: self._active_after(uuid, change),
        )

    def _ended(self, now: datetime, change: Change) -> dict[str, NodeDelta]:
        """Return empty deltas for the deferred entities whose burst ended before this turn."""
        found = {}
        while self._deferred and now - self._deferred[0][0] > self._limits.burst_window:
            last, uuid = heapq.heappop(self._deferred)
            state = self._summaries[uuid].state
            if has_ended(state, now, self._limits) and state.recent_turns[-1] == last:
                found[uuid] = NodeDelta(uuid, last, (), (), (), self._active_after(uuid, change))
        # The turn may fail: once it is applied, its entries are outdated.
        for uuid, delta in found.items():
            heapq.heappush(self._deferred, (delta.at, uuid))
        return found

    def _unwritten(
        self, states: Mapping[str, GateState], changed: Mapping[str, Entity]
    ) -> Iterator[Entity]:
        """Yield the entities whose summary is deferred and not flushed, after a turn.

        Args:
            states: after the turn, of those that it touches.
            changed: the entities that the turn changes, by uuid.
        """
        for uuid in sorted({uuid for _, uuid in self._deferred} | states.keys()):
            known = self._summaries.get(uuid, EntitySummary())
            entity = changed.get(uuid) or self._entities.get(uuid)
            is_deferred = bool(states.get(uuid, known.state).deferred)
            is_due = is_deferred and not (known.is_flushed and uuid not in states)
            if entity is not None and is_due and not self.is_edited(uuid):
                yield entity

    def _input(
        self, entity: Entity, change: Change | None = None, delta: NodeDelta | None = None
    ) -> SummaryInput:
        """Return what a summary of the entity is made of, after a turn, if it is touched by one."""
        known = self._summaries.get(entity.uuid, EntitySummary())
        facts = {uuid: self._facts[uuid] for uuid in self._facts_of.get(entity.uuid, ())}
        facts |= {fact.uuid: fact for fact in (change.facts if change else ())}
        about = [fact for fact in facts.values() if _is_about(fact, entity.uuid)]
        # As a later run loads them.
        about.sort(key=lambda fact: (fact.created_at, fact.uuid))
        new = (fact.uuid for fact in (delta.facts_new if delta else ()))
        return SummaryInput(
            entity,
            known.text,
            tuple(fact for fact in about if fact.invalid_at is None),
            frozenset((*known.state.pending, *new)),
            delta.facts_invalidated if delta else (),
        )

    def _active_after(self, uuid: str, change: Change) -> ActiveFacts:
        """Return the active facts of an entity after the change, which is not applied."""
        active = self._active_set(uuid)
        held = self._facts_of.get(uuid, {})
        changed = [fact for fact in change.facts if fact.uuid in held or _is_about(fact, uuid)]
        for fact in changed:
            _put_if_about(active, fact, uuid)
        found = active.now()
        for fact in changed:
            active.discard(fact.uuid)
            if fact.uuid in held:
                active.put(self._facts[fact.uuid])
        return found

    def _active_set(self, uuid: str) -> ActiveFactSet:
        if uuid not in self._active:
            of_entity = self._facts_of.get(uuid, ())
            self._active[uuid] = ActiveFactSet(self._facts[fact] for fact in of_entity)
        return self._active[uuid]

    def _between(self, one: str, other: str) -> Iterator[Fact]:
        """Yield the active facts about two entities."""
        fewer, more = sorted((one, other), key=lambda uuid: len(self._facts_of.get(uuid, ())))
        for uuid in self._facts_of.get(fewer, ()):
            fact = self._facts[uuid]
            if fact.invalid_at is None and _is_about(fact, more):
                yield fact

    def _put(self, fact: Fact) -> None:
        before = self._facts.get(fact.uuid, fact)
        for uuid in {before.source, before.target} - {fact.source, fact.target}:
            self._facts_of[uuid].pop(fact.uuid, None)
            if uuid in self._active:
                self._active[uuid].discard(fact.uuid)
        self._facts[fact.uuid] = fact
        for uuid in (fact.source, fact.target):
            self._facts_of.setdefault(uuid, {})[fact.uuid] = None
            if uuid in self._active:
                self._active[uuid].put(fact)


def outcome(plan: SummaryPlan, texts: Mapping[str, str]) -> Mapping[GateReason, int]:
    """Return how many summaries a turn refreshed and kept, by reason, sorted.

    Args:
        plan: of the turn.
        texts: the new summaries, also the flushed ones.
    """
    reasons = [
        GateReason.NO_TEXT if decision.refresh and uuid not in texts else decision.reason
        for uuid, decision in plan.decisions.items()
    ]
    reasons += [GateReason.FLUSHED for given in plan.flushed if given.entity.uuid in texts]
    return dict(sorted(Counter(reasons).items()))


def _put_if_about(active: ActiveFactSet, fact: Fact, uuid: str) -> None:
    if _is_about(fact, uuid):
        active.put(fact)
    else:
        active.discard(fact.uuid)


def _is_about(fact: Fact, uuid: str) -> bool:
    return uuid in (fact.source, fact.target)
