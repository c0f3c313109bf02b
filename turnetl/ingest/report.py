"""The account of a run, or of how things stand: every turn of every group once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from turnetl.ingest.plan import QUARANTINED, READY, Plan
from turnetl.ingest.quarantine import QuarantineEntry
from turnetl.model import GroupId, TurnId, Usage


@dataclass(frozen=True, slots=True)
class GroupCounts:
    """What the graph holds of a group."""

    episodes: int
    entities: int
    facts: int


@dataclass(frozen=True, slots=True)
class GroupReport:
    """Every turn of a group once: committed, skipped, quarantined, pending or noise."""

    group: GroupId
    turns: int
    committed: int = 0
    """By this run."""
    skipped: int = 0
    """In the graph before this run."""
    quarantined: int = 0
    pending_reasons: Mapping[str, int] | None = None
    """Turns that are neither in the graph nor against a rule nor set aside, by reason."""
    noise: Mapping[str, int] | None = None
    """By rule."""
    stale_reasons: Mapping[str, int] | None = None
    """Turns in the graph that would be there otherwise today, by reason."""
    missing_from_lake: int = 0
    """In the graph, and no more in the lake."""
    assumed: int = 0
    """In the graph, or on the way there, with a time that no archive says."""
    missing_archives: tuple[str, ...] = ()
    """Archives that are not where they were; their turns stay."""
    counts: GroupCounts | None = None
    """None if the graph did not say."""
    usage: Usage | None = None
    """What the answers cost that the turns in the graph are made of, whenever they were paid for;
    None if nobody asked."""
    quarantined_turns: tuple[QuarantineEntry, ...] = ()
    discarded: Mapping[str, int] | None = None
    """What this run left out of turns because nobody would look for it, by reason."""
    invalidating: Mapping[TurnId, int] | None = None
    """How many facts each turn of this run retired that retired many."""
    error: str | None = None
    """Why the group was not finished."""
    exit_code: int = 0
    again: bool = False
    """Whether the same may work in a moment: the graph or the provider was busy."""

    @property
    def in_graph(self) -> int:
        return self.committed + self.skipped

    @property
    def pending(self) -> int:
        return sum((self.pending_reasons or {}).values())

    @property
    def ready(self) -> int:
        """Turns that wait for nothing but a run."""
        return (self.pending_reasons or {}).get(READY, 0)

    @property
    def stale(self) -> int:
        return sum((self.stale_reasons or {}).values())

    @property
    def gaps(self) -> dict[str, int]:
        """Turns that are not in the graph though no rule speaks against them, by reason."""
        aside = {QUARANTINED: self.quarantined} if self.quarantined else {}
        return {**(self.pending_reasons or {}), **aside}


@dataclass(frozen=True, slots=True)
class IngestReport:
    """The account over all groups."""

    run_id: str | None
    """None if nothing was written."""
    groups: tuple[GroupReport, ...]
    sample_questions: tuple[str, ...] = ()
    """To try the search with, if anything new was committed."""
    error: str | None = None
    """Why no group could be looked at."""
    exit_code: int = 0
    model: Mapping[str, Usage] = field(default_factory=dict)
    """What this run used, by prompt: every attempt, also those that came to nothing."""
    journaled: int = 0
    """Answers that were in the journal and cost nothing now."""

    @property
    def committed(self) -> int:
        return sum(group.committed for group in self.groups)

    @property
    def skipped(self) -> int:
        return sum(group.skipped for group in self.groups)

    @property
    def quarantined(self) -> int:
        return sum(group.quarantined for group in self.groups)

    @property
    def pending(self) -> int:
        return sum(group.pending for group in self.groups)

    @property
    def ready(self) -> int:
        return sum(group.ready for group in self.groups)


def group_report(
    plan: Plan,
    holds: GroupCounts | None,
    quarantine: Sequence[QuarantineEntry],
    *,
    committed: int = 0,
) -> GroupReport:
    """Say how a group stands that was planned so, and then carried so far.

    Args:
        plan: as it stood before.
        holds: what the graph holds now.
        quarantine: all that is quarantined now.
        committed: turns of the plan that this run committed.
    """
    todo = frozenset(plan.todo)
    ours = tuple(entry for entry in quarantine if entry.turn_id in plan.quarantined | todo)
    waiting = dict(plan.gaps)
    if left := len(todo) - committed - sum(entry.turn_id in todo for entry in ours):
        waiting[READY] = left
    return GroupReport(
        group=plan.group,
        turns=plan.turns,
        committed=committed,
        skipped=plan.committed,
        quarantined=len(ours),
        pending_reasons=waiting,
        noise=plan.noise,
        stale_reasons=plan.stale,
        missing_from_lake=plan.missing_from_lake,
        assumed=plan.assumed,
        counts=holds,
        quarantined_turns=ours,
    )
