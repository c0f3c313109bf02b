"""Run a migration: ingest the turns of matched sessions into the shadow groups of their groups."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from turnetl import wiring
from turnetl.base.clock import Clock
from turnetl.base.errors import BadUsage, GraphBusy, GraphUnusable
from turnetl.base.graph_model import Lease
from turnetl.base.model import GroupId, TurnId
from turnetl.base.progress import Progress, ignore_progress
from turnetl.graph.migrations import MigrationPhase, TurnMigration
from turnetl.graph.port import GraphStore
from turnetl.graph.shadow_store import ShadowStore
from turnetl.ingestion.group import IngestResources
from turnetl.ingestion.held_lease import held_lease
from turnetl.ingestion.ingest_run import IngestRun
from turnetl.ingestion.report import GroupReport, IngestReport
from turnetl.ingestion.turn_pipeline import run_profile
from turnetl.llm.stack import ModelStack
from turnetl.migration.report import GroupMigration, MigrationPlan
from turnetl.migration.run_report import MigrationRun, RefusedGroup
from turnetl.pipeline.executor import InProcess
from turnetl.pipeline.group_plans import PlannedGroups, plan_groups_in
from turnetl.pipeline.kept_report import kept_report
from turnetl.pipeline.migrate_begin import begin_migration, check_still_begun, planned_states
from turnetl.pipeline.migrate_plan import MigrationOptions, archives_of, plan_migration
from turnetl.pipeline.parse_plan import plan_parse
from turnetl.pipeline.run_ingest import (
    assigned_estimate,
    ingest_groups,
    with_model_usage,
    without_unintended_changes,
)
from turnetl.pipeline.run_options import RunOptions, new_ingest_run, settings_for_run
from turnetl.pipeline.run_records import recording, run_recorder
from turnetl.pipeline.tables import filter_turns
from turnetl.pipeline.waiting import after_other_writers
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

    Args:
        archives: files, folders or globs.
        settings: everything that is configured.
        migration: which groups and archives are compared.
        options: which turns are ingested, and how.
        clock: returns the current time.
        progress: called after each archive, group and turn.

    Raises:
        BadUsage: settings or options that are not valid, or a named group that cannot be migrated.
        GraphBusy: the graph did not respond, or another process writes it.
        GraphUnusable: there is no graph, it cannot be written, or another version began the
            migration.
        Fatal: the lake cannot be written.
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
class _Run:
    """The run of all groups, one after another."""

    archives: Sequence[str]
    settings: Settings
    migration: MigrationOptions
    options: RunOptions
    clock: Clock
    progress: Progress

    async def execute(self, begun_with: MigrationRun) -> MigrationRun:
        """Record the states, ingest the turns, and record how far each group came."""

        async def work(keep: Callable[[MigrationRun], None]) -> None:
            async with (
                wiring.model_stack(self.settings, self.clock) as stack,
                wiring.ingest_resources(self.settings, stack) as resources,
            ):
                run = new_ingest_run(self.settings, self.clock)
                recorder = run_recorder(
                    run,
                    tuple(state.group_id for state in begun_with.migrations),
                    resources,
                    settings=self.settings,
                    options=self.options,
                    stack=stack,
                )
                leased = replace(run, on_lease=recorder.started)
                async with recording(recorder):
                    report = await self._groups(begun_with, resources, leased, stack)
                    keep(report)
                    await recorder.ended(report.ingested)

        return await kept_report(work)

    async def _groups(
        self,
        begun_with: MigrationRun,
        resources: IngestResources,
        run: IngestRun,
        stack: ModelStack,
    ) -> MigrationRun:
        plans = {plan.group: plan for plan in begun_with.plan.groups}
        states, reports = list[TurnMigration](), list[GroupReport]()
        refused, turns, estimate = [*begun_with.refused], list[Sequence[TurnId]](), None
        for group in (state.group_id for state in begun_with.migrations):
            shadow = replace(resources, store=ShadowStore(resources.store, group))
            try:
                state = await self._begin(resources, plans[group], begun_with.plan, run)
            except (BadUsage, GraphUnusable) as error:
                refused.append(RefusedGroup(group, str(error)))
                continue
            if unread := await asyncio.to_thread(self._tables, plans[group], begun_with.plan):
                refused.append(RefusedGroup(group, _not_read(group, unread)))
                continue
            planned = await self._planned(state, shadow)
            turns += [plan.turns.to_commit for plan in planned.plans.values()]
            estimate = assigned_estimate([one for one in turns if one], resources, run)
            report = await self._ingested(planned, state, resources, run, stack)
            reports.append(report)
            states.append(await self._ended(resources.store, shadow, state, report, run))
        ingested = IngestReport(run.run_id, tuple(reports))
        cost = resources.run_cost(stack.used())
        ingested = replace(with_model_usage(ingested, stack), cost=cost, estimate=estimate)
        return MigrationRun(begun_with.plan, tuple(states), tuple(refused), ingested)

    async def _begin(
        self,
        resources: IngestResources,
        group: GroupMigration,
        plan: MigrationPlan,
        run: IngestRun,
    ) -> TurnMigration:
        """Record the state with which the group begins, and return it."""
        profile = await run_profile(resources.extractor, resources.embedder, group.group)
        return await begin_migration(
            resources.store, group, profile, run, dimensions=plan.dimensions
        )

    def _tables(self, group: GroupMigration, plan: MigrationPlan) -> Sequence[str]:
        """Parse the archives into the group, and filter it.

        Returns:
            Why archives of its sessions could not be read, which the plan had read.
        """
        parsing = plan_parse(
            archives_of(group, self.archives, wiring.archive_files()),
            self.settings,
            format_name=self.migration.format_name,
            progress=self.progress,
            group=group.group,
        )
        report = parsing.report(work() for work in parsing.batches(None))
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
            shadow.store, files, self.settings, options, self.clock, verify=True
        )

    def _options(self, state: TurnMigration) -> RunOptions:
        """Return the options of the ingest of one group."""
        return replace(self.options, groups=(state.group_id,), sessions=frozenset(state.sessions))

    async def _ingested(
        self,
        planned: PlannedGroups,
        state: TurnMigration,
        resources: IngestResources,
        run: IngestRun,
        stack: ModelStack,
    ) -> GroupReport:
        async def on_lease() -> None:
            # The archives were parsed since the run began the migration.
            await check_still_begun(resources.store, state)
            await run.on_lease()

        options = self._options(state)
        report = await ingest_groups(
            without_unintended_changes(planned, self.settings, options),
            replace(resources, store=ShadowStore(resources.store, state.group_id)),
            self.settings,
            options,
            replace(run, on_lease=on_lease),
            executor=InProcess(),
            progress=self.progress,
            used=stack.used,
        )
        [of_group] = report.groups
        return of_group

    async def _ended(
        self,
        store: GraphStore,
        shadow: IngestResources,
        state: TurnMigration,
        report: GroupReport,
        run: IngestRun,
    ) -> TurnMigration:
        """Record that all turns of the group are ingested, if they are; return the state."""
        if report.error is not None or report.pending or report.quarantined:
            return state
        async with self._lease(shadow, state.group_id, run) as lease:
            recorded = {one.migration_id: one for one in await store.migrations()}
            current = recorded.get(state.migration_id, state)
            if replace(current, verdict=state.verdict, updated_at=state.updated_at) != state:
                # Another command changed it between the ingest and now: what it wrote holds.
                return current
            turns = len(await shadow.store.turn_ids(state.group_id))
            now = self.clock()
            ended = replace(current, phase=MigrationPhase.READY, turns=turns, updated_at=now)
            await shadow.store.save_migration(lease, ended, now=now, ttl=run.lease_ttl)
        return ended

    @asynccontextmanager
    async def _lease(
        self, shadow: IngestResources, group: GroupId, run: IngestRun
    ) -> AsyncIterator[Lease]:
        """Hold the lease of the shadow group, without which no command writes the state."""
        profile = await run_profile(shadow.extractor, shadow.embedder, group)
        async with held_lease(
            shadow.store, group, profile, owner=run.owner, clock=self.clock, ttl=run.lease_ttl
        ) as lease:
            yield lease


def _not_read(group: GroupId, problems: Sequence[str]) -> str:
    """Return why the run ingested nothing of a group: its old data has no turns to replace it."""
    first, *others = problems
    more = f" (and {len(others):,} more)" if others else ""
    return f"group `{group}`: nothing was ingested, because {first}{more}; run again"
