"""Episode tables to the graph, groups in parallel; a busy group is tried again."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from turnetl import wiring
from turnetl.base.clock import Clock
from turnetl.base.errors import BadUsage, GraphBusy, TurnetlError
from turnetl.base.model import GroupId
from turnetl.base.progress import Progress, ProgressUpdate, ignore_progress
from turnetl.base.reason import add_counts
from turnetl.base.repeat import FixedDelays, after_other_writers, repeat_until, tell
from turnetl.ingestion import group as ingesting
from turnetl.ingestion.group import GroupPlan
from turnetl.ingestion.ingest_report import GroupReport, IngestReport
from turnetl.ingestion.plan import Scope
from turnetl.ingestion.reasons import PendingReason
from turnetl.pipeline.executor import Executor, InProcess
from turnetl.pipeline.group_plans import PlannedGroups, plan_groups, refused_report, turn_files
from turnetl.pipeline.run_options import RunOptions, has_work, ingest_scope, settings_for_run
from turnetl.settings import Settings

if TYPE_CHECKING:  # a run without new turns does without it
    from turnetl.pipeline.run_scope import RunScope


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
    groups = tuple(group.group for group in planned.report.groups if has_work(group, options))
    if not groups:
        return planned.report
    from turnetl.pipeline.run_scope import opened_run  # noqa: PLC0415 - the whole index

    async with (
        executor.ingesting(),
        opened_run(settings_for_run(settings, options), options, groups, clock) as scope,
    ):
        # Of exactly the turns that the run starts with.
        plans = [planned.plans[group].turns for group in groups if group in planned.plans]
        estimate = scope.estimate([plan.to_commit for plan in plans])
        report = await ingest_groups(planned, scope, options, executor=executor, progress=progress)
        report = scope.with_usage(replace(report, estimate=estimate))
        await scope.ended(report)
    # The index may have asked an embedder for vectors meanwhile.
    return scope.with_usage(report)


def without_unintended_changes(
    planned: PlannedGroups, settings: Settings, options: RunOptions
) -> PlannedGroups:
    """Return the plans with an error for each group that an unnamed extractor would continue."""
    if settings.extractor is not None:
        return planned
    groups = tuple(
        ingesting.refused_change(group, settings.extractor_name)
        if has_work(group, options)
        else group
        for group in planned.report.groups
    )
    return replace(planned, report=replace(planned.report, groups=groups))


async def ingest_groups(
    planned: PlannedGroups,
    scope: "RunScope",
    options: RunOptions,
    *,
    executor: Executor,
    progress: Progress,
) -> IngestReport:
    """Ingest the groups that have work, the longest first, and busy ones again after the others."""
    for plan in planned.plans.values():
        scope.resources.admission.costs.plan(len(plan.turns.to_commit), plan.chars)
    turns = ingest_scope(scope.settings, options, scope.run.clock())
    slots = asyncio.Semaphore(scope.settings.group_concurrency)
    works = {
        group: GroupWork(group, planned.plans.get(group), scope, turns, progress)
        for group in (state.group for state in planned.report.groups if has_work(state, options))
    }

    async def ingest_one(state: GroupReport) -> GroupReport:
        if (work := works.get(state.group)) is None:
            return state
        async with slots:
            report = await executor.run_group(state.group, work)
        if report.committed:
            scope.committed()
        return report

    reports = await _until_none_is_busy(
        planned.report.groups, ingest_one, seconds=options.wait_seconds
    )
    return IngestReport(scope.run.run_id, tuple(reports))


class _GroupsBusy(Exception):
    """Another process writes some of the groups."""


async def _until_none_is_busy(
    groups: Sequence[GroupReport],
    ingest_one: Callable[[GroupReport], Awaitable[GroupReport]],
    *,
    seconds: float,
) -> list[GroupReport]:
    """Ingest the groups, and the busy ones again until they are done or the time is up.

    The log says who has a group, and until when, each time that this changes. Returns the reports
    in the order given, each on all attempts.
    """
    last, todo = list(groups), list(groups)
    told, delays = set[str | None](), FixedDelays(seconds, _INTERVAL)

    async def attempt() -> None:
        nonlocal last, todo
        done = {report.group: report for report in await _longest_first(todo, ingest_one)}
        last = [done.get(report.group, report) for report in last]
        if todo := [report for report in last if report.retryable]:
            raise _GroupsBusy

    def tell_changes(_: Exception) -> None:
        for error in (report.error for report in todo if report.error not in told):
            tell(log, error, delays.remaining)
            told.add(error)

    with suppress(_GroupsBusy):
        await repeat_until(attempt, delays, busy=_GroupsBusy, on_busy=tell_changes)
    return last


async def _longest_first(
    groups: Sequence[GroupReport], ingest_one: Callable[[GroupReport], Awaitable[GroupReport]]
) -> list[GroupReport]:
    """Start the groups with the most turns first: started last, one would run alone at the end.

    The reports are in any order. After all groups, the first exception is raised.
    """
    order = sorted(groups, key=lambda group: -group.ready)
    results = await asyncio.gather(*map(ingest_one, order), return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return [one for one in results if not isinstance(one, BaseException)]


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
    scope: "RunScope"
    turns: Scope
    """Which turns a plan may commit."""
    progress: Progress
    report: GroupReport | None = None
    """On the calls so far."""

    async def __call__(self) -> GroupReport:
        resources, (plan, self.plan) = self.scope.resources, (self.plan, None)
        try:
            plan = plan or await self._new_plan()
        except TurnetlError as error:
            report = ingesting.unplanned_report(self.group, resources.lake, error)
        else:
            report = await ingesting.ingest_group(
                plan, resources, self.scope.run, self._report_progress
            )
        self.report = report if self.report is None else combined(self.report, report)
        return self.report

    async def _new_plan(self) -> GroupPlan:
        resources = self.scope.resources
        return await ingesting.plan_group(
            self.group,
            resources.lake,
            resources.turn_store,
            self.turns,
            recipe=resources.extractor.recipe_parts,
            context_turns=self.scope.settings.context_turns,
        )

    def _report_progress(self, done: int, total: int) -> None:
        self.progress(ProgressUpdate("ingest", self.group, done, total, self.scope.cost()))


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
