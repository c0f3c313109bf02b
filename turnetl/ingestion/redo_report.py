"""What a redo repeats and why: the selected turns, and all that were committed after them.

A turn is resolved against the group as the turns before it left it. So the group is taken back to
where the first repeated turn was committed, and everything from there is ingested again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated

from turnetl.base.graph_model import CommitRecord, Receipt
from turnetl.base.model import GroupId, TurnId, Usage
from turnetl.base.progress import RunCost
from turnetl.base.result_fields import GroupField
from turnetl.base.results import described
from turnetl.ingestion.estimate_record import RecordedEstimate
from turnetl.ingestion.ingest_report import GroupReport, RunUsage
from turnetl.ingestion.plan import ComparedTurn
from turnetl.ingestion.quarantine import QuarantineEntry
from turnetl.ingestion.reasons import StalePart, StaleReason
from turnetl.ingestion.undo_plan import UndoPlan, plan_undo
from turnetl.ingestion.undo_report import UndoneTurn


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
    turns: frozenset[TurnId] | None = None
    """Ids of the turns; None: all."""

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
            and (self.turns is None or receipt.turn_id in self.turns)
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
        records: of all its commits, by sequence.
        turns: its turns that both lake and graph hold, in the order of an ingest.
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


@dataclass(frozen=True, slots=True)
class RequestCounts:
    """The requests that extract the turns; those that resolve them depend on the responses."""

    requests: Annotated[int, described("Requests to send.")] = 0
    tokens: Annotated[int, described("Estimated tokens of these requests.")] = 0
    answered: Annotated[int, described("Requests that the journal answers; they cost nothing.")] = 0

    def __add__(self, other: "RequestCounts") -> "RequestCounts":
        return RequestCounts(
            self.requests + other.requests,
            self.tokens + other.tokens,
            self.answered + other.answered,
        )


_UndoneField = Annotated[int, described("Turns undone by this command.")]
_RedoneField = Annotated[int, described("Turns ingested again by this command.")]


@dataclass(frozen=True, slots=True)
class GroupRedo:
    """The redo of the turns of one group."""

    group: GroupField
    selected: Annotated[
        tuple[UndoneTurn, ...],
        described("The selected turns, oldest commit first.", name="turns"),
    ] = ()
    later: Annotated[
        tuple[UndoneTurn, ...],
        described("Turns that were committed later and are repeated too, oldest commit first."),
    ] = ()
    dependents: Annotated[
        tuple[TurnId, ...],
        described("Ids of those later turns that built on selected ones, sorted."),
    ] = ()
    stale_reasons: Annotated[
        Mapping[StaleReason, int],
        described("Stale ones of all these turns.", keys=StaleReason),
    ] = field(default_factory=dict)
    stale_parts: Annotated[
        tuple[StalePart, ...], described("What changed in the recipes of these turns.")
    ] = ()
    left_out: Annotated[
        Mapping[str, int],
        described(
            "Turns that are noise today, by rule: they are not ingested again.", name="noise"
        ),
    ] = field(default_factory=dict)
    extraction: Annotated[RequestCounts, described("Requests that extract the turns.")] = field(
        default_factory=RequestCounts
    )
    used: Annotated[Usage, described("Usage of these turns when they were ingested.")] = field(
        default_factory=Usage
    )
    undone: _UndoneField = 0
    ingested: GroupReport | None = None
    """What was ingested again; None if nothing was undone."""
    error: Annotated[
        str | None,
        described("Why the group is not redone, or what stopped it; null if nothing."),
    ] = None
    exit_code: int = 0

    @property
    def turns(self) -> int:
        return len(self.selected) + len(self.later)

    @property
    def is_done(self) -> bool:
        """Whether all turns were undone, and all that are not noise were ingested again."""
        is_undone = self.error is None and self.undone == self.turns
        return is_undone and not (self.pending or self.quarantined_turns)

    @property
    def committed(self) -> _RedoneField:
        return self.ingested.committed if self.ingested else 0

    @property
    @described("Turns that were undone and failed.")
    def quarantined_turns(self) -> tuple[QuarantineEntry, ...]:
        return self.ingested.quarantined_turns if self.ingested else ()

    @property
    @described("Turns that were undone and not ingested again; the next ingest takes them.")
    def pending(self) -> int:
        return self.ingested.ready if self.ingested else self.undone


@dataclass(frozen=True, slots=True)
class RedoReport:
    """What a redo repeats; `undone` says whether it was carried out."""

    selection: RedoSelection
    exact: bool
    """Whether turns that were committed out of order are repeated too."""
    groups: Annotated[tuple[GroupRedo, ...], described("The groups, sorted by name.")]
    """Those with selected turns, and those that could not be planned."""
    ready: Annotated[
        int,
        described("Turns that were not in the graph before, and that an ingest would commit."),
    ] = 0
    run_id: Annotated[str | None, described("Id of the run; null if it wrote nothing.")] = None
    usage_by_prompt: Mapping[str, Usage] = field(default_factory=dict)
    """Every attempt, including the failed ones."""
    journal_hits: int = 0
    """Responses that the journal gave."""
    cost: RunCost | None = None
    """The cost of this run; None if nothing was repeated."""
    estimate: Annotated[
        RecordedEstimate | None,
        described("What `turnetl plan --redo` predicted of these turns; null if it did not."),
    ] = None

    @property
    def turns(self) -> Annotated[int, described("Turns to repeat.")]:
        return sum(group.turns for group in self.groups)

    @property
    @described("Requests that extract all turns.")
    def extraction(self) -> RequestCounts:
        return sum((group.extraction for group in self.groups), RequestCounts())

    @property
    @described("Usage of all turns when they were ingested.")
    def used(self) -> Usage:
        return sum((group.used for group in self.groups), Usage())

    @property
    def undone(self) -> _UndoneField:
        return sum(group.undone for group in self.groups)

    @property
    def committed(self) -> _RedoneField:
        return sum(group.committed for group in self.groups)

    @property
    def usage(self) -> Annotated[RunUsage, described("Usage of this run.")]:
        return RunUsage(self.usage_by_prompt, self.journal_hits, self.cost or RunCost(0, None))

    @property
    def is_refused(self) -> bool:
        """Whether no group can be redone, or nothing is selected."""
        return all(group.error is not None for group in self.groups)
