"""What a redo takes of each group of a graph, as its preview and the redo itself plan it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from turnetl import wiring
from turnetl.base.clock import Clock
from turnetl.base.errors import BadUsage
from turnetl.base.graph_model import Receipt
from turnetl.base.model import GroupId
from turnetl.base.text import plural
from turnetl.episodes.kinds import KINDS
from turnetl.graph.port import GraphStore
from turnetl.ingestion import group as ingesting
from turnetl.ingestion.group import GroupPlan
from turnetl.ingestion.group_redo import GroupRedoPlan, plan_group_redo
from turnetl.ingestion.redo_plan import RedoSelection
from turnetl.ingestion.redo_report import GroupRedo, RequestCounts
from turnetl.ingestion.report import GroupReport
from turnetl.pipeline.group_plans import PlannedGroups, plan_groups_in, turn_files
from turnetl.pipeline.previews import previews_of
from turnetl.pipeline.run_options import RunOptions, ingest_scope, settings_for_run
from turnetl.pipeline.run_undo import check_prefix, prompts_of, with_prompts
from turnetl.settings import Settings

_NO_JOURNAL = (
    "a redo with a model needs the journal, which holds all responses before the first turn is "
    "undone: remove the setting `journal`"
)


@dataclass(frozen=True, slots=True)
class PlannedRedo:
    """The groups of a redo, planned once."""

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
        """Check the arguments before any work.

        Raises:
            BadUsage: nothing is selected, an unknown kind, no journal, or settings that are not
                valid.
        """
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
        """Plan the selected groups with this graph.

        Raises:
            BadUsage: an unknown group, or a prefix of none or several ids.
            GraphBusy: the graph did not respond.
            GraphUnusable: the graph cannot be used as it is.
        """
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
        groups = [group for group in planned.report.groups if _may_hold_turns(group)]
        if self.selection.session is not None or self.selection.turn is not None:
            receipts = {group.group: await store.receipts(group.group) for group in groups}
            try:
                self._check_ids([one for of_group in receipts.values() for one in of_group])
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

    def _check_ids(self, receipts: Sequence[Receipt]) -> None:
        selection = self.selection
        check_prefix("session", selection.session, {one.session_id for one in receipts})
        check_prefix("turn", selection.turn, {one.turn_id for one in receipts})

    def _names_one(self, receipts: Sequence[Receipt]) -> bool:
        """Return whether one of the turns has the selected ids."""
        session, turn = self.selection.session or "", self.selection.turn or ""
        return any(
            one.session_id.startswith(session) and one.turn_id.startswith(turn) for one in receipts
        )

    async def preview(self, store: GraphStore, plan: GroupRedoPlan) -> GroupRedo:
        """Return what the plan of a group takes, and why."""
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


def _may_hold_turns(group: GroupReport) -> bool:
    """Return whether the graph holds turns of the group, or did not say."""
    return bool(group.in_graph or group.missing_from_lake or not group.counts.are_known)


def _unrepeatable(plan: GroupRedoPlan) -> str | None:
    """Return why the group is not redone, if turns would be lost."""
    if not plan.unrepeatable:
        return None
    reasons = ", ".join(f"{count:,} {reason}" for reason, count in plan.unrepeatable.items())
    return (
        f"group `{plan.group}`: turns could not be ingested again, so that nothing of it is "
        f"undone: {reasons}; parse their archives again, or set a missing time with --assume-time"
    )
