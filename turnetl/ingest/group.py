"""One group, from its episodes table into the graph, with an account of every turn."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import polars as pl

from turnetl.errors import Retryable, TurnetlError
from turnetl.extraction.port import Extractor
from turnetl.graph.port import GraphStore
from turnetl.ingest import candidates
from turnetl.ingest import plan as planning
from turnetl.ingest.pipeline import IngestProgress, IngestRun, Pipeline
from turnetl.ingest.plan import Plan, Scope
from turnetl.ingest.prefetch import with_context
from turnetl.ingest.quarantine import Quarantine
from turnetl.ingest.report import GroupCounts, GroupReport, group_report
from turnetl.lake import Lake
from turnetl.llm.port import Embedder
from turnetl.model import Episode, GroupId, Receipt, Usage


@dataclass(frozen=True, slots=True)
class IngestResources:
    """What a group is ingested with; opened by the caller, shared by all groups."""

    lake: Lake
    store: GraphStore
    extractor: Extractor[Any]
    embedder: Embedder
    context_turns: int


async def status(
    group: GroupId,
    lake: Lake,
    store: GraphStore,
    scope: Scope,
    *,
    recipe: Callable[[GroupId, str], str] | None,
) -> GroupReport:
    """Say how a group stands. Writes nothing.

    Args:
        group: of lake or graph, or of both.
        lake: where its episodes are.
        store: where its receipts are.
        scope: which turns a run would take.
        recipe: how a run would extract the turns of a group and kind; None if that cannot be told.
    """
    rows = candidates.episodes(lake, group, scope)
    by_kind = partial(recipe, group) if recipe is not None else None
    receipts = await store.receipts(group)
    plan = _plan(group, rows, lake, receipts, scope, recipe=by_kind, context_turns=0)
    stands = group_report(plan, await _holds(store, group), Quarantine(lake.root, group).entries())
    return replace(stands, usage=sum((one.usage for one in receipts), Usage()))


async def ingest(
    group: GroupId,
    tools: IngestResources,
    scope: Scope,
    run: IngestRun,
    progress: Callable[[int, int], None],
) -> GroupReport:
    """Commit what is left of the group; writes nothing if nothing is left.

    Args:
        group: a group with an episodes table.
        tools: lake, graph, extractor and embedder.
        scope: which turns.
        run: who writes.
        progress: told (turns dealt with, turns to do).

    Returns:
        The account, also of a group that could not be finished: what was committed stays.
    """
    try:
        rows = candidates.episodes(tools.lake, group, scope)
        plan = _plan(
            group,
            rows,
            tools.lake,
            await tools.store.receipts(group),
            scope,
            recipe=partial(tools.extractor.recipe, group),
            context_turns=tools.context_turns,
        )
    except TurnetlError as refused:
        return _stopped(_unasked(group, tools.lake), refused)
    quarantine = Quarantine(tools.lake.root, group)
    pipeline = Pipeline(tools.store, tools.extractor, tools.embedder, quarantine, run)
    at_once = candidates.AT_ONCE if scope.assume is None else None
    episodes = candidates.values(rows, plan.needed, at_once=at_once)
    error = await _carry(plan, episodes, pipeline, progress) if plan.todo else None
    holds = None
    with suppress(TurnetlError):
        holds = await _holds(tools.store, group)
    done = pipeline.done
    report = replace(
        group_report(plan, holds, quarantine.entries(), committed=done.committed),
        discarded=done.discarded,
        invalidating=done.invalidating,
    )
    return report if error is None else _stopped(report, error)


async def upcoming(
    group: GroupId,
    lake: Lake,
    store: GraphStore,
    scope: Scope,
    *,
    context_turns: int,
    most: int,
) -> list[tuple[Episode, list[Episode]]]:
    """Return the turns that a run would take first, at most so many, each with its context.

    Writes nothing.
    """
    rows = candidates.episodes(lake, group, scope)
    receipts = await store.receipts(group)
    plan = _plan(group, rows, lake, receipts, scope, recipe=None, context_turns=context_turns)
    first = {turn: plan.context[turn] for turn in plan.todo[:most]}
    needed = {*first, *(before for turns in first.values() for before in turns)}
    return list(with_context(candidates.values(rows, needed), first))


async def _carry(
    plan: Plan,
    episodes: Iterable[Episode],
    pipeline: Pipeline,
    progress: Callable[[int, int], None],
) -> TurnetlError | None:
    """Do what is to do, and return what stopped it."""
    todo = len(plan.todo)
    progress(0, todo)

    def tell(done: IngestProgress) -> None:
        progress(done.committed + done.quarantined, todo)

    try:
        await pipeline.ingest(plan.group, episodes, plan.context, tell)
    except TurnetlError as error:
        return error
    return None


def _plan(
    group: GroupId,
    rows: pl.LazyFrame,
    lake: Lake,
    receipts: Sequence[Receipt],
    scope: Scope,
    *,
    recipe: Callable[[str], str] | None,
    context_turns: int,
) -> Plan:
    return planning.make(
        group,
        rows.select(planning.COLUMNS).collect(),
        receipts,
        Quarantine(lake.root, group).turns(),
        scope,
        recipe=recipe,
        context_turns=context_turns,
    )


async def _holds(store: GraphStore, group: GroupId) -> GroupCounts:
    return GroupCounts(*await store.counts(group))


def _unasked(group: GroupId, lake: Lake) -> GroupReport:
    """Return the report of a group of which the graph said nothing."""
    turns = lake.scan_episodes(group).select(pl.len()).collect().item()
    return GroupReport(group, turns=turns, pending_reasons={planning.UNKNOWN: turns})


def _stopped(report: GroupReport, error: TurnetlError) -> GroupReport:
    again = isinstance(error, Retryable)
    return replace(report, error=str(error), exit_code=error.exit_code, again=again)
