"""Reports of an ingest run, or of the current status: every turn of every group counted once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from turnetl.base.exit_code import ExitCode
from turnetl.base.model import GroupId, TurnId, Usage
from turnetl.base.progress import RunCost
from turnetl.extraction.discard_reasons import DiscardReason
from turnetl.extraction.request_preview import RequestPreview
from turnetl.graph.migrations import MigrationSummary
from turnetl.graph.session_level import SessionLevelCounts
from turnetl.ingestion.estimate_record import RecordedEstimate
from turnetl.ingestion.extractor_change import ExtractorUse
from turnetl.ingestion.plan import TurnPlan
from turnetl.ingestion.quarantine import QuarantineEntry
from turnetl.ingestion.reasons import PendingReason, StaleReason
from turnetl.ingestion.stale_parts import StalePart
from turnetl.summaries.reasons import GateReason


class StopCause(StrEnum):
    """Why a group stopped, where a user of the report acts on it."""

    BUDGET = "budget"
    PROVIDER = "provider"
    """The provider cannot be used as it is configured: a wrong key, an unknown model."""


@dataclass(frozen=True, slots=True)
class GroupCounts:
    """Counts of a group in the graph."""

    episodes: int
    entities: int
    facts: int


@dataclass(frozen=True, slots=True)
class Invalidation:
    """A turn that invalidated unusually many facts."""

    turn_id: TurnId
    archive: str
    first_line: int
    facts: int


@dataclass(frozen=True, slots=True)
class GroupReport:
    """The turns of a group, each counted once.

    A turn is committed by this run, committed already, quarantined, pending, or noise.
    """

    group: GroupId
    turns: int
    committed: int = 0
    """Turns committed by this run."""
    already_committed: int = 0
    """In the graph already: committed by an earlier run, or by another one meanwhile."""
    quarantined: int = 0
    pending_reasons: Mapping[PendingReason, int] | None = None
    """Turns that are not in the graph, not noise and not quarantined, by reason."""
    noise: Mapping[str, int] | None = None
    """Turns by noise rule."""
    stale_reasons: Mapping[StaleReason, int] | None = None
    """Turns in the graph that a run would commit differently today, by reason."""
    stale_parts: tuple[StalePart, ...] = ()
    """The parts of recipes that made turns stale; a turn may be counted for several."""
    missing_from_lake: int = 0
    """Turns in the graph that the lake no longer holds."""
    superseded_prompts: tuple[TurnId, ...] = ()
    """Prompts of a history in the graph whose transcripts the lake holds now, so that the graph has
    or gets them twice; part of those missing from the lake."""
    turns_with_assumed_time: int = 0
    """Turns in the graph, or eligible for it, whose time is assumed: the archive has none."""
    missing_archives: tuple[str, ...] = ()
    """Archives that no longer exist at their path; their turns stay."""
    retained_turns: int = 0
    """Turns that their archives held once and no longer hold; they stay."""
    counts: GroupCounts | None = None
    """None if the graph did not respond."""
    session_level: SessionLevelCounts | None = None
    """The part of `counts` that other programs wrote and no turn states; None if there is none, if
    the graph did not respond, while a migration moves data, and in the report of an ingest."""
    migration: MigrationSummary | None = None
    """The migration of the group that is open; None as `session_level`."""
    usage: Usage | None = None
    """Usage of the responses that the turns in the graph are made of, whenever they were paid for;
    None if it was not requested."""
    extractor_uses: tuple[ExtractorUse, ...] = ()
    """What made the turns in the graph, the latest last; empty in the report of an ingest."""
    quarantined_turns: tuple[QuarantineEntry, ...] = ()
    discarded: Mapping[DiscardReason, int] | None = None
    """Extracted entities and facts that this run discarded as useless, by reason."""
    summaries: Mapping[GateReason, int] | None = None
    """Decisions about summaries of entities by reason: of this run, or in a status of the turns in
    the graph."""
    invalidations: tuple[Invalidation, ...] = ()
    """Turns that invalidated more facts than `invalidation_alert`."""
    error: str | None = None
    """Error that stopped the group; None if it was completed."""
    exit_code: int = 0
    retryable: bool = False
    """Whether a repetition may succeed soon: the graph or the provider was busy."""
    stop_cause: StopCause | None = None
    """None if there was no error, or another cause."""

    @property
    def in_graph(self) -> int:
        return self.committed + self.already_committed

    @property
    def pending(self) -> int:
        return sum((self.pending_reasons or {}).values())

    @property
    def ready(self) -> int:
        """Turns that the next run can commit."""
        return (self.pending_reasons or {}).get(PendingReason.READY, 0)

    @property
    def stale(self) -> int:
        return sum((self.stale_reasons or {}).values())

    @property
    def uncommitted_reasons(self) -> dict[PendingReason, int]:
        """Turns that are not in the graph though no noise rule matches them, by reason.

        These are the pending turns and the quarantined ones.
        """
        failed = {PendingReason.QUARANTINED: self.quarantined} if self.quarantined else {}
        return {**(self.pending_reasons or {}), **failed}


@dataclass(frozen=True, slots=True)
class IngestReport:
    """The report over all groups."""

    run_id: str | None
    """None if nothing was written."""
    groups: tuple[GroupReport, ...]
    error: str | None = None
    """Error before any group was read, if any."""
    exit_code: int = 0
    usage_by_prompt: Mapping[str, Usage] = field(default_factory=dict)
    """Usage of this run by prompt: every attempt, including the failed ones."""
    journal_hits: int = 0
    """Responses that the journal already held; they cost nothing in this run."""
    cost: RunCost | None = None
    """The cost of this run, and the expected one of its plan; None if nothing was ingested."""
    estimate: RecordedEstimate | None = None
    """What `turnetl plan` predicted of exactly these turns; None if it did not."""
    requests: tuple[RequestPreview, ...] | None = None
    """The requests that would extract the next turns; None if this was no dry run."""
    is_shard: bool = False
    """The groups are those of one shard: there may be none."""

    @property
    def committed(self) -> int:
        return sum(group.committed for group in self.groups)

    @property
    def already_committed(self) -> int:
        return sum(group.already_committed for group in self.groups)

    @property
    def quarantined(self) -> int:
        return sum(group.quarantined for group in self.groups)

    @property
    def pending(self) -> int:
        return sum(group.pending for group in self.groups)

    @property
    def ready(self) -> int:
        return sum(group.ready for group in self.groups)


def exit_code_of(report: IngestReport) -> int:
    """Return the exit code: failures win over a stop, which wins over quarantined turns.

    An ingest also fails if no turn is in the graph because none has a time.
    """
    codes = {report.exit_code, *(group.exit_code for group in report.groups)} - {ExitCode.DONE}
    if codes:
        return min(codes)
    if lacks_times(report):
        return ExitCode.FAILED
    return ExitCode.FOUND if report.quarantined else ExitCode.DONE


def lacks_times(report: IngestReport) -> bool:
    """Return whether no turn can be ingested because none has a time."""
    without_time = turns_without_time(report)
    return bool(
        without_time
        and without_time >= report.pending
        and not (report.committed or report.already_committed)
    )


def turns_without_time(report: IngestReport) -> int:
    return sum(group.uncommitted_reasons.get(PendingReason.NO_TIME, 0) for group in report.groups)


def group_report(
    plan: TurnPlan,
    counts: GroupCounts | None,
    quarantine: Sequence[QuarantineEntry],
    *,
    committed: int = 0,
    already_committed: int = 0,
) -> GroupReport:
    """Build the report of a group from its plan and from what a run did of it.

    Args:
        plan: the plan, made before the run.
        counts: what the graph holds now.
        quarantine: all quarantine entries of the group now.
        committed: turns of the plan that this run committed.
        already_committed: turns of the plan that another run committed meanwhile.
    """
    to_commit = frozenset(plan.to_commit)
    relevant = plan.quarantined | to_commit
    entries = tuple(entry for entry in quarantine if entry.turn_id in relevant)
    pending = dict(plan.pending_reasons)
    failed = sum(entry.turn_id in to_commit for entry in entries)
    if ready := len(to_commit) - committed - already_committed - failed:
        pending[PendingReason.READY] = ready
    return GroupReport(
        group=plan.group,
        turns=plan.turns,
        committed=committed,
        already_committed=plan.committed + already_committed,
        quarantined=len(entries),
        pending_reasons=pending,
        noise=plan.noise,
        stale_reasons=plan.stale_reasons,
        missing_from_lake=plan.missing_from_lake,
        superseded_prompts=plan.superseded_prompts,
        turns_with_assumed_time=plan.turns_with_assumed_time,
        counts=counts,
        quarantined_turns=entries,
    )
