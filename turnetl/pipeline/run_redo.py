"""Redo committed turns: plan it and say what it takes and why, then carry it out."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from turnetl import wiring
from turnetl.base.clock import Clock
from turnetl.base.errors import BadUsage, GraphUnusable, TurnetlError
from turnetl.base.model import GroupId
from turnetl.base.progress import Progress, ProgressUpdate, ignore_progress
from turnetl.ingestion.admission import TurnAdmission
from turnetl.ingestion.estimate_record import RecordedEstimate
from turnetl.ingestion.group import IngestResources
from turnetl.ingestion.group_redo import GroupRedoPlan
from turnetl.ingestion.ingest_run import IngestRun
from turnetl.ingestion.plan import TurnPlan
from turnetl.ingestion.redo import redo_group
from turnetl.ingestion.redo_plan import RedoSelection
from turnetl.ingestion.redo_report import GroupRedo, RedoReport
from turnetl.ingestion.rehearsal import Rehearsal
from turnetl.ingestion.report import GroupReport, IngestReport
from turnetl.llm.stack import ModelStack
from turnetl.pipeline.index import check_graph
from turnetl.pipeline.index_updates import IndexUpdates
from turnetl.pipeline.kept_report import kept_report
from turnetl.pipeline.redo_planning import RedoPlanning, nothing_selected
from turnetl.pipeline.run_ingest import assigned_estimate
from turnetl.pipeline.run_options import RunOptions, new_ingest_run
from turnetl.pipeline.run_records import recording, run_recorder
from turnetl.settings import Settings


async def preview_redo(
    settings: Settings,
    selection: RedoSelection,
    options: RunOptions,
    clock: Clock,
    *,
    exact: bool = False,
) -> RedoReport:
    """Report which turns a redo would repeat, why, and with how many requests.

    Writes nothing, but for a damaged episodes table, which is created again.

    Args:
        settings: everything that is configured.
        selection: the turns; not empty.
        options: how the turns are extracted in this run; its selection is not used.
        clock: returns the current time.
        exact: repeat, too, the turns from the first one that was committed out of order.

    Raises:
        BadUsage: nothing is selected, an unknown group, kind or id, no journal, or settings that
            are not valid.
        GraphBusy: the graph did not respond, or another process writes it.
        GraphUnusable: there is no graph, or it cannot be opened.
    """
    planning = RedoPlanning(settings, selection, options, clock, exact)
    planning.check()
    check_graph(settings)
    async with wiring.store(settings, write=False) as store:
        planned = await planning.plan(store)
        groups = [
            await planning.preview(store, planned.plans[group.group])
            if group.group in planned.plans
            else GroupRedo(group.group, error=group.error, exit_code=group.exit_code)
            for group in planned.groups
            if group.group in planned.plans or group.error
        ]
    if not groups and not selection.stale:
        raise BadUsage(nothing_selected(planned))
    return RedoReport(selection, exact, tuple(groups), planned.ready)


async def redo(
    settings: Settings,
    preview: RedoReport,
    options: RunOptions,
    clock: Clock,
    *,
    progress: Progress = ignore_progress,
) -> RedoReport:
    """Redo the turns of a preview: extract all, undo them newest first, and ingest them again.

    Args:
        settings: as of the preview.
        preview: from `preview_redo`; one that is refused is returned as it is.
        options: as of the preview.
        clock: returns the current time.
        progress: called after each turn of each step.

    Returns:
        The report, also on groups that could not be finished: `error` says why.

    Raises:
        GraphBusy: the graph did not respond, or another process writes it.
        GraphUnusable: the graph cannot be opened.
    """
    if preview.is_refused:
        return preview
    planning = RedoPlanning(settings, preview.selection, options, clock, preview.exact)
    run_settings = planning.run_settings
    groups = tuple(group.group for group in preview.groups if group.error is None)

    async def work(keep: Callable[[RedoReport], None]) -> None:
        async with wiring.model_stack(run_settings, clock) as stack:
            async with wiring.ingest_resources(run_settings, stack) as resources:
                index = IndexUpdates(run_settings, clock, resources.store, stack.meter)
                run = new_ingest_run(run_settings, clock)
                recorder = run_recorder(
                    run, groups, resources, settings=run_settings, options=options, stack=stack
                )
                leased = replace(run, on_lease=recorder.started)
                redoing = _Redoing(resources, leased, stack, progress, index.committed)
                async with index.running(), recording(recorder):
                    planned = await planning.plan(resources.store)
                    report = await redoing.redo(preview, planned.plans)
                    keep(report)
                    await recorder.ended(_ingest_report(report))
            await index.finish()

    return await kept_report(work)


class _Redoing:
    """The redo of groups, one after another."""

    def __init__(
        self,
        resources: IngestResources,
        run: IngestRun,
        stack: ModelStack,
        progress: Progress,
        on_commits: Callable[[], None],
    ) -> None:
        self._resources = resources
        self._run = run
        self._stack = stack
        self._progress = progress
        self._on_commits = on_commits
        # Not that of the ingest: it learns what each turn costs, and nothing twice.
        self._admission = TurnAdmission(stack.budget)

    async def redo(self, preview: RedoReport, plans: Mapping[GroupId, GroupRedoPlan]) -> RedoReport:
        for plan in plans.values():
            for admission in (self._admission, self._resources.admission):
                admission.costs.plan(len(plan.ingest.turns.to_commit), plan.ingest.chars)
        estimate = self._estimate([plan.ingest.turns for plan in plans.values()])
        groups = [await self._group(group, plans.get(group.group)) for group in preview.groups]
        meter, journal = self._stack.meter, self._stack.journal
        return replace(
            preview,
            groups=tuple(groups),
            run_id=self._run.run_id,
            usage_by_prompt=meter.by_prompt() if meter is not None else {},
            journal_hits=journal.hits if journal is not None else 0,
            cost=self._admission.run_cost(self._stack.used()),
            estimate=estimate,
        )

    def _estimate(self, plans: Sequence[TurnPlan]) -> RecordedEstimate | None:
        """Return the estimate of exactly these turns, if there is one."""
        return assigned_estimate([plan.to_commit for plan in plans], self._resources, self._run)

    async def _group(self, shown: GroupRedo, plan: GroupRedoPlan | None) -> GroupRedo:
        if shown.error is not None:
            return shown
        if plan is None or plan.redo.turns != _turns(shown):
            return _with_error(shown, _changed(shown.group))
        resources, run, admission = self._resources, self._run, self._admission
        rehearsal = None
        if resources.extractor.model is not None:
            rehearsal = Rehearsal(
                resources.store,
                resources.extractor,
                resources.embedder,
                run,
                admission,
                summaries=resources.summaries,
            )

        def advance(stage: str, done: int, total: int) -> None:
            cost = admission.run_cost(self._stack.used())
            self._progress(ProgressUpdate(stage, shown.group, done, total, cost))

        redone = await redo_group(plan, resources, run, rehearsal, advance)
        if redone.undone:
            self._on_commits()
        done = replace(shown, undone=redone.undone, ingested=redone.ingested)
        if redone.error is not None:
            return _with_error(done, redone.error)
        ingested = redone.ingested
        if ingested is None:
            return done
        return replace(done, error=ingested.error, exit_code=ingested.exit_code)


def _turns(group: GroupRedo) -> frozenset[str]:
    return frozenset(turn.receipt.turn_id for turn in (*group.selected, *group.later))


def _changed(group: GroupId) -> GraphUnusable:
    return GraphUnusable(
        f"group `{group}`: its turns changed since they were shown; nothing of it was undone, run "
        "the redo again"
    )


def _with_error(group: GroupRedo, error: TurnetlError) -> GroupRedo:
    return replace(group, error=str(error), exit_code=error.exit_code)


def _ingest_report(report: RedoReport) -> IngestReport:
    """Return the report as that of an ingest, from which a run is recorded."""
    groups = (
        replace(
            group.ingested or GroupReport(group.group, turns=0),
            error=group.error,
            exit_code=group.exit_code,
        )
        for group in report.groups
    )
    return IngestReport(report.run_id, tuple(groups))
