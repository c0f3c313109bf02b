"""Which turns of a group an undo takes, in which order, and which later turns built on them.

Everything follows from the records of the commits; the graph is not read.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from turnetl.base.graph_model import CommitRecord, Receipt
from turnetl.base.model import Fact, GroupId, TurnId


@dataclass(frozen=True, slots=True)
class UndoSelection:
    """The committed turns to undo: those that meet all conditions that are given."""

    run: str | None = None
    """The beginning of the id of the run that committed them."""
    groups: tuple[str, ...] = ()
    """Group ids or project names; all groups if empty."""
    session: str | None = None
    """The beginning of the id of their session."""
    turn: str | None = None
    """The beginning of the id of a turn."""
    since: datetime | None = None
    """Committed at this time or later."""

    @property
    def is_empty(self) -> bool:
        """Whether no condition is given, so that it would take the whole graph."""
        return self == UndoSelection()

    @property
    def names_turns(self) -> bool:
        """Whether it names turns by an id, which may be those of a migration before its cutover."""
        return any((self.run, self.session, self.turn))

    def selects(self, receipt: Receipt) -> bool:
        """Return whether the turn meets the conditions, but for the groups."""
        return (
            receipt.run_id.startswith(self.run or "")
            and receipt.session_id.startswith(self.session or "")
            and receipt.turn_id.startswith(self.turn or "")
            and (self.since is None or receipt.committed_at >= self.since)
        )


@dataclass(frozen=True, slots=True)
class TurnToUndo:
    """A turn, and what of its record must not be restored."""

    record: CommitRecord
    restated: frozenset[str]
    """Uuids of facts of which it only added itself to the turns, and which a later turn changed."""


@dataclass(frozen=True, slots=True)
class UndoPlan:
    """The turns of a group to undo."""

    group: GroupId
    turns: tuple[TurnToUndo, ...]
    """Newest commit first: each finds the graph as its commit left it."""
    dependents: tuple[Receipt, ...]
    """Turns that were not selected and built on those that were, or on one another; newest commit
    first. With `cascade` they are among `turns`; without it the plan must not be carried out."""
    cascade: bool
    summaries: Mapping[TurnId, str] = field(default_factory=dict)
    """`CommitRecord.summaries` of all turns of the group, in the order of the commits."""

    @property
    def is_refused(self) -> bool:
        return bool(self.dependents) and not self.cascade


def plan_undo(
    group: GroupId,
    records: Iterable[CommitRecord],
    selected: Collection[TurnId],
    *,
    cascade: bool = False,
) -> UndoPlan:
    """Plan the undo of turns of a group.

    A turn built on an earlier one if it mentions, changes or connects an entity that the earlier
    one created, or changes an entity or a fact that the earlier one created or changed. A fact that
    the earlier one only stated again is no such fact.

    Args:
        selected: the turns to undo; those that are not committed are ignored.
    """
    traced = _Trace()
    undone: list[CommitRecord] = []
    dependents: list[CommitRecord] = []
    ordered = sorted(records, key=lambda record: record.sequence)
    for record in ordered:
        is_selected = record.receipt.turn_id in selected
        is_dependent = not is_selected and traced.is_used_by(record)
        traced.add(record, is_undone=is_selected or is_dependent)
        if is_selected or (is_dependent and cascade):
            undone.append(record)
        if is_dependent:
            dependents.append(record)
    return UndoPlan(
        group,
        tuple(
            TurnToUndo(record, frozenset(traced.restated.get(record.receipt.turn_id, ())))
            for record in reversed(undone)
        ),
        tuple(record.receipt for record in reversed(dependents)),
        cascade,
        {record.receipt.turn_id: record.summaries for record in ordered},
    )


def select_turns(records: Iterable[CommitRecord], selection: UndoSelection) -> Sequence[TurnId]:
    return [record.receipt.turn_id for record in records if selection.selects(record.receipt)]


class _Trace:
    """What the undone turns created and changed, up to one commit of the group."""

    def __init__(self) -> None:
        self.restated: dict[TurnId, set[str]] = {}
        self._new: set[str] = set()
        self._changed_entities: set[str] = set()
        self._changed_facts: set[str] = set()
        # By fact: the undone turn that changed it last, and the state that it found.
        self._last: dict[str, tuple[TurnId, Fact]] = {}

    def is_used_by(self, record: CommitRecord) -> bool:
        used = {*record.mentions, *record.endpoints}
        used.update(entity.uuid for entity in record.entities_before)
        used.update(fact.uuid for fact in record.facts_before)
        changed = {entity.uuid for entity in record.entities_before}
        return (
            not self._new.isdisjoint(used)
            or not self._changed_entities.isdisjoint(changed)
            or any(self._is_changed(fact) for fact in record.facts_before)
        )

    def add(self, record: CommitRecord, *, is_undone: bool) -> None:
        turn = record.receipt.turn_id
        for fact in record.facts_before:
            self._see(fact)
            self._last.pop(fact.uuid, None)
            if is_undone:
                self._last[fact.uuid] = turn, fact
        if is_undone:
            self._new.update(record.entities_new, record.facts_new)
            self._changed_entities.update(entity.uuid for entity in record.entities_before)

    def _is_changed(self, fact: Fact) -> bool:
        """Return whether an undone turn changed the fact, given the state that a later one found.

        Only that state shows what the undone turn had made of it.
        """
        last = self._last.get(fact.uuid)
        return fact.uuid in self._changed_facts or (
            last is not None and replace(last[1], turns=()) != replace(fact, turns=())
        )

    def _see(self, fact: Fact) -> None:
        if self._is_changed(fact):
            self._changed_facts.add(fact.uuid)
        elif fact.uuid in self._last:
            turn, _ = self._last[fact.uuid]
            self.restated.setdefault(turn, set()).add(fact.uuid)
