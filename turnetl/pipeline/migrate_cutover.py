"""Cut a migration over, roll it back, finish it: in steps of one transaction each.

The graph records the phase, and the rows say how far each step came: a command that was killed is
continued by its repetition, on any machine.
"""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from uuid import uuid4

from turnetl import wiring
from turnetl.base.clock import Clock
from turnetl.base.errors import GraphUnusable
from turnetl.base.progress import Progress, ignore_progress
from turnetl.graph.migrations import TurnMigration
from turnetl.graph.port import GraphStore
from turnetl.ingestion import lease_owner
from turnetl.ingestion.held_lease import held_lease
from turnetl.migration.change_report import MigrationChange
from turnetl.pipeline.index import check_graph
from turnetl.pipeline.index_updates import update_existing_index
from turnetl.pipeline.migrate_changes import selected_migration
from turnetl.pipeline.migrate_steps import ChangeOptions, GroupChange, planned_change
from turnetl.settings import Settings


async def preview_change(
    settings: Settings, options: ChangeOptions, clock: Clock
) -> MigrationChange:
    """Report what a cutover, a rollback or a finish would change. Writes nothing.

    Raises:
        BadUsage: the group is not being migrated.
        GraphBusy: the graph did not respond, or another process writes it.
        GraphUnusable: there is no graph, or another version of turnetl began the migration.
    """
    check_graph(settings)
    async with wiring.store(settings, write=False) as store:
        migration = await selected_migration(store, options.group)
        planned = await planned_change(store, migration, options, clock)
    return _with_lake(planned, settings)


async def execute_change(
    settings: Settings,
    options: ChangeOptions,
    clock: Clock,
    *,
    progress: Progress = ignore_progress,
) -> MigrationChange:
    """Carry out a cutover, a rollback or a finish, under the leases of both groups.

    The search index follows. What was killed is continued.

    Args:
        settings: the graph, and the lake with its index.
        options: what is done.
        clock: returns the current time.
        progress: called after each step.

    Raises:
        BadUsage, GraphBusy, GraphUnusable: as `preview_change`, and if another process writes one
            of the groups.
    """
    async with wiring.store(settings, write=True) as store:
        await store.prepare()
        migration = await selected_migration(store, options.group)
        async with _leased(
            store, migration, options, settings=settings, clock=clock, progress=progress
        ) as change:
            report = _with_lake(await change.execute(), settings)
    if report.is_done:
        await update_existing_index(settings, clock, progress)
    return report


def _with_lake(change: MigrationChange, settings: Settings) -> MigrationChange:
    """Return the change with what a rollback that discards turns leaves in the lake."""
    if not change.discards:
        return change
    files = wiring.lake(settings).turn_files(change.migration.group_id)
    return replace(change, kept_in_lake=sum(file.metadata.turns for file in files))


@asynccontextmanager
async def _leased(
    store: GraphStore,
    migration: TurnMigration,
    options: ChangeOptions,
    *,
    settings: Settings,
    clock: Clock,
    progress: Progress,
) -> AsyncIterator[GroupChange]:
    """Hold the leases of the group and of its shadow group."""
    group, shadow = migration.group_id, migration.turns_group
    profile = await store.profile(shadow) or await store.profile(group)
    if profile is None:
        raise GraphUnusable(
            f"group `{shadow}` is not in the graph any more; run the migration again"
        )
    owner, ttl = lease_owner.owner_name(str(uuid4())), timedelta(seconds=settings.lease_seconds)
    created = [name for name in (group, shadow) if await store.profile(name) is None]
    async with AsyncExitStack() as held:
        leases = [
            await held.enter_async_context(
                held_lease(store, name, profile, owner=owner, clock=clock, ttl=ttl, migrates=True)
            )
            for name in sorted((group, shadow))
        ]
        # Another command may have changed it before the leases were taken.
        current = await selected_migration(store, group)
        yield GroupChange(store, leases, current, options, clock, ttl, progress, created)
