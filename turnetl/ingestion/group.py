"""Plan, report and ingest one group: from its episodes table to the graph."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import polars as pl

from turnetl.base.errors import (
    BudgetExhausted,
    ModelUnusable,
    Retryable,
    TableUnusable,
    TurnetlError,
)
from turnetl.base.graph_model import Lease
from turnetl.base.model import Episode, GroupId, Usage
from turnetl.base.progress import RunCost
from turnetl.base.recipe_parts import RecipeParts, recipe_digest
from turnetl.extraction.port import Extractor
from turnetl.graph.port import GraphStore, ReceiptStore
from turnetl.ingestion import candidates
from turnetl.ingestion.admission import TurnAdmission
from turnetl.ingestion.extractor_change import ExtractorUse, extractor_uses, unintended_change
from turnetl.ingestion.ingest_run import IngestProgress, IngestRun
from turnetl.ingestion.plan import COLUMNS, Scope, TurnPlan, plan_turns
from turnetl.ingestion.prefetch import with_context
from turnetl.ingestion.quarantine import Quarantine
from turnetl.ingestion.reasons import PendingReason
from turnetl.ingestion.report import GroupCounts, GroupReport, StopCause, group_report
from turnetl.ingestion.stale_parts import StalePart, stale_parts
from turnetl.ingestion.superseded_prompts import superseded_prompts
from turnetl.ingestion.turn_pipeline import TurnPipeline
from turnetl.lake import Lake
from turnetl.llm.embedders.port import Embedder
from turnetl.summaries.reasons import GateReason, reason_counts

if TYPE_CHECKING:  # imports numpy, which a run without new turns does without
    from turnetl.ingestion.turn_summaries import SummaryRules
    from turnetl.llm.ahead import AheadModel


@dataclass(frozen=True, slots=True)
class IngestResources:
    """Resources of an ingest; opened by the caller, shared by all groups."""

    lake: Lake
    store: GraphStore
    extractor: Extractor[Any]
    embedder: Embedder
    admission: TurnAdmission = field(default_factory=TurnAdmission)
    summaries: "SummaryRules | None" = None
    """How entities are summarised; None: not by turnetl."""
    ahead: "AheadModel | None" = None
    """Receives the requests of the extractor; None: no turn is resolved ahead."""

    def run_cost(self, used: Usage) -> RunCost:
        """Return the cost of the run, of whose requests `used` is the usage so far."""
        unused = 0 if self.ahead is None else self.ahead.unused_tokens
        return replace(self.admission.run_cost(used), unused_tokens=unused)


@dataclass(frozen=True, slots=True)
class GroupPlan:
    """The plan of one group, made once per run, with the rows that it was made from."""

    turns: TurnPlan
    rows: pl.LazyFrame
    """Rows from `candidates.candidate_rows`."""
    batch_rows: int | None
    """Rows of the table that may be in memory together; None if `rows` is in another order."""
    usage: Usage
    """Of all turns of the group in the graph."""
    extractor_uses: tuple[ExtractorUse, ...]
    """What made the turns of the group in the graph, the latest last."""
    stale_parts: tuple[StalePart, ...]
    """What made turns of the group stale by their recipe."""
    chars: int
    """Characters of the episodes that a run would commit."""
    summaries: Mapping[GateReason, int]
    """Decisions of the turns in the graph about summaries, by reason."""

    @property
    def group(self) -> GroupId:
        return self.turns.group


async def plan_group(
    group: GroupId,
    lake: Lake,
    store: ReceiptStore,
    scope: Scope,
    *,
    recipe: Callable[[GroupId, str], RecipeParts] | None,
    context_turns: int,
) -> GroupPlan:
    """Plan what a run must do for a group. Writes nothing.

    Args:
        group: a group of the lake, of the graph, or of both.
        lake: holds the episodes of the group.
        store: holds the receipts of the group; it is read here and not kept.
        scope: which turns a run may commit.
        recipe: returns how turns of a group and kind would be extracted today; None if it is not
            known.
        context_turns: number of earlier turns of the session that the model is shown.

    Raises:
        GraphBusy: the graph did not respond.
        GraphUnusable: the graph cannot be used as it is.
        TableUnusable: the episodes table is damaged.
    """
    with lake.reading_episodes(group):
        rows = candidates.candidate_rows(lake, group, scope)
        compared = rows.select(*COLUMNS, "chars_after").collect()
    receipts = await store.receipts(group)
    today = cache(partial(recipe, group)) if recipe is not None else None
    turns = plan_turns(
        group,
        compared,
        receipts,
        Quarantine(lake.files, group).turns(),
        scope,
        recipe=(lambda kind: recipe_digest(today(kind))) if today is not None else None,
        context_turns=context_turns,
    )
    prompts = superseded_prompts(lake, group, receipts, set(compared["turn_id"].to_list()))
    turns = replace(turns, superseded_prompts=prompts if scope.sessions is None else ())
    usage = sum((receipt.usage for receipt in receipts), Usage())
    batch_rows = candidates.BATCH_ROWS if scope.assume is None else None
    changed = await _stale_parts(turns, store, today)
    chars = int(compared.filter(pl.col("turn_id").is_in(turns.to_commit))["chars_after"].sum())
    summaries = reason_counts(text for one in receipts for text in one.summary_reasons)
    uses = extractor_uses(receipts)
    return GroupPlan(turns, rows, batch_rows, usage, uses, changed, chars, summaries)


async def _stale_parts(
    plan: TurnPlan, store: ReceiptStore, today: Callable[[str], RecipeParts] | None
) -> tuple[StalePart, ...]:
    if today is None or not plan.stale_recipes:
        return ()
    recorded = await store.recipes({digest for _, digest in plan.stale_recipes})
    return stale_parts(plan.stale_recipes, recorded, today)


async def group_status(plan: GroupPlan, lake: Lake, store: ReceiptStore) -> GroupReport:
    """Return the report of a group of which nothing was ingested yet. Writes nothing."""
    entries = Quarantine(lake.files, plan.group).entries()
    report = group_report(plan.turns, await _counts(store, plan.group), entries)
    return replace(
        report,
        usage=plan.usage,
        extractor_uses=plan.extractor_uses,
        stale_parts=plan.stale_parts,
        summaries=plan.summaries,
    )


def refused_change(report: GroupReport, extractor: str) -> GroupReport:
    """Return the report with an error if another extractor than this one filled the group."""
    error = unintended_change(report.group, report.extractor_uses, extractor)
    return report if error is None else _failed(report, error)


async def ingest_group(
    plan: GroupPlan,
    resources: IngestResources,
    run: IngestRun,
    progress: Callable[[int, int], None],
    *,
    lease: Lease | None = None,
) -> GroupReport:
    """Commit the turns of the plan; write nothing if there are none.

    Turns that another run committed after the plan was made are skipped.

    Args:
        plan: the plan of the group.
        resources: lake, graph, extractor and embedder.
        run: identity and limits of the run.
        progress: called with (turns done, turns to do).
        lease: of the group, if the caller holds it.

    Returns:
        The report, also if the group could not be completed: what was committed stays committed.
    """
    quarantine = Quarantine(resources.lake.files, plan.group)
    pipeline = TurnPipeline(
        resources.store,
        resources.extractor,
        resources.embedder,
        quarantine,
        run,
        admission=resources.admission,
        summaries=resources.summaries,
        ahead=resources.ahead,
    )
    episodes = candidates.load_episodes(plan.rows, plan.turns.required, batch_rows=plan.batch_rows)
    error = None
    if plan.turns.to_commit:
        error = await _run(plan.turns, episodes, pipeline, progress, lease)
    counts, done = await _known_counts(resources.store, plan.group), pipeline.done
    report = replace(
        group_report(
            plan.turns,
            counts,
            quarantine.entries(),
            committed=done.committed,
            already_committed=done.already_committed,
        ),
        stale_parts=plan.stale_parts,
        discarded=done.discarded,
        summaries=done.summaries,
        invalidations=done.invalidations,
    )
    return report if error is None else _failed(report, error)


async def _known_counts(store: ReceiptStore, group: GroupId) -> GroupCounts:
    """Return the counts; none of them if the graph does not respond."""
    with suppress(TurnetlError):
        return await _counts(store, group)
    return GroupCounts()


def unplanned_report(group: GroupId, lake: Lake, error: TurnetlError) -> GroupReport:
    """Return the report of a group that could not be planned: every turn is pending, unknown."""
    return _failed(unread_report(group, lake), error)


def unread_report(group: GroupId, lake: Lake) -> GroupReport:
    """Return the report of a group whose graph was not read: every turn is pending, unknown.

    Of a group whose episodes table is damaged the turns are not counted.
    """
    try:
        turns = lake.scan_episodes(group).select(pl.len()).collect().item()
    except TableUnusable:
        turns = 0
    return GroupReport(group, turns=turns, pending_reasons={PendingReason.UNKNOWN: turns})


def planned_turns(plan: GroupPlan) -> Iterator[tuple[Episode, list[Episode]]]:
    """Yield the turns that a run would commit, each with its context. Writes nothing."""
    episodes = candidates.load_episodes(plan.rows, plan.turns.required, batch_rows=plan.batch_rows)
    yield from with_context(episodes, plan.turns.context)


def next_turns(plan: GroupPlan, limit: int) -> list[tuple[Episode, list[Episode]]]:
    """Return the first turns that a run would commit, each with its context. Writes nothing.

    Args:
        plan: the plan of the group.
        limit: maximum number of turns.
    """
    first = {turn: plan.turns.context[turn] for turn in plan.turns.to_commit[:limit]}
    required = {*first, *(earlier for turns in first.values() for earlier in turns)}
    return list(with_context(candidates.load_episodes(plan.rows, required), first))


async def _run(
    plan: TurnPlan,
    episodes: Iterable[Episode],
    pipeline: TurnPipeline,
    progress: Callable[[int, int], None],
    lease: Lease | None,
) -> TurnetlError | None:
    """Ingest the turns of the plan, and return the error that stopped it, if any."""
    total = len(plan.to_commit)
    progress(0, total)

    def advance(done: IngestProgress) -> None:
        progress(done.turns, total)

    try:
        await pipeline.ingest(plan.group, episodes, plan.context, advance, lease=lease)
    except TurnetlError as error:
        return error
    return None


async def _counts(store: ReceiptStore, group: GroupId) -> GroupCounts:
    return GroupCounts(*await store.counts(group))


def _failed(report: GroupReport, error: TurnetlError) -> GroupReport:
    return replace(
        report,
        error=str(error),
        exit_code=error.exit_code,
        retryable=isinstance(error, Retryable),
        stop_cause=_stop_cause(error),
    )


def _stop_cause(error: TurnetlError) -> StopCause | None:
    if isinstance(error, BudgetExhausted):
        return StopCause.BUDGET
    return StopCause.PROVIDER if isinstance(error, ModelUnusable) else None
