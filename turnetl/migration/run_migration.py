"""Run a migration: ingest the turns of matched sessions into the shadow groups of their groups."""

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from turnetl import wiring
from turnetl.base.clock import Clock
from turnetl.base.errors import BadUsage, GraphBusy, GraphUnusable
from turnetl.base.ids import turns_group
from turnetl.base.model import GroupId, TurnId
from turnetl.base.progress import Progress, ignore_progress
from turnetl.base.repeat import after_other_writers
from turnetl.graph.migrations import (
    DropGroupStep,
    MigrationPhase,
    TurnMigration,
    phase_text,
    remedy,
)
from turnetl.graph.port import GraphStore
from turnetl.graph.shadow_store import ShadowStore
from turnetl.ingestion.group import IngestResources
from turnetl.ingestion.held_lease import held_lease, migration_leases
from turnetl.ingestion.ingest_report import GroupReport, IngestReport
from turnetl.ingestion.turn_pipeline import run_profile
from turnetl.migration.migration_report import (
    GroupMigration,
    MigrationPlan,
    MigrationRun,
    RefusedGroup,
    begun_migration,
    open_migration,
    start_refusal,
)
from turnetl.migration.plan import MigrationOptions, MigrationWork, plan_migration
from turnetl.pipeline.executor import InProcess
from turnetl.pipeline.group_plans import PlannedGroups, plan_groups_in
from turnetl.pipeline.run_ingest import ingest_groups, without_unintended_changes
from turnetl.pipeline.run_options import RunOptions, settings_for_run
from turnetl.pipeline.run_scope import RunScope, opened_run
from turnetl.pipeline.tables import filter_turns
from turnetl.settings import Settings


async def run_migration(
    archives: Sequence[str],
    settings: Settings,
    migration: MigrationOptions,
    options: RunOptions,
    clock: Clock,
    *,
    progress: Progress = ignore_progress,
) -> MigrationRun:
    """Ingest the turns of all sessions that a plan matches, each group into its shadow group.

    The group itself is not written. A run that was interrupted, or that its budget stopped, is
    continued by the next one; one with other archives adds their sessions.
    """
    run_settings = settings_for_run(settings, options)
    wiring.check(run_settings, options.preprocessing)
    plan = await plan_migration(archives, settings, migration, progress=progress)
    states, refused = await planned_states(plan, run_settings, migration, clock)
    empty = MigrationRun(plan, tuple(states), tuple(refused), IngestReport(None, ()))
    if options.dry_run or not states:
        return empty
    recorded = replace(options, archives=tuple(archives))
    run = _Run(archives, run_settings, migration, recorded, clock, progress)
    return await after_other_writers(
        lambda: run.execute(empty), seconds=options.wait_seconds, busy=GraphBusy
    )


@dataclass(frozen=True, slots=True)
class _Run(MigrationWork):
    """The run of all groups, one after another."""

    async def execute(self, begun_with: MigrationRun) -> MigrationRun:
        groups = tuple(state.group_id for state in begun_with.migrations)
        async with opened_run(
            self.settings, self.options, groups, self.clock, updates_index=False
        ) as scope:
            report = await self._groups(begun_with, scope)
            await scope.ended(report.ingested)
        return report

    async def _groups(self, begun_with: MigrationRun, scope: RunScope) -> MigrationRun:
        plans = {plan.group: plan for plan in begun_with.plan.groups}
        states, reports = list[TurnMigration](), list[GroupReport]()
        refused, turns, estimate = [*begun_with.refused], list[Sequence[TurnId]](), None
        store = scope.resources.store
        for group in (state.group_id for state in begun_with.migrations):
            shadow = replace(
                scope, resources=replace(scope.resources, shadow=ShadowStore(store, group))
            )
            try:
                state = await self._begin(scope, plans[group], begun_with.plan.dimensions)
            except (BadUsage, GraphUnusable) as error:
                refused.append(RefusedGroup(group, str(error)))
                continue
            if unread := await asyncio.to_thread(self._tables, plans[group], begun_with.plan):
                refused.append(RefusedGroup(group, _not_read(group, unread)))
                continue
            planned = await self._planned(state, shadow.resources)
            turns += [plan.turns.to_commit for plan in planned.plans.values()]
            estimate = scope.estimate([one for one in turns if one])
            report = await self._ingested(planned, state, store, shadow)
            reports.append(report)
            states.append(await self._ended(store, shadow, state, report))
        ingested = IngestReport(scope.run.run_id, tuple(reports), estimate=estimate)
        return MigrationRun(
            begun_with.plan, tuple(states), tuple(refused), scope.with_usage(ingested)
        )

    async def _begin(
        self, scope: RunScope, group: GroupMigration, dimensions: int | None
    ) -> TurnMigration:
        """Record the state with which a run of the group begins, and return it.

        The leases of both groups are held meanwhile, so that no other command is adding turns to
        one: each that begins later reads the state.
        """
        resources, run, names = scope.resources, scope.run, (group.group, turns_group(group.group))
        store = resources.store
        profile = await run_profile(resources.extractor, resources.embedder, group.group)
        # Before the leases, which write something: a refused group stays as it is.
        await _state_now(store, group, run.clock, dimensions=dimensions)
        async with migration_leases(store, names, profile, run) as leases:
            # Another command may have changed it since.
            state = await _state_now(store, group, run.clock, dimensions=dimensions)
            # The lease made the group one of turnetl's, which it becomes with the cutover only.
            step, now = DropGroupStep(group.group), run.clock()
            await store.migrate(leases, step, state, now=now, ttl=run.lease_ttl)
        return state

    def _tables(self, group: GroupMigration, plan: MigrationPlan) -> Sequence[str]:
        """Parse and filter the archives; return why some that the plan had read are unreadable."""
        report = self.parse_matched(group, self.settings)
        problems = (*report.path_problems, *(one.problem for one in report.archives))
        messages = [problem.message for problem in problems if problem is not None]
        groups = [group.group, *wiring.lake(self.settings).groups_without_turns()]
        filter_turns(self.settings, groups, progress=self.progress)
        return [message for message in messages if message not in plan.parse_problems]

    async def _planned(self, state: TurnMigration, shadow: IngestResources) -> PlannedGroups:
        group = state.group_id
        files = {group: wiring.lake(self.settings).turn_files(group)}
        options = self._options(state)
        return await plan_groups_in(
            shadow.turn_store, files, self.settings, options, self.clock, verify=True
        )

    def _options(self, state: TurnMigration) -> RunOptions:
        return replace(self.options, groups=(state.group_id,), sessions=frozenset(state.sessions))

    async def _ingested(
        self,
        planned: PlannedGroups,
        state: TurnMigration,
        store: GraphStore,
        shadow: RunScope,
    ) -> GroupReport:
        async def on_lease() -> None:
            # The archives were parsed since the run began the migration.
            await check_still_begun(store, state)
            await shadow.run.on_lease()

        options = self._options(state)
        report = await ingest_groups(
            without_unintended_changes(planned, self.settings, options),
            replace(shadow, run=replace(shadow.run, on_lease=on_lease)),
            options,
            executor=InProcess(),
            progress=self.progress,
        )
        [of_group] = report.groups
        return of_group

    async def _ended(
        self,
        store: GraphStore,
        shadow: RunScope,
        state: TurnMigration,
        report: GroupReport,
    ) -> TurnMigration:
        """Record that all turns of the group are ingested, if they are; return the state."""
        if report.error is not None or report.pending or report.quarantined:
            return state
        # Without the lease of the shadow group no command writes the state.
        resources, run = shadow.resources, shadow.run
        profile = await run_profile(resources.extractor, resources.embedder, state.group_id)
        async with held_lease(resources.turn_store, state.group_id, profile, run) as lease:
            recorded = {one.migration_id: one for one in await store.migrations()}
            current = recorded.get(state.migration_id, state)
            if replace(current, verdict=state.verdict, updated_at=state.updated_at) != state:
                # Another command changed it between the ingest and now: what it wrote holds.
                return current
            turns = len(await resources.turn_store.turn_ids(state.group_id))
            now = self.clock()
            ended = replace(current, phase=MigrationPhase.READY, turns=turns, updated_at=now)
            await resources.turn_store.migrate([lease], None, ended, now=now, ttl=run.lease_ttl)
        return ended


def _not_read(group: GroupId, problems: Sequence[str]) -> str:
    """Return why the run ingested nothing of a group: its old data has no turns to replace it."""
    first, *others = problems
    more = f" (and {len(others):,} more)" if others else ""
    return f"group `{group}`: nothing was ingested, because {first}{more}; run again"


async def planned_states(
    plan: MigrationPlan, settings: Settings, migration: MigrationOptions, clock: Clock
) -> tuple[list[TurnMigration], list[RefusedGroup]]:
    """Return the states to begin with, and the groups that cannot be migrated. Writes nothing."""
    states, refused = list[TurnMigration](), list[RefusedGroup]()
    async with wiring.store(settings, write=False) as store:
        recorded, with_turns = await store.migrations(), await store.groups()
        taken = [
            one.group for one in plan.groups if any(await store.counts(turns_group(one.group)))
        ]
    for group in plan.groups:
        try:
            _check_name(group.group, recorded, taken)
            state = _state(
                group, recorded, clock(), dimensions=plan.dimensions, with_turns=with_turns
            )
            states.append(state)
        except (BadUsage, GraphUnusable) as error:
            if migration.groups:
                raise
            refused.append(RefusedGroup(group.group, str(error)))
    return states, refused


async def check_still_begun(store: GraphStore, begun_with: TurnMigration) -> None:
    """Check, under the lease of the shadow group, that a run may still add turns to it."""
    recorded = {one.migration_id: one for one in await store.migrations()}
    now = recorded.get(begun_with.migration_id, begun_with)
    if not now.phase.precedes_cutover:
        raise GraphUnusable(
            f"group `{now.group_id}`: another command changed its migration, which is "
            f"{phase_text(now.phase)}: {remedy(now)}"
        )


async def _state_now(
    store: GraphStore, plan: GroupMigration, clock: Clock, *, dimensions: int | None
) -> TurnMigration:
    recorded, with_turns = await store.migrations(), await store.groups()
    return _state(plan, recorded, clock(), dimensions=dimensions, with_turns=with_turns)


def _check_name(
    group: GroupId, recorded: Sequence[TurnMigration], taken: Collection[GroupId]
) -> None:
    if group in taken and open_migration(recorded, group) is None:
        raise BadUsage(
            f"group `{group}` cannot be migrated: its turns would be kept in the group "
            f"`{turns_group(group)}`, which has data of another program; rename that group"
        )


def _state(
    plan: GroupMigration,
    recorded: Sequence[TurnMigration],
    now: datetime,
    *,
    dimensions: int | None,
    with_turns: Collection[GroupId],
) -> TurnMigration:
    """Return the state to begin with; raise BadUsage if the group cannot begin or continue."""
    migration = open_migration(recorded, plan.group)
    if migration is None or migration.phase.precedes_cutover:
        reason = start_refusal(plan, recorded, dimensions=dimensions, with_turns=with_turns)
        if reason is not None:
            raise BadUsage(reason)
    return begun_migration(plan, recorded, now)
