"""Episode tables to the graph, and what stands in it."""

import asyncio
import logging
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from turnetl import episodes, wiring
from turnetl.errors import BadUsage, TurnetlError
from turnetl.graph.port import GraphStore
from turnetl.ingest import group as ingesting
from turnetl.ingest.group import GroupPlan, IngestResources
from turnetl.ingest.missing_archives import missing_archives
from turnetl.ingest.reasons import PendingReason
from turnetl.ingest.report import GroupReport, IngestReport
from turnetl.ingest.turn_pipeline import IngestRun
from turnetl.lake import Lake, TurnFile
from turnetl.llm.stack import ModelStack
from turnetl.model import GroupId
from turnetl.progress import Progress, Step, silent
from turnetl.report.sample_queries import sample_queries
from turnetl.run_options import Clock, RunOptions, chosen, for_run, has_work, new_run, scope_of
from turnetl.search.search import Hit, search
from turnetl.settings import Settings

_SMALL = 5_000
"""Facts that are read in well under a second."""

log = logging.getLogger(__name__)

Files = Mapping[GroupId, Sequence[TurnFile]]
"""What the turns files of each group of the lake say of themselves."""


async def ingest(
    settings: Settings, limits: RunOptions, clock: Clock, *, progress: Progress = silent
) -> IngestReport:
    """Bring what is left of the groups into the graph, groups side by side.

    If nothing is left, or only to be looked at, the graph is opened for reading only. A graph that
    cannot be opened stands in the report.
    """
    wiring.check(for_run(settings, limits), limits.preprocessing)
    try:
        standing = await _standing(_files(Lake(settings.lake)), settings, limits, clock)
        _, before = standing
        if limits.dry_run or not any(has_work(of, limits) for of in before.groups):
            return before
        return await _ingest(standing, settings, limits, clock, progress)
    except BadUsage:
        raise
    except TurnetlError as error:
        return IngestReport(None, (), error=str(error), exit_code=error.exit_code)


async def ingest_group(
    group: GroupId,
    tools: IngestResources,
    limits: RunOptions,
    run: IngestRun,
    settings: Settings,
    *,
    progress: Progress = silent,
) -> GroupReport:
    """Plan and ingest one group."""
    try:
        plan = await ingesting.plan_group(
            group,
            tools.lake,
            tools.store,
            scope_of(settings, limits, run.clock()),
            recipe=tools.extractor.recipe,
            context_turns=settings.context_turns,
        )
    except TurnetlError as error:
        return ingesting.unplanned_report(group, tools.lake, error)
    return await _ingest_plan(plan, tools, run, progress)


async def _ingest_plan(
    plan: GroupPlan, tools: IngestResources, run: IngestRun, progress: Progress
) -> GroupReport:
    return await ingesting.ingest_group(
        plan, tools, run, lambda done, total: progress(Step("ingest", plan.group, done, total))
    )


async def status(settings: Settings, limits: RunOptions, clock: Clock) -> IngestReport:
    """Say how every group of lake or graph stands, and which archives are gone. Writes nothing."""
    files = _files(Lake(settings.lake))
    _, report = await _standing(files, settings, limits, clock)
    gone = {group: missing_archives(file.origin for file in of) for group, of in files.items()}
    return replace(
        report,
        groups=tuple(replace(of, missing_archives=gone.get(of.group, ())) for of in report.groups),
    )


async def find(
    query: str,
    settings: Settings,
    *,
    groups: Sequence[str] = (),
    since: datetime | None = None,
    until: datetime | None = None,
    limit: int = 10,
) -> Sequence[Hit]:
    """Return the turns that answer the query best, each with its facts. Writes nothing."""
    async with wiring.store(settings, write=False) as store:
        there = await store.groups()
        if not there:
            log.warning("this graph holds nothing yet: run `turnetl backfill`, or see to --graph")
        names = chosen(there, groups)
        contents = [await store.load(name) for name in names]
    async with wiring.embedder(settings) as used:
        return await search(contents, query, used, limit=limit, since=since, until=until)


async def all_of(jobs: Iterable[Awaitable[GroupReport]]) -> list[GroupReport]:
    """Wait for every job, then raise what the first one raised, if any did."""
    results = await asyncio.gather(*jobs, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return [result for result in results if not isinstance(result, BaseException)]


def _files(lake: Lake) -> Files:
    """Ask the turns files, once: there may be thousands."""
    return {group: lake.turn_files(group) for group in lake.groups()}


async def _standing(
    files: Files, settings: Settings, limits: RunOptions, clock: Clock
) -> tuple[Mapping[GroupId, GroupPlan], IngestReport]:
    lake, scope = Lake(settings.lake), scope_of(settings, limits, clock())
    recipe, filters = wiring.recipe(for_run(settings, limits)), wiring.filters(settings)
    async with wiring.store(settings, write=False) as store:
        there = sorted({*files, *await store.groups()})
        plans = {
            group: await ingesting.plan_group(
                group, lake, store, scope, recipe=recipe, context_turns=settings.context_turns
            )
            for group in chosen(there, limits.groups)
        }
        reports = [await ingesting.group_status(plan, lake, store) for plan in plans.values()]
    outdated = {
        group for group, of in files.items() if not episodes.is_current(lake, group, of, filters)
    }
    return plans, IngestReport(
        None, tuple(_outdated(of) if of.group in outdated else of for of in reports)
    )


async def _ingest(
    standing: tuple[Mapping[GroupId, GroupPlan], IngestReport],
    settings: Settings,
    limits: RunOptions,
    clock: Clock,
    progress: Progress,
) -> IngestReport:
    """Ingest the groups that have something to do; the others stand as they stood before."""
    plans, before = standing
    run, once = new_run(settings, clock), for_run(settings, limits)
    at_once = asyncio.Semaphore(settings.group_concurrency)
    with wiring.shared(once, clock) as around:
        async with wiring.tools(once, around) as tools:

            async def one(stood: GroupReport) -> GroupReport:
                if not has_work(stood, limits):
                    return stood
                async with at_once:
                    return await _ingest_plan(plans[stood.group], tools, run, progress)

            reports = await all_of(one(stood) for stood in before.groups)
            asked = await _questions(reports, tools.store)
            return accounted(IngestReport(run.run_id, tuple(reports), asked), around)


def accounted(report: IngestReport, around: ModelStack) -> IngestReport:
    """Return the report with what the model was asked for."""
    used = around.meter.by_prompt() if around.meter is not None else {}
    kept = around.journal.answered if around.journal is not None else 0
    return replace(report, usage_by_prompt=used, journal_hits=kept)


def _outdated(report: GroupReport) -> GroupReport:
    """Take a group that would be filtered otherwise today as one that is not ready."""
    return replace(
        report,
        pending_reasons={PendingReason.UNFILTERED: report.pending} if report.pending else {},
        error="not yet filtered, or turns, rules or templates changed since; run `turnetl filter`",
        exit_code=1,
    )


async def _questions(reports: Sequence[GroupReport], store: GraphStore) -> tuple[str, ...]:
    """Ask the group that grew most, unless reading it would take long."""
    grown = [of for of in reports if of.committed and of.counts and of.counts.facts <= _SMALL]
    if not grown:
        return ()
    return sample_queries(await store.load(max(grown, key=lambda of: of.committed).group))
