"""Plan, report and ingest one group: from its episodes table to the graph.

The candidate turns depend on the clock and on options, so no table contains them.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import polars as pl

from turnetl.base.batched import grouped
from turnetl.base.errors import (
    BudgetExhausted,
    ModelUnusable,
    Retryable,
    TableUnusable,
    TurnetlError,
)
from turnetl.base.graph_model import Lease, Receipt
from turnetl.base.ids import RecipeParts, recipe_digest
from turnetl.base.model import ClosedBy, Episode, GroupId, TurnId, Usage
from turnetl.base.progress import RunCost
from turnetl.extraction.port import Extractor
from turnetl.formats import PROMPT_HISTORIES
from turnetl.graph.port import GraphStore, ReceiptStore, TurnStore
from turnetl.ingestion import plan
from turnetl.ingestion.admission import TurnAdmission, with_context
from turnetl.ingestion.ingest_report import (
    ExtractorUse,
    GroupCounts,
    GroupReport,
    StopCause,
    extractor_uses,
    group_report,
    unintended_change,
)
from turnetl.ingestion.ingest_run import IngestRun
from turnetl.ingestion.plan import COLUMNS, Scope, TurnPlan, plan_turns
from turnetl.ingestion.quarantine import Quarantine
from turnetl.ingestion.reasons import PendingReason, StalePart, stale_parts
from turnetl.ingestion.turn_pipeline import TurnPipeline
from turnetl.lake import Lake, episode_from_row
from turnetl.llm.embedders import Embedder
from turnetl.summaries.reasons import GateReason, reason_counts

if TYPE_CHECKING:  # imports numpy, which a run without new turns does without
    from turnetl.ingestion.turn_summaries import SummaryRules
    from turnetl.llm.ahead import AheadModel


Recipe = Callable[[GroupId, str], RecipeParts]
"""Returns how turns of a group and kind would be extracted today."""


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
    shadow: TurnStore | None = None
    """Where turns are committed; None: in `store`."""

    @property
    def turn_store(self) -> TurnStore:
        return self.shadow or self.store

    def run_cost(self, used: Usage) -> RunCost:
        unused = 0 if self.ahead is None else self.ahead.unused_tokens
        return replace(self.admission.run_cost(used), unused_tokens=unused)


@dataclass(frozen=True, slots=True)
class GroupPlan:
    """The plan of one group, made once per run, with the rows that it was made from."""

    turns: TurnPlan
    rows: pl.LazyFrame
    """Rows from `candidate_rows`."""
    batch_rows: int | None
    """Rows of the table that may be in memory together; None if `rows` is in another order."""
    usage: Usage
    """Of all turns of the group in the graph."""
    extractor_uses: tuple[ExtractorUse, ...]
    """What made the turns of the group in the graph, the latest last."""
    stale_parts: tuple[StalePart, ...]
    chars: int
    """Characters of the episodes that a run would commit."""
    summaries: Mapping[GateReason, int]
    """Decisions of the turns in the graph about summaries, by reason."""

    @property
    def group(self) -> GroupId:
        return self.turns.group

    def episodes(self) -> Iterator[Episode]:
        """Yield the turns that a run would commit and those of their context, in table order."""
        yield from load_episodes(self.rows, self.turns.required, batch_rows=self.batch_rows)


async def plan_group(
    group: GroupId,
    lake: Lake,
    store: ReceiptStore,
    scope: Scope,
    *,
    recipe: Recipe | None,
    context_turns: int,
) -> GroupPlan:
    """Plan what a run must do for a group of the lake, of the graph, or of both. Writes nothing."""
    with lake.reading_episodes(group):
        rows = candidate_rows(lake, group, scope)
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
    batch_rows = BATCH_ROWS if scope.assume is None else None
    changed = await changed_parts(turns.stale_recipes, store, today)
    chars = int(compared.filter(pl.col("turn_id").is_in(turns.to_commit))["chars_after"].sum())
    summaries = reason_counts(text for one in receipts for text in one.summary_reasons)
    uses = extractor_uses(receipts)
    return GroupPlan(turns, rows, batch_rows, usage, uses, changed, chars, summaries)


async def changed_parts(
    stale_recipes: Mapping[tuple[str, str], int],
    store: ReceiptStore,
    today: Callable[[str], RecipeParts] | None,
) -> tuple[StalePart, ...]:
    """Return `stale_parts` of recorded recipes; none if those of today are not known."""
    if today is None or not stale_recipes:
        return ()
    recorded = await store.recipes({digest for _, digest in stale_recipes})
    return stale_parts(stale_recipes, recorded, today)


async def group_status(plan: GroupPlan, lake: Lake, store: ReceiptStore) -> GroupReport:
    """Return the report of a group of which nothing was ingested yet. Writes nothing."""
    entries = Quarantine(lake.files, plan.group).entries()
    report = group_report(plan.turns, GroupCounts(*await store.counts(plan.group)), entries)
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

    Turns that another run committed after the plan was made are skipped. The report is returned
    also if the group could not be completed: what was committed stays committed. `lease` is that of
    the group, if the caller holds it.
    """
    quarantine = Quarantine(resources.lake.files, plan.group)
    pipeline = TurnPipeline(
        resources.turn_store,
        resources.extractor,
        resources.embedder,
        quarantine,
        run,
        admission=resources.admission,
        summaries=resources.summaries,
        ahead=resources.ahead,
    )
    error: TurnetlError | None = None
    if total := len(plan.turns.to_commit):
        progress(0, total)
        try:
            await pipeline.ingest(
                plan.group,
                plan.episodes(),
                plan.turns.context,
                lambda done: progress(done.turns, total),
                lease=lease,
            )
        except TurnetlError as caught:
            error = caught
    counts, done = await _known_counts(resources.turn_store, plan.group), pipeline.done
    held = plan.turns.facts_held + sum(turn.held for turn in done.invalidations)
    report = replace(
        group_report(
            replace(plan.turns, facts_held=held),
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
    with suppress(TurnetlError):
        return GroupCounts(*await store.counts(group))
    return GroupCounts()


def unplanned_report(group: GroupId, lake: Lake, error: TurnetlError) -> GroupReport:
    """Return the report of a group that could not be planned: every turn is pending, unknown."""
    return _failed(unread_report(group, lake), error)


def unread_report(group: GroupId, lake: Lake) -> GroupReport:
    """Return the report of a group whose graph was not read: every turn is pending, unknown."""
    try:
        turns = lake.scan_episodes(group).select(pl.len()).collect().item()
    except TableUnusable:
        turns = 0
    return GroupReport(group, turns=turns, pending_reasons={PendingReason.UNKNOWN: turns})


def planned_turns(plan: GroupPlan) -> Iterator[tuple[Episode, list[Episode]]]:
    """Yield the turns that a run would commit, each with its context. Writes nothing."""
    yield from with_context(plan.episodes(), plan.turns.context)


def next_turns(plan: GroupPlan, limit: int) -> list[tuple[Episode, list[Episode]]]:
    """Return the first turns that a run would commit, each with its context. Writes nothing."""
    first = {turn: plan.turns.context[turn] for turn in plan.turns.to_commit[:limit]}
    required = {*first, *(earlier for turns in first.values() for earlier in turns)}
    return list(with_context(load_episodes(plan.rows, required), first))


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


BATCH_ROWS = 2000
"""Rows of a table in memory together: some megabytes, or as much as its longest turns."""


def candidate_rows(lake: Lake, group: GroupId, scope: Scope) -> pl.LazyFrame:
    """Return the rows of `schema.EPISODES` by time, with `has_no_time`: the archive has none."""
    rows = lake.scan_episodes(group).with_columns(
        pl.col("started_at").is_null().alias("has_no_time")
    )
    if scope.sessions is not None:
        rows = rows.filter(_is_of(scope.sessions))
    if scope.assume is not None and rows.select(pl.col("has_no_time").any()).collect().item():
        archives = [file.metadata for file in lake.turn_files(group)]
        rows = plan.fill_assumed_times(rows, lake.scan_turns(group), archives, scope.assume)
    return close_inactive_turns(rows, scope.now - scope.close_after)


def _is_of(sessions: Collection[tuple[str, str]]) -> pl.Expr:
    by_format = grouped(sorted(sessions))
    return pl.any_horizontal(
        pl.lit(value=False),
        *(
            (pl.col("format") == name) & pl.col("session_id").is_in(ids)
            for name, ids in by_format.items()
        ),
    )


def load_episodes(
    rows: pl.LazyFrame, turn_ids: Collection[TurnId], *, batch_rows: int | None = None
) -> Iterator[Episode]:
    """Yield the episodes of these turns, in the order of the rows.

    Args:
        rows: from `candidate_rows`.
        batch_rows: rows of the table in memory together. None if times are assumed: the order is
            then not the table's, and all selected rows are in memory together.
    """
    selected = pl.col("turn_id").is_in(sorted(turn_ids))
    for batch in [rows] if batch_rows is None else _batches(rows, selected, batch_rows):
        loaded = batch.filter(selected).drop("has_no_time").collect()
        yield from (episode_from_row(row) for row in loaded.iter_rows(named=True))


def _batches(rows: pl.LazyFrame, selected: pl.Expr, size: int) -> Iterator[pl.LazyFrame]:
    selected_rows = rows.select("turn_id").with_row_index("position").filter(selected)
    positions = selected_rows.collect()["position"]
    for number in (positions // size).unique(maintain_order=True):
        yield rows.slice(number * size, size)


def close_inactive_turns(rows: pl.LazyFrame, inactive_since: datetime) -> pl.LazyFrame:
    """Close the open turns whose archive recorded nothing after `inactive_since`.

    A turn that stopped midway is closed as interrupted: a tool call has no outcome, or there is
    neither a response nor a tool call.
    """
    last_written = pl.coalesce("ended_at", "started_at")
    inactive = ~pl.col("closed") & (last_written <= inactive_since).fill_null(value=False)
    closed_by = (
        pl.when(_was_interrupted())
        .then(pl.lit(ClosedBy.INTERRUPTED))
        .otherwise(pl.lit(ClosedBy.INACTIVITY))
    )
    return rows.with_columns(
        pl.when(inactive).then(closed_by).otherwise("closed_by").alias("closed_by"),
        (pl.col("closed") | inactive).alias("closed"),
    )


def _was_interrupted() -> pl.Expr:
    call = pl.element().struct
    unfinished = (call.field("result") == "") & call.field("ended_at").is_null()
    no_response = pl.col("assistant_text").str.strip_chars() == ""
    no_calls = pl.col("tool_calls").list.len() == 0
    return pl.col("tool_calls").list.eval(unfinished).list.any() | (no_response & no_calls)


def superseded_prompts(
    lake: Lake, group: GroupId, receipts: Iterable[Receipt], candidates: Collection[str]
) -> tuple[TurnId, ...]:
    """Return the committed prompts that are copies of turns of transcripts now, oldest first.

    They are none of the candidates: a copy has the id of its turn in the episodes table.
    """
    missing = [
        receipt
        for receipt in receipts
        if receipt.format in PROMPT_HISTORIES and receipt.turn_id not in candidates
    ]
    if not missing:
        return ()
    ids = [receipt.turn_id for receipt in missing]
    rows = lake.scan_turns(group).filter(pl.col("turn_id").is_in(ids))
    in_lake = set(rows.select("turn_id").collect()["turn_id"].to_list())
    ordered = sorted(missing, key=lambda receipt: (receipt.started_at, receipt.turn_id))
    return tuple(receipt.turn_id for receipt in ordered if receipt.turn_id in in_lake)
