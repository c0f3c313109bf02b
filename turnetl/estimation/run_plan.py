"""Plan a run: which turns it would ingest, and what that takes. Nothing is ingested."""

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from turnetl import wiring
from turnetl.base.clock import Clock
from turnetl.base.errors import BadUsage
from turnetl.base.exit_code import ExitCode
from turnetl.base.progress import Progress, ignore_progress
from turnetl.estimation.plan_report import PlanReport, Work, record_estimate
from turnetl.estimation.sample import Workload
from turnetl.estimation.workloads import PilotOptions, estimate_workloads
from turnetl.graph.port import GraphStore
from turnetl.ingestion import estimate_record
from turnetl.ingestion.ingest_report import GroupReport
from turnetl.ingestion.reasons import PendingReason
from turnetl.ingestion.redo_report import RedoSelection
from turnetl.lake import shared_responses
from turnetl.lake.temporary import remove_abandoned, temporary_folder
from turnetl.pipeline.group_plans import plan_groups_in, turn_files
from turnetl.pipeline.index import check_graph
from turnetl.pipeline.parse_plan import parse_archives
from turnetl.pipeline.run_options import RunOptions, has_work, settings_for_run
from turnetl.pipeline.run_redo import RedoPlanning
from turnetl.pipeline.tables import filter_turns
from turnetl.settings import Settings

_NOT_COPIED = (
    "graph.lbug*",
    "index",
    "journal.sqlite*",
    "limits.sqlite*",
    estimate_record.FOLDER,
    "*.tmp",
    "*.etag",
    shared_responses.FOLDER,
)
"""What the tables of a plan do without."""


async def plan(
    settings: Settings,
    options: RunOptions,
    clock: Clock,
    *,
    archives: Sequence[str] = (),
    format_name: str | None = None,
    one_off: bool = False,
    redo: RedoSelection | None = None,
    exact: bool = False,
    pilot: PilotOptions | None = None,
    progress: Progress = ignore_progress,
) -> PlanReport:
    """Estimate what an ingest, a backfill or a redo takes. Writes nothing to the graph.

    Args:
        archives: files, folders or globs that a backfill would read first; they are parsed into a
            copy of the tables, which is deleted. Empty: the turns that the lake has.
        pilot: pay for some turns, to know more; None: send no request.
    """
    if redo is not None and archives:
        raise BadUsage("a redo repeats turns of the lake: leave out the archives, or --redo")
    run_settings = settings_for_run(settings, options)
    wiring.check(run_settings, options.preprocessing)
    options = replace(options, dry_run=True)
    planning = _Planning(settings, options, clock, pilot, progress)
    if redo is not None:
        return await planning.redo(redo, exact=exact)
    if not archives:
        return await planning.ingest(settings, options, "ingest")
    with _copied_tables(settings) as tables:
        parsed = parse_archives(archives, tables, format_name=format_name, progress=progress)
        if parsed.groups:
            filter_turns(tables, parsed.groups, one_off=one_off, progress=progress)
        of_archives = replace(options, groups=parsed.groups)
        report = await planning.ingest(tables, of_archives, "backfill")
        return replace(report, parsed=parsed)


@dataclass(frozen=True, slots=True)
class _Planning:
    settings: Settings
    options: RunOptions
    clock: Clock
    pilot: PilotOptions | None
    progress: Progress

    async def ingest(self, tables: Settings, options: RunOptions, work: Work) -> PlanReport:
        async with wiring.store(self.settings, write=False) as store:
            if work == "backfill" and not options.groups:
                return await self._report(store, (), (), work)
            planned = await plan_groups_in(
                store,
                turn_files(wiring.lake(tables)),
                tables,
                options,
                self.clock,
                verify=True,
            )
            groups = planned.report.groups
            workloads = [
                Workload(planned.plans[group.group])
                for group in groups
                if group.group in planned.plans and has_work(group, options)
            ]
            return await self._report(store, workloads, groups, work)

    async def redo(self, selection: RedoSelection, *, exact: bool) -> PlanReport:
        planning = RedoPlanning(self.settings, selection, self.options, self.clock, exact)
        planning.check()
        check_graph(self.settings)
        async with wiring.store(self.settings, write=False) as store:
            planned = await planning.plan(store)
            workloads = [Workload(one.ingest, one.redo.undo) for one in planned.plans.values()]
            return await self._report(store, workloads, planned.groups, "redo")

    async def _report(
        self,
        store: GraphStore,
        workloads: Sequence[Workload],
        groups: Sequence[GroupReport],
        work: Work,
    ) -> PlanReport:
        settings = settings_for_run(self.settings, self.options)
        estimate = await estimate_workloads(
            workloads,
            store,
            settings,
            self.clock,
            pilot=self.pilot,
            progress=self.progress,
        )
        record_estimate(settings.lake, workloads, estimate, self.clock())
        errors = [group for group in groups if group.error is not None]
        is_stopped = estimate.pilot is not None and estimate.pilot.stopped is not None
        code = min((group.exit_code for group in errors), default=ExitCode.DONE)
        return PlanReport(
            work=work,
            estimate=estimate,
            errors=tuple(f"group `{one.group}`: {one.error}" for one in errors),
            pending={} if work == "redo" else _left_out(groups),
            exit_code=ExitCode.STOPPED if is_stopped and not errors else code,
        )


def _left_out(groups: Sequence[GroupReport]) -> dict[PendingReason, int]:
    counts: dict[PendingReason, int] = {}
    for group in groups:
        for reason, count in group.uncommitted_reasons.items():
            if reason is not PendingReason.READY:
                counts[reason] = counts.get(reason, 0) + count
    return dict(sorted(counts.items()))


@contextmanager
def _copied_tables(settings: Settings) -> Iterator[Settings]:
    """Yield settings with a copy of the lake's tables; files are linked, as none is changed."""
    # The key of the lake decides the placeholders of secrets, and with them the prompts.
    wiring.redactor(settings, stores=True)
    estimates = settings.lake / estimate_record.FOLDER
    remove_abandoned(estimates)
    source = wiring.lake(settings)
    source.fetch_tables()
    with temporary_folder(estimates, settings.lake) as folder:
        copy = folder / "lake"
        ignore = shutil.ignore_patterns(*_NOT_COPIED)
        shutil.copytree(source.root, copy, ignore=ignore, copy_function=_link_or_copy)
        yield settings.model_copy(update={"lake": copy, "graph": settings.graph_url})


def _link_or_copy(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
