"""Episode tables to the graph, groups in parallel."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from turnetl import wiring
from turnetl.base.clock import Clock
from turnetl.base.errors import BadUsage, GraphBusy, TurnetlError
from turnetl.base.model import GroupId, TurnId, Usage
from turnetl.base.progress import Progress, ProgressUpdate, ignore_progress
from turnetl.base.reason import add_counts
from turnetl.ingestion import estimate_record
from turnetl.ingestion import group as ingesting
from turnetl.ingestion.estimate_record import RecordedEstimate
from turnetl.ingestion.group import GroupPlan, IngestResources
from turnetl.ingestion.ingest_run import IngestRun
from turnetl.ingestion.plan import Scope
from turnetl.ingestion.reasons import PendingReason
from turnetl.ingestion.report import GroupReport, IngestReport
from turnetl.pipeline.executor import Executor, InProcess
from turnetl.pipeline.group_plans import (
    PlannedGroups,
    plan_groups,
    refused_report,
    turn_files,
)
from turnetl.pipeline.kept_report import kept_report
from turnetl.pipeline.run_options import (
    RunOptions,
    has_work,
    ingest_scope,
    new_ingest_run,
    settings_for_run,
)
from turnetl.pipeline.waiting import after_other_writers, tell
from turnetl.settings import Settings

if TYPE_CHECKING:  # a run without new turns does without it
    from turnetl.llm.stack import ModelStack


async def ingest(
    settings: Settings,
    options: RunOptions,
    clock: Clock,
    *,
    executor: Executor = InProcess(),  # noqa: B008 - a frozen value
    progress: Progress = ignore_progress,
) -> IngestReport:
    """Ingest the pending turns of the groups, groups in parallel.

    The graph is opened for reading only if nothing is pending, and in a dry run: its report has the
    requests that would extract the next turns. A graph that cannot be opened is an error in the
    report. A busy graph or group is tried again for as long as the options say.

    Raises:
        BadUsage: settings or options that are not valid.
    """
    wiring.check(settings_for_run(settings, options), options.preprocessing)
    try:
        report = await after_other_writers(
            lambda: _plan_and_ingest(settings, options, clock, executor, progress),
            seconds=options.wait_seconds,
            busy=GraphBusy,
        )
    except BadUsage:
        raise
    except TurnetlError as error:
        report = refused_report(settings, options, error)
    return replace(report, is_shard=options.shard is not None)


async def _plan_and_ingest(
    settings: Settings,
    options: RunOptions,
    clock: Clock,
    executor: Executor,
    progress: Progress,
) -> IngestReport:
    """Plan the groups and ingest them; after a turn is committed, no error is raised any more."""
    files = turn_files(wiring.lake(settings), options.shard)
    planned = await plan_groups(files, settings, options, clock)
    planned = without_unintended_changes(planned, settings, options)
    if options.dry_run:
        from turnetl.pipeline.previews import preview_requests  # noqa: PLC0415 - the models

        requests = await preview_requests(planned, settings, options, clock)
        return replace(planned.report, requests=tuple(requests))
    if not any(has_work(group, options) for group in planned.report.groups):
        return planned.report
    async with executor.ingesting():
        return await _ingest(
            planned, settings, options, clock, executor=executor, progress=progress
        )


def without_unintended_changes(
    planned: PlannedGroups, settings: Settings, options: RunOptions
) -> PlannedGroups:
    """Return the plans with an error for each group that another extractor would continue.

    Unless the extractor is named: by an option, an argument or a setting.
    """
    if settings.extractor is not None:
        return planned
    groups = tuple(
        ingesting.refused_change(group, settings.extractor_name)
        if has_work(group, options)
        else group
        for group in planned.report.groups
    )
    return replace(planned, report=replace(planned.report, groups=groups))


async def _ingest(
    planned: PlannedGroups,
    settings: Settings,
    options: RunOptions,
    clock: Clock,
    *,
    executor: Executor,
    progress: Progress,
) -> IngestReport:
    """Open the model and the graph for writing, and ingest the groups."""
    from turnetl.pipeline.index_updates import IndexUpdates  # noqa: PLC0415 - the whole index
    from turnetl.pipeline.run_records import recording, run_recorder  # noqa: PLC0415 - as above

    run_settings = settings_for_run(settings, options)
    groups = tuple(group.group for group in planned.report.groups if has_work(group, options))

    async def work(keep: Callable[[IngestReport], None]) -> None:
        async with wiring.model_stack(run_settings, clock) as stack:
            async with wiring.ingest_resources(run_settings, stack) as resources:
                index = IndexUpdates(run_settings, clock, resources.store, stack.meter)
                run = new_ingest_run(run_settings, clock)
                estimate = _estimate(planned, groups, resources, run)
                recorder = run_recorder(
                    run, groups, resources, settings=run_settings, options=options, stack=stack
                )
                async with index.running(), recording(recorder):
                    report = await ingest_groups(
                        planned,
                        resources,
                        settings,
                        options,
                        replace(run, on_lease=recorder.started),
                        executor=executor,
                        progress=progress,
                        on_commits=index.committed,
                        used=stack.used,
                    )
                    report = replace(report, estimate=estimate)
                    keep(with_model_usage(report, stack))
                    await recorder.ended(report)
            await index.finish()
            # The index may have asked an embedder for vectors meanwhile.
            cost = resources.run_cost(stack.used())
            keep(replace(with_model_usage(report, stack), cost=cost))

    return await kept_report(work)


async def ingest_groups(
    planned: PlannedGroups,
    resources: IngestResources,
    settings: Settings,
    options: RunOptions,
    run: IngestRun,
    *,
    executor: Executor,
    progress: Progress,
    on_commits: Callable[[], None] = lambda: None,
    used: Callable[[], Usage] = Usage,
) -> IngestReport:
    """Ingest the groups that have turns to ingest, the longest first; the others keep their report.

    Busy groups are tried again after the others. `on_commits` is called after each group of which
    turns were committed; `used` returns the usage of the run so far.
    """
    for plan in planned.plans.values():
        resources.admission.costs.plan(len(plan.turns.to_commit), plan.chars)
    scope, context_turns = ingest_scope(settings, options, run.clock()), settings.context_turns
    slots = asyncio.Semaphore(settings.group_concurrency)
    plans = planned.plans
    works = {
        group: GroupWork(
            group, plans.get(group), resources, run, scope, context_turns, progress, used
        )
        for group in (state.group for state in planned.report.groups if has_work(state, options))
    }

    async def ingest_one(state: GroupReport) -> GroupReport:
        if (work := works.get(state.group)) is None:
            return state
        async with slots:
            report = await executor.run_group(state.group, work)
        if report.committed:
            on_commits()
        return report

    reports = await _longest_first(planned.report.groups, ingest_one)
    reports = await after_busy_groups(reports, ingest_one, seconds=options.wait_seconds)
    return IngestReport(run.run_id, tuple(reports))


async def _longest_first(
    groups: Sequence[GroupReport], ingest_one: Callable[[GroupReport], Awaitable[GroupReport]]
) -> list[GroupReport]:
    """Start the groups with the most turns first: started last, one would run alone at the end.

    Returns:
        The reports, in the order given, after all groups; then the first exception is raised.
    """
    order = sorted(groups, key=lambda group: -group.ready)
    results = await asyncio.gather(*map(ingest_one, order), return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result
    reports = {one.group: one for one in results if not isinstance(one, BaseException)}
    return [reports[group.group] for group in groups]


def _estimate(
    planned: PlannedGroups, groups: Sequence[GroupId], resources: IngestResources, run: IngestRun
) -> RecordedEstimate | None:
    """Return the estimate of exactly the turns that the run starts with, if there is one."""
    plans = [planned.plans[group].turns for group in groups if group in planned.plans]
    return assigned_estimate([plan.to_commit for plan in plans], resources, run)


def assigned_estimate(
    groups: Sequence[Collection[TurnId]], resources: IngestResources, run: IngestRun
) -> RecordedEstimate | None:
    """Return the estimate of these turns, by group, and keep it for the run; None if none fits."""
    extractor = resources.extractor
    return estimate_record.assign(
        resources.lake.local, groups, run.run_id, extractor=extractor.name, model=extractor.model
    )


def with_model_usage(report: IngestReport, stack: "ModelStack") -> IngestReport:
    """Return the report with the requests of the run."""
    usage = stack.meter.by_prompt() if stack.meter is not None else {}
    cached = stack.journal.hits if stack.journal is not None else 0
    return replace(report, usage_by_prompt=usage, journal_hits=cached)


log = logging.getLogger(__name__)

_INTERVAL = 1.0
"""Seconds between two attempts on a busy group."""


@dataclass(slots=True)
class GroupWork:
    """The ingest of one group, as an executor calls it: once, or again after a busy graph.

    The first call carries out the plan of the run, if there is one; a later one plans again,
    because turns may have been committed since. The report is on all calls together.
    """

    group: GroupId
    plan: GroupPlan | None
    """The plan of the next call; None: it plans."""
    resources: IngestResources
    run: IngestRun
    scope: Scope
    context_turns: int
    progress: Progress
    used: Callable[[], Usage]
    """Returns the usage of the run so far."""
    report: GroupReport | None = None
    """On the calls so far."""

    async def __call__(self) -> GroupReport:
        report = await self._ingest()
        self.report = report if self.report is None else combined(self.report, report)
        return self.report

    async def _ingest(self) -> GroupReport:
        given, self.plan = self.plan, None
        try:
            plan = given or await self._new_plan()
        except TurnetlError as error:
            return ingesting.unplanned_report(self.group, self.resources.lake, error)
        return await ingesting.ingest_group(plan, self.resources, self.run, self._report_progress)

    async def _new_plan(self) -> GroupPlan:
        return await ingesting.plan_group(
            self.group,
            self.resources.lake,
            self.resources.store,
            self.scope,
            recipe=self.resources.extractor.recipe_parts,
            context_turns=self.context_turns,
        )

    def _report_progress(self, done: int, total: int) -> None:
        cost = self.resources.run_cost(self.used())
        self.progress(ProgressUpdate("ingest", self.group, done, total, cost))


async def after_busy_groups(
    reports: Sequence[GroupReport],
    again: Callable[[GroupReport], Awaitable[GroupReport]],
    *,
    seconds: float,
    interval: float = _INTERVAL,
) -> list[GroupReport]:
    """Ingest the busy groups again until they are done or the time is up.

    The log says who has a group, and until when, each time that this changes.

    Args:
        reports: of all groups of the run, after the first attempt.
        again: ingests a group again, given its report; returns the report on all attempts.
        seconds: how long to repeat; 0: not at all.
        interval: seconds between two attempts.

    Returns:
        The reports, in the order given.
    """
    clock = asyncio.get_running_loop().time
    deadline, last, told = clock() + seconds, list(reports), set[str | None]()
    while any(report.retryable for report in last) and (left := deadline - clock()) > 0:
        for report in last:
            if report.retryable and report.error not in told:
                tell(log, report.error, left)
                told.add(report.error)
        await asyncio.sleep(min(interval, left))
        last = list(await asyncio.gather(*(_next(report, again) for report in last)))
    return last


async def _next(
    report: GroupReport, again: Callable[[GroupReport], Awaitable[GroupReport]]
) -> GroupReport:
    return await again(report) if report.retryable else report


def combined(first: GroupReport, second: GroupReport) -> GroupReport:
    """Return the report on two attempts of one run on a group, in their order."""
    if PendingReason.UNKNOWN in second.pending_reasons:
        # The second attempt could not read the group: the first one knows more.
        return replace(
            first,
            error=second.error,
            exit_code=second.exit_code,
            retryable=second.retryable,
            stop_cause=second.stop_cause,
        )
    return replace(
        second,
        committed=first.committed + second.committed,
        already_committed=second.already_committed - first.committed,
        discarded=add_counts(first.discarded, second.discarded),
        summaries=add_counts(first.summaries, second.summaries),
        invalidations=first.invalidations + second.invalidations,
    )
