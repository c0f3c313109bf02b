"""Which turns of a group a redo repeats: the selected ones, and all that were committed after them.

A turn is resolved against the group as the turns before it left it. So the group is taken back to
where the first repeated turn was committed, and everything from there is ingested again.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from turnetl.base.graph_model import CommitRecord, Receipt
from turnetl.base.model import GroupId, TurnId
from turnetl.ingestion.plan import ComparedTurn
from turnetl.ingestion.undo_plan import UndoPlan, plan_undo


@dataclass(frozen=True, slots=True)
class RedoSelection:
    """The committed turns to redo: those that meet all conditions that are given."""

    stale: bool = False
    """Only turns that a run would commit differently today."""
    groups: tuple[str, ...] = ()
    """Group ids or project names; all groups if empty."""
    session: str | None = None
    """The beginning of the id of their session."""
    turn: str | None = None
    """The beginning of the id of a turn."""
    kind: str | None = None
    """The kind of the turn, as the lake holds it today."""
    since: datetime | None = None
    """Started at this time or later."""
    until: datetime | None = None
    """Started before this time."""

    @property
    def is_empty(self) -> bool:
        """Whether no condition is given, so that it would take the whole graph."""
        return self == RedoSelection()

    def selects(self, turn: ComparedTurn) -> bool:
        """Return whether the turn meets the conditions, but for the groups."""
        receipt = turn.receipt
        return (
            (turn.stale is not None or not self.stale)
            and receipt.session_id.startswith(self.session or "")
            and receipt.turn_id.startswith(self.turn or "")
            and self.kind in (None, turn.kind)
            and (self.since is None or receipt.started_at >= self.since)
            and (self.until is None or receipt.started_at < self.until)
        )


@dataclass(frozen=True, slots=True)
class RedoPlan:
    """The turns of a group to repeat."""

    undo: UndoPlan
    """All of them; newest commit first."""
    selected: tuple[Receipt, ...]
    """Oldest commit first."""
    later: tuple[Receipt, ...]
    """Turns that are repeated because of their place; oldest commit first."""
    dependents: frozenset[TurnId]
    """Those of `later` that built on selected turns: they may be resolved differently."""

    @property
    def turns(self) -> frozenset[TurnId]:
        return frozenset(turn.record.receipt.turn_id for turn in self.undo.turns)


def plan_redo(
    group: GroupId,
    records: Sequence[CommitRecord],
    turns: Sequence[ComparedTurn],
    selection: RedoSelection,
    *,
    exact: bool,
) -> RedoPlan | None:
    """Plan the redo of a group; None if nothing is selected.

    Args:
        group: the group.
        records: of all its commits, by sequence.
        turns: its turns that both lake and graph hold, in the order of an ingest.
        selection: the turns to redo.
        exact: repeat, too, the turns from the first one that was not committed in the order of an
            ingest, so that the group becomes that of a fresh ingest.
    """
    selected = {turn.receipt.turn_id for turn in turns if selection.selects(turn)}
    if not selected:
        return None
    committed = [record.receipt.turn_id for record in records]
    start = next(number for number, turn in enumerate(committed) if turn in selected)
    if exact:
        start = min(start, _first_out_of_order(committed, [turn.receipt.turn_id for turn in turns]))
    repeated = records[start:]
    direct = plan_undo(group, records, selected)
    return RedoPlan(
        plan_undo(group, records, {record.receipt.turn_id for record in repeated}),
        tuple(one.receipt for one in repeated if one.receipt.turn_id in selected),
        tuple(one.receipt for one in repeated if one.receipt.turn_id not in selected),
        frozenset(receipt.turn_id for receipt in direct.dependents),
    )


def _first_out_of_order(committed: Sequence[TurnId], ordered: Sequence[TurnId]) -> int:
    """Return the index of the first commit that a fresh ingest would not have made then.

    Turns that the lake no longer holds have no place in its order.
    """
    known = frozenset(ordered)
    expected = iter(ordered)
    for number, turn in enumerate(committed):
        if turn in known and turn != next(expected):
            return number
    return len(committed)
