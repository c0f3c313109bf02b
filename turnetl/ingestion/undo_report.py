"""Reports of an undo: what it takes, what it changes, and what was done."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Annotated, Any, Generic, TypeVar

import msgspec

from turnetl.base.clock import encoded_time
from turnetl.base.exit_code import ExitCode
from turnetl.base.graph_model import CommitRecord, Receipt, Reversal
from turnetl.base.model import ID_CHARS, Entity, Fact, SummaryWrites, TurnId, description
from turnetl.base.result_fields import GroupField, PromptField, ShortTurnIdField
from turnetl.base.results import INLINED, described
from turnetl.ingestion.quarantine import QuarantineEntry
from turnetl.ingestion.undo_plan import TurnToUndo
from turnetl.summaries.records import RecordedSummaries

V = TypeVar("V", Entity, Fact)
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class ValueChange:
    """A field of an entity or a fact that is restored, with its values as texts."""

    field: Annotated[str, described("Name of the field.")]
    now: Annotated[str | None, described("Value before the undo; null if there is none.")]
    restored: Annotated[str | None, described("Value after the undo; null if there is none.")]


@dataclass(frozen=True, slots=True)
class Restored(Generic[V]):
    """An entity or a fact before and after the undo."""

    now: V
    restored: V

    @property
    def changes(self) -> Annotated[list[ValueChange], described("The fields that change.")]:
        names = (field.name for field in fields(self.now))
        values = ((name, getattr(self.now, name), getattr(self.restored, name)) for name in names)
        return [
            ValueChange(name, _text(now), _text(restored))
            for name, now, restored in values
            if now != restored
        ]


@dataclass(frozen=True, slots=True)
class RestoredEntity(Restored[Entity]):
    """An entity that becomes as it was before the undone turns."""

    restored: Annotated[Entity, INLINED]


@dataclass(frozen=True, slots=True)
class RestoredFact(Restored[Fact]):
    """A fact that becomes as it was before the undone turns."""

    restored: Annotated[Fact, described("The fact as it is restored.", name="fact")]


@dataclass(frozen=True, slots=True)
class UndoDiff:
    """What an undo changes in a group, turns aside. Without embeddings; by order of creation."""

    entities_removed: Annotated[tuple[Entity, ...], described("Entities that go.")]
    entities_restored: Annotated[tuple[RestoredEntity, ...], described("Entities that change.")]
    facts_removed: Annotated[tuple[Fact, ...], described("Facts that go.")]
    facts_restored: Annotated[tuple[RestoredFact, ...], described("Facts that change.")]


class UndoState:
    """Entities and facts by uuid. It has one user, which undoes one turn after another."""

    def __init__(
        self, entities: Iterable[Entity], facts: Iterable[Fact], summaries: RecordedSummaries
    ) -> None:
        """Start with the present state of at least what `touched_by_undo` names.

        The records may be shared by states of turns that are undone one after the other.
        """
        self._summaries = summaries
        self.entities = {entity.uuid: entity for entity in entities}
        self.facts = {fact.uuid: fact for fact in facts}

    def undo(self, turn: TurnToUndo) -> Reversal:
        """Undo the turn here, and return what the graph must do.

        What the graph no longer holds is left out: another program removed it. An entity or a fact
        whose name or text is restored has no embedding: that of today is not its own.
        """
        record = turn.record
        key = record.receipt.turn_id
        kept = [uuid for uuid in record.facts_new if self._is_stated_elsewhere(uuid, key)]
        restated = {*turn.restated, *kept}
        facts = [
            replace(self.facts[uuid], turns=_others(self.facts[uuid], key))
            for uuid in sorted(restated & self.facts.keys())
        ]
        facts += [
            _fact(before, self.facts[before.uuid], key)
            for before in record.facts_before
            if before.uuid in self.facts and before.uuid not in restated
        ]
        entities = [
            _entity(before, self.entities[before.uuid], has_summary=not record.summaries)
            for before in record.entities_before
            if before.uuid in self.entities
        ]
        reversal = Reversal(
            receipt=record.receipt,
            entities_removed=tuple(uuid for uuid in record.entities_new if uuid in self.entities),
            facts_removed=tuple(
                uuid for uuid in record.facts_new if uuid in self.facts and uuid not in restated
            ),
            entities_restored=tuple(entities),
            facts_restored=tuple(facts),
            summaries=self._undo_summaries(record, entities),
        )
        self._apply(reversal)
        return reversal

    def _undo_summaries(self, record: CommitRecord, restored: Iterable[Entity]) -> SummaryWrites:
        """Undo what the turn records about summaries. One that someone edited stays.

        Without one before it, an entity has its description again.
        """
        now = self.entities | {entity.uuid: entity for entity in restored}
        changed = [entity.uuid for entity in record.entities_before]
        undone = self._summaries.undo(record.receipt.turn_id, record.entities_new, changed)
        texts = {
            uuid: after or description(now[uuid])
            for uuid, (before, after) in undone.texts.items()
            if uuid in self.entities and self.entities[uuid].summary == before != after
        }
        return SummaryWrites(texts, undone.records)

    def _is_stated_elsewhere(self, uuid: str, turn: TurnId) -> bool:
        """Return whether another program's episode states a fact that the turn created."""
        fact = self.facts.get(uuid)
        return fact is not None and any(other != turn for other in fact.turns)

    def _apply(self, reversal: Reversal) -> None:
        for uuid in reversal.entities_removed:
            del self.entities[uuid]
        for uuid in reversal.facts_removed:
            del self.facts[uuid]
        self.entities |= {entity.uuid: entity for entity in reversal.entities_restored}
        for uuid, text in reversal.summaries.texts.items():
            if uuid in self.entities:
                self.entities[uuid] = replace(self.entities[uuid], summary=text)
        self.facts |= {fact.uuid: fact for fact in reversal.facts_restored}


def touched_by_undo(
    turns: Sequence[TurnToUndo], summaries: RecordedSummaries
) -> tuple[list[str], list[str]]:
    """Return the uuids of entities and facts that the turns created, changed or summarised."""
    entities = summaries.entities(turn.record.receipt.turn_id for turn in turns)
    facts: set[str] = set()
    for turn in turns:
        record = turn.record
        entities.update(record.entities_new, (entity.uuid for entity in record.entities_before))
        facts.update(record.facts_new, (fact.uuid for fact in record.facts_before))
    return sorted(entities), sorted(facts)


def undo_diff(
    entities: Mapping[str, Entity], facts: Mapping[str, Fact], state: UndoState
) -> UndoDiff:
    """Return what an undo changes, of entities and facts by uuid, without embeddings."""
    removed_entities, restored_entities = _differences(entities, state.entities, RestoredEntity)
    removed_facts, restored_facts = _differences(facts, state.facts, RestoredFact)
    return UndoDiff(removed_entities, restored_entities, removed_facts, restored_facts)


def _differences(
    before: Mapping[str, V], after: Mapping[str, V], restored: Callable[[V, V], R]
) -> tuple[tuple[V, ...], tuple[R, ...]]:
    ordered = sorted(before.values(), key=lambda value: (value.created_at, value.uuid))
    kept = [value for value in ordered if value.uuid in after]
    removed = tuple(value for value in ordered if value.uuid not in after)
    changed = (value for value in kept if value != after[value.uuid])
    return removed, tuple(restored(value, after[value.uuid]) for value in changed)


def _entity(before: Entity, now: Entity, *, has_summary: bool) -> Entity:
    return replace(
        before,
        embedding=now.embedding if before.name == now.name else None,
        summary=before.summary if has_summary else now.summary,
    )


def _fact(before: Fact, now: Fact, turn: TurnId) -> Fact:
    embedding = now.embedding if before.text == now.text else None
    # Turns that were added or undone since do not contradict the turn: only it goes.
    return replace(before, turns=_others(now, turn), embedding=embedding)


def _others(fact: Fact, turn: TurnId) -> tuple[TurnId, ...]:
    return tuple(other for other in fact.turns if other != turn)


def _text(value: Any) -> str | None:
    match value:
        case None:
            return None
        case datetime():
            return encoded_time(value)
        case tuple():
            return ", ".join(value)
        case Mapping():
            return msgspec.json.encode(dict(value), order="sorted").decode()
        case _:
            return str(value)


@dataclass(frozen=True, slots=True)
class UndoneTurn:
    """A turn that an undo takes, or that depends on one."""

    receipt: Annotated[Receipt, INLINED]
    prompt: PromptField

    @property
    def id(self) -> ShortTurnIdField:
        return self.receipt.turn_id[:ID_CHARS]


@dataclass(frozen=True, slots=True)
class GroupUndo:
    """The undo of the turns of one group."""

    group: GroupField
    turns: Annotated[tuple[UndoneTurn, ...], described("The turns to undo, newest commit first.")]
    """With the dependents if they are undone too."""
    dependents: Annotated[
        tuple[UndoneTurn, ...],
        described("Turns that were not selected and built on those that were."),
    ]
    """Newest commit first."""
    diff: Annotated[UndoDiff, INLINED]
    """What the undo of all these turns changes in the group."""
    quarantined: Annotated[
        tuple[QuarantineEntry, ...],
        described("Quarantine entries of the run, which go with it.", counted=True),
    ] = ()
    undone: Annotated[int, described("Turns undone by this command.")] = 0
    already_undone: Annotated[int, described("Turns that another process undid meanwhile.")] = 0
    entities_kept: Annotated[
        tuple[str, ...],
        described("Ids of entities that stay because another program uses them."),
    ] = ()
    error: Annotated[
        str | None, described("What stopped the undo of the group; null if nothing did.")
    ] = None
    exit_code: int = ExitCode.DONE


@dataclass(frozen=True, slots=True)
class UndoReport:
    """The undo of the selected turns. Nothing was written if no group has undone turns."""

    groups: Annotated[tuple[GroupUndo, ...], described("The groups, sorted by name.")]
    """Those of which something is undone."""
    cascade: bool
    """Whether turns that built on the selected ones are undone too."""

    @property
    def turns(self) -> Annotated[int, described("Turns to undo.")]:
        return sum(len(group.turns) for group in self.groups)

    @property
    def undone(self) -> Annotated[int, described("Turns undone by this command.")]:
        return sum(group.undone for group in self.groups)

    @property
    def dependents(self) -> int:
        """Later turns that built on the selected ones."""
        return sum(len(group.dependents) for group in self.groups)

    @property
    @described("Whether nothing may be undone because later turns built on it.", name="refused")
    def is_refused(self) -> bool:
        return bool(self.dependents) and not self.cascade
