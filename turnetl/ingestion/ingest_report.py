"""Reports of an ingest run, or of the current status: every turn of every group counted once."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from operator import attrgetter
from typing import Annotated, Protocol

from turnetl.base.batched import grouped
from turnetl.base.errors import GraphUnusable
from turnetl.base.exit_code import ExitCode
from turnetl.base.graph_model import Receipt
from turnetl.base.ids import RecipePart
from turnetl.base.model import GroupId, TurnId, Usage
from turnetl.base.progress import RunCost
from turnetl.base.result_fields import GroupField, TurnIdField
from turnetl.base.results import INLINED, described
from turnetl.base.text import listed
from turnetl.extraction.port import DiscardReason, RequestPreview
from turnetl.ingestion.estimate_record import EstimateField
from turnetl.ingestion.plan import TurnPlan
from turnetl.ingestion.quarantine import QuarantineEntry
from turnetl.ingestion.reasons import PendingReason, StalePart, StaleReason
from turnetl.summaries.reasons import GateReason, refreshed, skipped

_LISTED = 3
"""Groups that a message lists; --json has all."""
_DIGEST = re.compile("[0-9a-f]{32}")
_DIGITS = 8
"""Of a digest that are shown; --json has all."""


def stale_part_line(stale: StalePart) -> str:
    named = next((part for part in (stale.new, stale.old) if part is not None and part.name), None)
    name = f"{stale.part} {named.name}" if named is not None else stale.part
    old, new = _part_value(stale.old), _part_value(stale.new)
    return f"({stale.turns:,} stale by {name}: {old} -> {new})"


def _part_value(part: RecipePart | None) -> str:
    if part is None or not part.value:
        return "none"
    return part.value[:_DIGITS] if _DIGEST.fullmatch(part.value) else part.value


class _Group(Protocol):
    """The report on a group."""

    @property
    def group(self) -> GroupId: ...

    @property
    def error(self) -> str | None: ...


def error_messages(groups: Sequence[_Group]) -> list[str]:
    """Return why groups were not completed: one sentence per error, with all its groups."""
    names = grouped((group.error, f"`{group.group}`") for group in groups if group.error)
    return [_error_message(error, names[error]) for error in names]


def _error_message(error: str, names: Sequence[str]) -> str:
    if len(names) == 1:
        return error if names[0] in error else f"group {names[0]}: {error}"
    return f"groups {listed(names, _LISTED)}: {error}"


@dataclass(frozen=True, slots=True)
class ExtractorUse:
    """The turns of a group in the graph that one extractor made, with one model."""

    extractor: Annotated[str, described("Name of the extractor.")]
    model: Annotated[
        str | None, described("Model with its provider; null if the extractor uses none.")
    ]
    turns: Annotated[int, described("Turns in the graph.", name="committed")]


def extractor_uses(receipts: Sequence[Receipt]) -> tuple[ExtractorUse, ...]:
    """Return what made the turns of a group; last what made the turn that was committed last."""
    turns: dict[tuple[str, str | None], int] = {}
    for receipt in sorted(receipts, key=attrgetter("committed_at", "turn_id")):
        used = receipt.extractor, receipt.model
        turns[used] = turns.pop(used, 0) + 1
    return tuple(ExtractorUse(*used, count) for used, count in turns.items())


def check_extractor(group: GroupId, receipts: Sequence[Receipt], extractor: str) -> None:
    if error := unintended_change(group, extractor_uses(receipts), extractor):
        raise error


def unintended_change(
    group: GroupId, uses: Sequence[ExtractorUse], extractor: str
) -> GraphUnusable | None:
    """Return the error if another extractor than this one committed to the group last."""
    if not uses or uses[-1].extractor == extractor:
        return None
    last = uses[-1]
    with_model = f" and the model `{last.model}`" if last.model else ""
    return GraphUnusable(
        f"group `{group}` was filled with the extractor `{last.extractor}`{with_model}, and this "
        f"run would continue it with `{extractor}`; name the one that you mean: `--extractor "
        f"{last.extractor}` or `--extractor {extractor}`"
    )


class StopCause(StrEnum):
    """Why a group stopped, where a user of the report acts on it."""

    BUDGET = "budget"
    PROVIDER = "provider"
    """The provider cannot be used as it is configured: a wrong key, an unknown model."""


QuarantinedField = Annotated[int, described("Turns that failed; `turnetl retry` tries them again.")]
PendingField = Annotated[int, described("Turns that are not in the graph yet.")]
AssumedTimeField = Annotated[int, described("Turns whose time was given with --assume-time.")]
_CommittedField = Annotated[int, described("Turns that this run committed.")]
_AlreadyCommittedField = Annotated[
    int, described("Turns in the graph that another run committed, before or meanwhile.")
]


@dataclass(frozen=True, slots=True)
class GroupCounts:
    """Counts of a group in the graph."""

    episodes: Annotated[
        int | None, described("Episodes in the graph; null if the graph did not respond.")
    ] = None
    entities: Annotated[int | None, described("Entities in the graph; null as `episodes`.")] = None
    facts: Annotated[int | None, described("Facts in the graph; null as `episodes`.")] = None

    @property
    def are_known(self) -> bool:
        """Whether the graph responded."""
        return self.episodes is not None


@dataclass(frozen=True, slots=True)
class Invalidation:
    """A turn that invalidated many facts, or would have."""

    turn_id: TurnIdField
    archive: Annotated[str, described("Path of the archive that holds it.")]
    first_line: Annotated[int, described("Its first line in the archive, from 1.")]
    facts: Annotated[int, described("Facts that it invalidated.")]
    held: Annotated[
        int, described("Facts that a model would have invalidated, held for `turnetl review`.")
    ] = 0


@dataclass(frozen=True, slots=True)
class TurnsOfGroup:
    """The turns of a group, each counted once: committed, quarantined, pending or noise."""

    group: GroupField
    turns: int
    quarantined: QuarantinedField = 0
    pending_reasons: Mapping[PendingReason, int] = field(default_factory=dict)
    """Turns that are not in the graph, not noise and not quarantined, by reason."""
    noise: Annotated[Mapping[str, int], described("Turns that are noise, by rule.")] = field(
        default_factory=dict
    )
    stale_reasons: Annotated[
        Mapping[StaleReason, int], described("Stale turns by reason.", keys=StaleReason)
    ] = field(default_factory=dict)
    stale_parts: Annotated[
        tuple[StalePart, ...], described("What changed in the recipes of stale turns.")
    ] = ()
    missing_from_lake: Annotated[
        int, described("Turns in the graph that the lake no longer holds.")
    ] = 0
    superseded_prompts: Annotated[
        tuple[TurnId, ...],
        described(
            "Of these, the prompts of Claude Code's history whose transcripts the lake holds now: "
            "`turnetl undo --turn ID --cascade` removes one with the turns that built on it."
        ),
    ] = ()
    facts_held: Annotated[
        int, described("Facts whose invalidation is held for `turnetl review`.")
    ] = 0
    turns_with_assumed_time: AssumedTimeField = 0
    """In the graph, or eligible for it."""
    unjoined_archives: Annotated[
        int, described("Archives of subagents whose sessions are not in the group.")
    ] = 0
    counts: Annotated[GroupCounts, INLINED] = field(default_factory=GroupCounts)
    usage: Usage | None = None
    """Of the turns in the graph, whenever they were paid for; None if it was not requested."""
    extractor_uses: tuple[ExtractorUse, ...] = ()
    """What made the turns in the graph, the latest last; empty in the report of an ingest."""
    quarantined_turns: Annotated[
        tuple[QuarantineEntry, ...], described("The quarantined turns.")
    ] = ()
    summaries: Mapping[GateReason, int] = field(default_factory=dict)
    """Decisions about summaries, by reason: of this run, or of all turns in the graph."""
    error: Annotated[str | None, described("Why the group was not completed; null if it was.")] = (
        None
    )

    @property
    def pending(self) -> PendingField:
        return sum(self.pending_reasons.values())

    @property
    def ready(self) -> int:
        """Turns that the next run can commit."""
        return self.pending_reasons.get(PendingReason.READY, 0)

    @property
    @described("Pending and quarantined turns by reason.", keys=PendingReason)
    def uncommitted_reasons(self) -> Mapping[PendingReason, int]:
        failed = {PendingReason.QUARANTINED: self.quarantined} if self.quarantined else {}
        return {**self.pending_reasons, **failed}

    @property
    @described("Turns in the graph that a run would commit differently today.")
    def stale(self) -> int:
        return sum(self.stale_reasons.values())

    @property
    @described("Decisions to write the summary of an entity, by reason.", keys=GateReason)
    def summary_refreshed(self) -> Mapping[GateReason, int]:
        return refreshed(self.summaries)

    @property
    @described("Decisions to keep the summary of an entity, by reason.", keys=GateReason)
    def summary_skipped(self) -> Mapping[GateReason, int]:
        return skipped(self.summaries)


@dataclass(frozen=True, slots=True)
class GroupReport(TurnsOfGroup):
    """Result of a run for one group."""

    turns: Annotated[int, described("Turns in the lake.")]
    committed: _CommittedField = 0
    already_committed: _AlreadyCommittedField = 0
    discarded: Annotated[
        Mapping[DiscardReason, int],
        described(
            "Extracted entities and facts that were discarded, by reason.", keys=DiscardReason
        ),
    ] = field(default_factory=dict)
    invalidations: Annotated[
        tuple[Invalidation, ...],
        described("Turns that invalidated more facts than `invalidation_alert`, or would have."),
    ] = ()
    exit_code: int = 0
    retryable: bool = False
    """Whether a repetition may succeed soon: the graph or the provider was busy."""
    stop_cause: StopCause | None = None
    """None if there was no error, or another cause."""

    @property
    def in_graph(self) -> int:
        """Turns of the group in the graph."""
        return self.committed + self.already_committed


@dataclass(frozen=True, slots=True)
class RunUsage:
    """Usage of a run."""

    by_prompt: Annotated[Mapping[str, Usage], described("The same per prompt, sorted by name.")]
    """Every attempt, including the failed ones."""
    journal_hits: Annotated[
        int, described("Responses that the journal already held; they cost nothing.")
    ]
    cost: Annotated[RunCost, INLINED]

    @property
    def total(self) -> Annotated[Usage, INLINED]:
        return sum(self.by_prompt.values(), Usage())


class TurnTotals:
    """Sums over the groups of a report."""

    __slots__ = ()
    groups: tuple[TurnsOfGroup, ...]

    @property
    def quarantined(self) -> QuarantinedField:
        return sum(group.quarantined for group in self.groups)

    @property
    def pending(self) -> PendingField:
        return sum(group.pending for group in self.groups)

    @property
    def turns_with_assumed_time(self) -> AssumedTimeField:
        return sum(group.turns_with_assumed_time for group in self.groups)


@dataclass(frozen=True, slots=True)
class IngestReport(TurnTotals):
    """Result of an ingest, or the preview of a dry run."""

    run_id: Annotated[str | None, described("Id of the run; null if it wrote nothing.")]
    groups: Annotated[tuple[GroupReport, ...], described("The groups, sorted by name.")]
    error: Annotated[
        str | None, described("Error before any group was ingested; null if there was none.")
    ] = None
    exit_code: int = 0
    usage_by_prompt: Mapping[str, Usage] = field(default_factory=dict)
    """Every attempt, including the failed ones."""
    journal_hits: int = 0
    """Responses that the journal gave."""
    cost: RunCost | None = None
    """The cost of this run, and the expected one of its plan; None if nothing was ingested."""
    estimate: EstimateField = None
    requests: Annotated[
        tuple[RequestPreview, ...] | None,
        described("With --dry-run: the requests that extract the next turns; else null."),
    ] = None
    is_shard: bool = False
    """The groups are those of one shard: there may be none."""

    @property
    def committed(self) -> _CommittedField:
        return sum(group.committed for group in self.groups)

    @property
    def already_committed(self) -> _AlreadyCommittedField:
        return sum(group.already_committed for group in self.groups)

    @property
    def ready(self) -> int:
        """Turns that the next run can commit."""
        return sum(group.ready for group in self.groups)

    @property
    def usage(self) -> Annotated[RunUsage, described("Usage of this run.")]:
        return RunUsage(self.usage_by_prompt, self.journal_hits, self.cost or RunCost(0, None))

    @property
    @described("Estimated tokens of those requests that the journal does not answer.")
    def request_tokens(self) -> int | None:
        if self.requests is None:
            return None
        return sum(preview.tokens for preview in self.requests if not preview.is_cached)


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
    counts: GroupCounts,
    quarantine: Sequence[QuarantineEntry],
    *,
    committed: int = 0,
    already_committed: int = 0,
) -> GroupReport:
    """Build the report of a group from its plan, made before the run, and what a run did of it."""
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
        facts_held=plan.facts_held,
        turns_with_assumed_time=plan.turns_with_assumed_time,
        counts=counts,
        quarantined_turns=entries,
    )
