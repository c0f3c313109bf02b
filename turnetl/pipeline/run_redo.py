"""Redo committed turns: plan it and say what it takes and why, then carry it out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from turnetl import wiring
from turnetl.base.clock import Clock
from turnetl.base.errors import BadUsage, GraphUnusable
from turnetl.base.graph_model import Receipt
from turnetl.base.model import GroupId
from turnetl.base.progress import Progress, ProgressUpdate, ignore_progress
from turnetl.base.text import plural
from turnetl.episodes.filters import KINDS
from turnetl.graph.port import GraphStore
from turnetl.ingestion import group as ingesting
from turnetl.ingestion.admission import TurnAdmission
from turnetl.ingestion.group import GroupPlan
from turnetl.ingestion.ingest_report import GroupReport, IngestReport
from turnetl.ingestion.redo import GroupRedoPlan, plan_group_redo, redo_group
from turnetl.ingestion.redo_report import GroupRedo, RedoReport, RedoSelection, RequestCounts
from turnetl.pipeline.each_group import Keep, each_group
from turnetl.pipeline.group_plans import PlannedGroups, plan_groups_in, turn_files
from turnetl.pipeline.index import check_graph
from turnetl.pipeline.previews import previews_of
from turnetl.pipeline.run_options import RunOptions, ingest_scope, settings_for_run
from turnetl.pipeline.run_scope import RunScope, opened_run
from turnetl.pipeline.run_undo import check_ids, prompts_of, with_prompts
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

    Writes nothing, but for a damaged episodes table, which is created again. An exact redo repeats,
    too, the turns from the first one that was committed out of order.
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

    A preview that is refused is returned as it is. A group that could not be finished has an error
    in the report. `progress` is called after each turn of each step.
    """
    if preview.is_refused:
        return preview
    planning = RedoPlanning(settings, preview.selection, options, clock, preview.exact)
    groups = tuple(group.group for group in preview.groups if group.error is None)
    async with opened_run(planning.run_settings, options, groups, clock) as scope:
        planned = await planning.plan(scope.resources.store)
        report = await _Redoing(scope, progress).redo(preview, planned.plans)
        await scope.ended(_ingest_report(report))
    return report


class _Redoing:
    def __init__(self, scope: RunScope, progress: Progress) -> None:
        self._scope = scope
        self._progress = progress
        # Not that of the ingest: it learns what each turn costs, and nothing twice.
        self._admission = TurnAdmission(scope.stack.budget)

    async def redo(self, preview: RedoReport, plans: Mapping[GroupId, GroupRedoPlan]) -> RedoReport:
        scope, ingests = self._scope, [plan.ingest for plan in plans.values()]
        for plan in ingests:
            for admission in (self._admission, scope.resources.admission):
                admission.costs.plan(len(plan.turns.to_commit), plan.chars)
        estimate = scope.estimate([plan.turns.to_commit for plan in ingests])
        groups = await each_group(
            preview.groups, lambda shown, keep: self._group(shown, plans.get(shown.group), keep)
        )
        return replace(
            preview,
            groups=tuple(groups),
            run_id=scope.run.run_id,
            usage_by_prompt=scope.usage_by_prompt(),
            journal_hits=scope.journal_hits(),
            cost=self._admission.run_cost(scope.stack.used()),
            estimate=estimate,
        )

    async def _group(
        self, shown: GroupRedo, plan: GroupRedoPlan | None, keep: Keep[GroupRedo]
    ) -> GroupRedo:
        if shown.error is not None:
            return shown
        if plan is None or plan.redo.turns != _turns(shown):
            raise GraphUnusable(
                f"group `{shown.group}`: its turns changed since they were shown; nothing of it "
                "was undone, run the redo again"
            )
        resources, run = self._scope.resources, self._scope.run
        admission = self._admission

        def advance(stage: str, done: int, total: int) -> None:
            cost = self._admission.run_cost(self._scope.stack.used())
            self._progress(ProgressUpdate(stage, shown.group, done, total, cost))

        redone = await redo_group(plan, resources, run, admission, advance)
        if redone.undone:
            self._scope.committed()
        done = replace(shown, undone=redone.undone, ingested=redone.ingested)
        keep(done)
        if redone.error is not None:
            raise redone.error
        if (ingested := redone.ingested) is None:
            return done
        return replace(done, error=ingested.error, exit_code=ingested.exit_code)


def _turns(group: GroupRedo) -> frozenset[str]:
    return frozenset(turn.receipt.turn_id for turn in (*group.selected, *group.later))


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


_NO_JOURNAL = (
    "a redo with a model needs the journal, which holds all responses before the first turn is "
    "undone: remove the setting `journal`"
)


@dataclass(frozen=True, slots=True)
class PlannedRedo:
    groups: tuple[GroupReport, ...]
    """Those that may hold selected turns, with an error for each that cannot be redone."""
    plans: Mapping[GroupId, GroupRedoPlan]
    """Of each group of which turns are selected, unless it has an error."""
    ready: int
    """Turns of all selected groups that the next ingest commits, new or undone."""


@dataclass(frozen=True, slots=True)
class RedoPlanning:
    """The arguments of a redo, which plan it the same way each time."""

    settings: Settings
    selection: RedoSelection
    options: RunOptions
    """How the turns are extracted in this run; its selection is not used."""
    clock: Clock
    exact: bool

    @property
    def run_settings(self) -> Settings:
        return settings_for_run(self.settings, self.options)

    def check(self) -> None:
        if self.selection.is_empty:
            raise BadUsage(
                "say what to redo: --stale, --group, --session, --turn, --kind, --since or --until"
            )
        if self.selection.kind not in (None, *KINDS):
            raise BadUsage(
                f"there is no kind `{self.selection.kind}` of turns; kinds: {', '.join(KINDS)}"
            )
        settings = self.run_settings
        wiring.check(settings, self.options.preprocessing)
        if settings.extractor_name != "structural" and not settings.journal:
            raise BadUsage(_NO_JOURNAL)

    async def plan(self, store: GraphStore) -> PlannedRedo:
        """Plan the selected groups; raises `BadUsage` for an unknown group or an ambiguous id."""
        settings, lake = self.run_settings, wiring.lake(self.settings)
        options = replace(
            self.options,
            groups=self.selection.groups,
            since=None,
            until=None,
            limit=None,
            retry=False,
        )
        planned = await plan_groups_in(
            store, turn_files(lake), self.settings, options, self.clock, verify=True
        )
        groups = await self._checked(store, planned)
        scope = ingest_scope(self.settings, options, self.clock())
        plans: dict[GroupId, GroupRedoPlan] = {}
        for group in groups:
            if group.error is None:
                redo = await plan_group_redo(
                    planned.plans[group.group],
                    lake,
                    store,
                    scope,
                    self.selection,
                    recipe=wiring.recipe(settings),
                    context_turns=settings.context_turns,
                    exact=self.exact,
                )
                if redo is not None:
                    plans[group.group] = redo
        return PlannedRedo(groups, plans, planned.report.ready)

    async def _checked(self, store: GraphStore, planned: PlannedGroups) -> tuple[GroupReport, ...]:
        """Return the groups that may hold selected turns, with the errors of a redo."""
        groups = [
            group
            for group in planned.report.groups
            # The graph holds turns of it, or did not say.
            if group.in_graph or group.missing_from_lake or not group.counts.are_known
        ]
        if self.selection.session is not None or self.selection.turn is not None:
            receipts = {group.group: await store.receipts(group.group) for group in groups}
            try:
                check_ids(self.selection, chain.from_iterable(receipts.values()))
            except BadUsage as error:
                raise BadUsage(f"{error}{_undone_advice(planned.report.ready)}") from error
            groups = [group for group in groups if self._names_one(receipts[group.group])]
        if self.settings.extractor is None:
            extractor = self.settings.extractor_name
            groups = [
                group if group.error else ingesting.refused_change(group, extractor)
                for group in groups
            ]
        return tuple(groups)

    def _names_one(self, receipts: Sequence[Receipt]) -> bool:
        session, turn = self.selection.session or "", self.selection.turn or ""
        return any(
            one.session_id.startswith(session) and one.turn_id.startswith(turn) for one in receipts
        )

    async def preview(self, store: GraphStore, plan: GroupRedoPlan) -> GroupRedo:
        redo = plan.redo
        records = [turn.record for turn in reversed(redo.undo.turns)]
        receipts = [record.receipt for record in records]
        prompts = await prompts_of(store, plan.group, receipts, records)
        error = _unrepeatable(plan)
        return GroupRedo(
            group=plan.group,
            selected=with_prompts(redo.selected, prompts),
            later=with_prompts(redo.later, prompts),
            dependents=tuple(sorted(redo.dependents)),
            stale_reasons=plan.stale_reasons,
            stale_parts=plan.stale_parts,
            left_out=plan.left_out,
            extraction=await self._extraction(plan.ingest),
            used=plan.used,
            error=error,
            exit_code=0 if error is None else 1,
        )

    async def _extraction(self, plan: GroupPlan) -> RequestCounts:
        """Count the requests that extract the turns; none without a model."""
        counts = RequestCounts()
        if self.run_settings.extractor_name == "structural":
            return counts
        turns = ingesting.planned_turns(plan)
        async for request in previews_of(turns, self.run_settings, self.clock):
            counts += (
                RequestCounts(answered=1) if request.is_cached else RequestCounts(1, request.tokens)
            )
        return counts


def nothing_selected(planned: PlannedRedo) -> str:
    """Return why a redo has nothing to do, and what to do next if its turns may be undone."""
    if planned.groups or not planned.ready:
        return f"no turn in the graph meets all of these conditions{_undone_advice(planned.ready)}"
    # Nothing records which of them were undone.
    turns = plural(planned.ready, "turn is", "turns are")
    return (
        "nothing is left to redo: the graph holds no turn of the selected groups, and "
        f"{turns} pending, new or undone: `turnetl ingest` ingests them"
    )


def _undone_advice(ready: int) -> str:
    """Return the end of a sentence about turns that are not found: a redo may have undone them."""
    if not ready:
        return ""
    return (
        f"; {plural(ready, 'turn is', 'turns are')} ready to be ingested: if a redo was stopped, "
        "`turnetl ingest` ingests what it undid"
    )


def _unrepeatable(plan: GroupRedoPlan) -> str | None:
    """Return why the group is not redone, if turns would be lost."""
    if not plan.unrepeatable:
        return None
    reasons = ", ".join(f"{count:,} {reason}" for reason, count in plan.unrepeatable.items())
    return (
        f"group `{plan.group}`: turns could not be ingested again, so that nothing of it is "
        f"undone: {reasons}; parse their archives again, or set a missing time with --assume-time"
    )
