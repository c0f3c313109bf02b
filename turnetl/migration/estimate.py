"""What the run of a migration takes: requests, cost, time and disk. Ingests nothing."""

import shutil
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import gettempdir

from turnetl import wiring
from turnetl.base.clock import Clock
from turnetl.base.progress import Progress, ignore_progress
from turnetl.estimation.estimator import PilotOptions
from turnetl.estimation.plan_report import Estimate, record_estimate
from turnetl.estimation.sample import Workload
from turnetl.estimation.workloads import estimate_workloads
from turnetl.graph.port import GraphStore
from turnetl.graph.shadow_store import ShadowStore
from turnetl.ingestion.group import GroupPlan
from turnetl.lake import Lake
from turnetl.lake.redaction_key import FILE
from turnetl.lake.temporary import shared_temporary_folder
from turnetl.migration.migration_report import (
    EstimatedMigration,
    GroupMigration,
    MigrationPlan,
    open_migration,
    start_refusal,
)
from turnetl.migration.plan import TEMPORARY, MigrationOptions, archives_of, plan_migration
from turnetl.pipeline.group_plans import plan_groups_in
from turnetl.pipeline.parse_plan import plan_parse
from turnetl.pipeline.run_options import RunOptions, settings_for_run
from turnetl.pipeline.tables import filter_turns
from turnetl.settings import Settings


async def plan_estimated_migration(
    archives: Sequence[str],
    settings: Settings,
    migration: MigrationOptions,
    options: RunOptions,
    clock: Clock,
    *,
    pilot: PilotOptions | None = None,
    progress: Progress = ignore_progress,
) -> EstimatedMigration:
    """Plan a migration, and estimate its run."""
    plan = await plan_migration(archives, settings, migration, progress=progress)
    planning = MigrationPlanning(archives, settings, migration, options, clock, progress)
    return EstimatedMigration(plan, await planning.estimate(plan, pilot))


@dataclass(frozen=True, slots=True)
class MigrationPlanning:
    """What a run of a migration would ingest, and what that takes."""

    archives: Sequence[str]
    settings: Settings
    migration: MigrationOptions
    options: RunOptions
    clock: Clock
    progress: Progress

    async def estimate(
        self, plan: MigrationPlan, pilot: PilotOptions | None = None
    ) -> Estimate | None:
        """Return what the run takes; None if it has no turn to ingest. Writes no graph.

        Groups that cannot be migrated are not part of it, nor are turns that a run ingested before.

        Args:
            pilot: pay for some turns, to know more, and keep the responses in the journal of the
                lake; None: send no request, and write no lake.
        """
        settings = settings_for_run(self.settings, self.options)
        wiring.check(settings, self.options.preprocessing)
        if pilot is not None:
            # The key of the lake decides the placeholders of secrets, and with them the prompts.
            wiring.redactor(settings, stores=True)
        with shared_temporary_folder(Path(gettempdir()), TEMPORARY) as folder:
            async with wiring.store(settings, write=False) as store:
                workloads = await self._workloads(store, plan, folder)
                if not workloads:
                    return None
                estimate = await estimate_workloads(
                    workloads,
                    store,
                    settings,
                    self.clock,
                    pilot=pilot,
                    progress=self.progress,
                )
        if pilot is not None:
            record_estimate(settings.lake, workloads, estimate, self.clock())
        return estimate

    async def _workloads(
        self, store: GraphStore, plan: MigrationPlan, folder: Path
    ) -> list[Workload]:
        """Return the turns to ingest, by group; their tables are in `folder`."""
        found = list[Workload]()
        for number, group in enumerate(await _migratable(plan, store)):
            shadow = ShadowStore(store, group.group)
            planned = await self._planned(shadow, group, folder / f"lake{number}")
            if planned is not None and planned.turns.to_commit:
                found.append(Workload(planned, store=shadow))
        return found

    async def _planned(
        self, shadow: ShadowStore, plan: GroupMigration, lake: Path
    ) -> GroupPlan | None:
        group, tables = plan.group, self._tables(plan, lake)
        options = replace(
            self.options,
            groups=(group,),
            sessions=frozenset((one.format, str(one.session_id)) for one in plan.sessions),
            dry_run=True,
        )
        files = {group: Lake(lake).turn_files(group)}
        planned = await plan_groups_in(shadow, files, tables, options, self.clock)
        return planned.plans.get(group)

    def _tables(self, plan: GroupMigration, lake: Path) -> Settings:
        graph = self.settings.graph_url
        tables = self.settings.model_copy(update={"lake": lake, "graph": graph})
        lake.mkdir(mode=0o700)
        source = wiring.lake(self.settings)
        source.files.fetch([source.root / FILE])
        with suppress(FileNotFoundError):
            shutil.copy2(source.root / FILE, lake / FILE)
        parsing = plan_parse(
            archives_of(plan, self.archives, wiring.archive_files()),
            tables,
            format_name=self.migration.format_name,
            progress=self.progress,
            group=plan.group,
        )
        parsing.report(work() for work in parsing.batches(None))
        filter_turns(tables, [plan.group], progress=self.progress)
        return tables


async def _migratable(plan: MigrationPlan, store: GraphStore) -> list[GroupMigration]:
    """Return the groups that a run would ingest turns of."""
    recorded, with_turns = await store.migrations(), await store.groups()
    found = list[GroupMigration]()
    for group in plan.groups:
        begun = open_migration(recorded, group.group)
        refused = start_refusal(
            group,
            is_begun=begun is not None,
            dimensions=plan.dimensions,
            with_turns=with_turns,
        )
        if refused is None and (begun is None or begun.phase.precedes_cutover):
            found.append(group)
    return found
