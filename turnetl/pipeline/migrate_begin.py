"""Begin the migration of a group, or continue it: the checks, and the state that is recorded."""

from collections.abc import Collection, Sequence
from contextlib import AsyncExitStack

from turnetl import wiring
from turnetl.base.clock import Clock
from turnetl.base.errors import BadUsage, GraphUnusable
from turnetl.base.graph_model import GroupProfile
from turnetl.base.model import GroupId
from turnetl.base.shadow_groups import turns_group
from turnetl.graph.migration_steps import DropGroupStep
from turnetl.graph.migrations import TurnMigration
from turnetl.graph.port import GraphStore
from turnetl.ingestion.held_lease import held_lease
from turnetl.ingestion.ingest_run import IngestRun
from turnetl.migration.phases import phase_text, remedy
from turnetl.migration.report import GroupMigration, MigrationPlan
from turnetl.migration.run_report import RefusedGroup
from turnetl.migration.start import begun, open_migration, refusal
from turnetl.pipeline.migrate_plan import MigrationOptions
from turnetl.settings import Settings


async def planned_states(
    plan: MigrationPlan, settings: Settings, migration: MigrationOptions, clock: Clock
) -> tuple[list[TurnMigration], list[RefusedGroup]]:
    """Return the states to begin with, and the groups that cannot be migrated. Writes nothing.

    Raises:
        BadUsage, GraphUnusable: a group that the user named cannot be migrated.
    """
    states, refused = list[TurnMigration](), list[RefusedGroup]()
    async with wiring.store(settings, write=False) as store:
        recorded, with_turns = await store.migrations(), await store.groups()
        taken = [
            one.group for one in plan.groups if any(await store.counts(turns_group(one.group)))
        ]
    for group in plan.groups:
        try:
            _check_name(group.group, recorded, taken)
            _check_begins(group, recorded, dimensions=plan.dimensions, with_turns=with_turns)
            states.append(begun(group, recorded, clock()))
        except (BadUsage, GraphUnusable) as error:
            if migration.groups:
                raise
            refused.append(RefusedGroup(group.group, str(error)))
    return states, refused


async def begin_migration(
    store: GraphStore,
    plan: GroupMigration,
    profile: GroupProfile,
    run: IngestRun,
    *,
    dimensions: int | None,
) -> TurnMigration:
    """Record the state with which a run of the group begins, and return it.

    The leases of both groups are held meanwhile, so that no other command is adding turns to one:
    each that begins later reads the state.

    Args:
        store: the graph.
        plan: of the group, with at least one matched session.
        profile: of the turns.
        run: its owner, clock and limits.
        dimensions: of the embedder; None if they are not known.

    Raises:
        BadUsage: the group cannot be migrated, or its migration is past its runs.
        GraphBusy: another command writes one of the groups.
        GraphUnusable: another version of turnetl began the migration.
    """
    group = plan.group
    # Before the leases, which write something: a refused group stays as it is.
    await _begun(store, plan, run.clock, dimensions=dimensions)
    async with AsyncExitStack() as held:
        leases = [
            await held.enter_async_context(
                held_lease(
                    store,
                    name,
                    profile,
                    owner=run.owner,
                    clock=run.clock,
                    ttl=run.lease_ttl,
                    migrates=True,
                )
            )
            for name in sorted((group, turns_group(group)))
        ]
        # Another command may have changed it since.
        state = await _begun(store, plan, run.clock, dimensions=dimensions)
        # The lease made the group one of turnetl's, which it becomes with the cutover only.
        step, now = DropGroupStep(group), run.clock()
        await store.migrate(leases, step, state, now=now, ttl=run.lease_ttl)
    return state


async def check_still_begun(store: GraphStore, begun_with: TurnMigration) -> None:
    """Check, under the lease of the shadow group, that a run may add turns to it.

    Raises:
        GraphUnusable: another command ended the migration or cut it over since the run began it.
    """
    recorded = {one.migration_id: one for one in await store.migrations()}
    now = recorded.get(begun_with.migration_id, begun_with)
    if not now.phase.precedes_cutover:
        raise GraphUnusable(
            f"group `{now.group_id}`: another command changed its migration, which is "
            f"{phase_text(now.phase)}: {remedy(now)}"
        )


async def _begun(
    store: GraphStore, plan: GroupMigration, clock: Clock, *, dimensions: int | None
) -> TurnMigration:
    """Return the state to begin with, as of now; errors as of `begin_migration`."""
    recorded, with_turns = await store.migrations(), await store.groups()
    _check_begins(plan, recorded, dimensions=dimensions, with_turns=with_turns)
    return begun(plan, recorded, clock())


def _check_name(
    group: GroupId, recorded: Sequence[TurnMigration], taken: Collection[GroupId]
) -> None:
    """Raise BadUsage if the group of the turns has data, and no migration of it is recorded."""
    if group in taken and open_migration(recorded, group) is None:
        raise BadUsage(
            f"group `{group}` cannot be migrated: its turns would be kept in the group "
            f"`{turns_group(group)}`, which has data of another program; rename that group"
        )


def _check_begins(
    plan: GroupMigration,
    recorded: Sequence[TurnMigration],
    *,
    dimensions: int | None,
    with_turns: Collection[GroupId],
) -> None:
    """Raise BadUsage, which says why, if no migration of the group can begin or continue."""
    migration = open_migration(recorded, plan.group)
    if migration is not None and not migration.phase.precedes_cutover:
        return
    is_begun = migration is not None
    reason = refusal(plan, is_begun=is_begun, dimensions=dimensions, with_turns=with_turns)
    if reason is not None:
        raise BadUsage(reason)
