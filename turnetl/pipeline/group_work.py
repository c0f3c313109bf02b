"""The ingest of one group in a run: repeated while the group is busy."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from turnetl.base.errors import TurnetlError
from turnetl.base.model import GroupId, Usage
from turnetl.base.progress import Progress, ProgressUpdate
from turnetl.base.reason import add_counts
from turnetl.ingestion import group as ingesting
from turnetl.ingestion.group import GroupPlan, IngestResources
from turnetl.ingestion.ingest_run import IngestRun
from turnetl.ingestion.plan import Scope
from turnetl.ingestion.reasons import PendingReason
from turnetl.ingestion.report import GroupReport
from turnetl.pipeline.waiting import tell

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
