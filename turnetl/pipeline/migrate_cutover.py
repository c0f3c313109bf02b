"""Cut a migration over, roll it back, finish it: in steps of one transaction each.

Every step records the phase, so that a command that was killed is continued by its repetition, on
any machine.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any
from uuid import uuid4

from turnetl import wiring
from turnetl.clock import Clock
from turnetl.errors import GraphUnusable
from turnetl.graph.lease import new_creation_id
from turnetl.graph.migration_steps import (
    SESSION,
    DropGroupStep,
    DropTurnsStep,
    MarkStep,
    MigrationStep,
    SwitchStep,
)
from turnetl.graph.migrations import MigrationPhase, TurnMigration
from turnetl.graph.port import GraphStore
from turnetl.graph_model import Lease
from turnetl.ingestion import lease_owner
from turnetl.ingestion.held_lease import held_lease
from turnetl.lake import Lake
from turnetl.migration.change_report import MigrationChange, MigrationCommand
from turnetl.migration.moves import BATCH, batches
from turnetl.model import GroupId
from turnetl.pipeline.index import check_graph
from turnetl.pipeline.index_updates import update_existing_index
from turnetl.pipeline.migrate_changes import (
    discarded_turns,
    other_episodes,
    planned_cutover,
    planned_finish,
    planned_rollback,
    selected_migration,
)
from turnetl.progress import Progress, ProgressUpdate, ignore_progress
from turnetl.settings import Settings
from turnetl.shadow_groups import sessions_group, turns_group


@dataclass(frozen=True, slots=True)
class ChangeOptions:
    """Which change of which group."""

    command: MigrationCommand
    group: str | None = None
    """None: the only group that is being migrated."""
    accept: bool = False
    """Whether a cutover needs no comparison that passed."""
    discard: bool = False
    """Whether a rollback deletes the turns of the migration."""
    keep_days: float = 0
    """For which a finish keeps the old data after the cutover."""
    batch: int = BATCH
    """Nodes or facts of one transaction, at most."""


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
        planned = await _planned(store, migration, options, clock)
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


async def _planned(
    store: GraphStore, migration: TurnMigration, options: ChangeOptions, clock: Clock
) -> MigrationChange:
    match options.command:
        case MigrationCommand.CUTOVER:
            return await planned_cutover(store, migration, accept=options.accept)
        case MigrationCommand.ROLLBACK:
            return await planned_rollback(store, migration, discard=options.discard)
        case MigrationCommand.FINISH:
            return await planned_finish(store, migration, keep_days=options.keep_days, now=clock())


def _with_lake(change: MigrationChange, settings: Settings) -> MigrationChange:
    """Return the change with what a rollback that discards turns leaves in the lake."""
    if not change.discards:
        return change
    files = Lake(settings.lake).turn_files(change.migration.group_id)
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
) -> AsyncIterator["_Change"]:
    """Hold the leases of the group and of its shadow group."""
    group, shadow = migration.group_id, turns_group(migration.group_id)
    profile = await store.profile(shadow) or await store.profile(group)
    if profile is None:
        raise GraphUnusable(
            f"group `{shadow}` is not in the graph any more; run the migration again"
        )
    owner, ttl = lease_owner.owner_name(str(uuid4())), timedelta(seconds=settings.lease_seconds)
    async with AsyncExitStack() as held:
        leases = [
            await held.enter_async_context(
                held_lease(store, name, profile, owner=owner, clock=clock, ttl=ttl, migrates=True)
            )
            for name in sorted((group, shadow))
        ]
        # Another command may have changed it before the leases were taken.
        current = await selected_migration(store, group)
        yield _Change(store, leases, current, options, clock, ttl, progress)


@dataclass
class _Change:
    """A change under the leases of both groups."""

    store: GraphStore
    leases: list[Lease]
    migration: TurnMigration
    """The state, as it was written last."""
    options: ChangeOptions
    clock: Clock
    ttl: timedelta
    progress: Progress

    @property
    def group(self) -> GroupId:
        return self.migration.group_id

    @property
    def shadow(self) -> GroupId:
        return turns_group(self.group)

    @property
    def sessions(self) -> GroupId:
        return sessions_group(self.group, self.migration.migration_id)

    async def execute(self) -> MigrationChange:
        planned = await _planned(self.store, self.migration, self.options, self.clock)
        if planned.is_refused:
            return planned
        commands: dict[MigrationCommand, Callable[[MigrationChange], Awaitable[None]]] = {
            MigrationCommand.CUTOVER: self._cut_over,
            MigrationCommand.ROLLBACK: self._roll_back,
            MigrationCommand.FINISH: self._finish,
        }
        await commands[self.options.command](planned)
        return replace(planned, migration=self.migration, is_done=True)

    async def _cut_over(self, planned: MigrationChange) -> None:
        await self._enter(MigrationPhase.CUTTING_OVER)
        await self._steps(
            "old data", planned.old.steps(self.group, self.sessions, self.options.batch)
        )
        await self._steps("marks", self._marks(planned.staying, SESSION))
        await self._steps("turns", planned.turns.steps(self.shadow, self.group, self.options.batch))
        await self._step(
            SwitchStep(self.shadow, self.group, deletes_source=True),
            phase=MigrationPhase.CUT_OVER,
            cut_over_at=self.clock(),
        )

    async def _roll_back(self, planned: MigrationChange) -> None:
        if self.migration.phase not in _DISCARDED:
            await self._take_back(planned)
        if planned.discards:
            await self._discard()

    async def _take_back(self, planned: MigrationChange) -> None:
        await self._enter(MigrationPhase.ROLLING_BACK)
        if self.group in await self.store.groups():
            back = SwitchStep(self.group, self.shadow, False, new_creation_id())
            await self._step(back, turns=planned.turn_count)
        await self._steps("turns", planned.turns.steps(self.group, self.shadow, self.options.batch))
        marked = await other_episodes(self.store, self.group)
        await self._steps("marks", self._marks(marked, None))
        await self._steps(
            "old data", planned.old.steps(self.sessions, self.group, self.options.batch)
        )
        await self._drop_group(phase=MigrationPhase.READY, cut_over_at=None)

    async def _drop_group(self, **changes: Any) -> None:
        """Delete the TurnGroup of the group, which holds no turns, with its lease."""
        await self._step(DropGroupStep(self.group), **changes)
        self.leases = [one for one in self.leases if one.group_id == self.shadow]

    async def _discard(self) -> None:
        if len(self.leases) > 1:
            await self._drop_group()
        await self._enter(MigrationPhase.DISCARDING)
        await self._step(DropTurnsStep(self.shadow, self.clock()))
        turns = await discarded_turns(self.store, self.group)
        await self._steps("turns", turns.deletions(self.shadow, self.group, self.options.batch))
        await self._step(DropGroupStep(self.shadow), phase=MigrationPhase.FINISHED)

    async def _finish(self, planned: MigrationChange) -> None:
        await self._enter(MigrationPhase.FINISHING)
        await self._steps(
            "old data", planned.old.deletions(self.sessions, self.group, self.options.batch)
        )
        await self._step(DropGroupStep(self.shadow), phase=MigrationPhase.FINISHED)

    def _marks(self, uuids: tuple[str, ...], granularity: str | None) -> list[MarkStep]:
        return [
            MarkStep(self.group, batch, granularity) for batch in batches(uuids, self.options.batch)
        ]

    async def _enter(self, phase: MigrationPhase) -> None:
        if self.migration.phase is not phase:
            await self._save(phase=phase)

    async def _steps(self, unit: str, steps: Iterable[MigrationStep]) -> None:
        todo = list(steps)
        for done, step in enumerate(todo, start=1):
            await self._step(step)
            self.progress(ProgressUpdate("migrate", unit, done, len(todo)))

    async def _step(self, step: MigrationStep, **changes: Any) -> None:
        changed = replace(self.migration, updated_at=self.clock(), **changes)
        await self.store.migrate(self.leases, step, changed, now=self.clock(), ttl=self.ttl)
        self.migration = changed

    async def _save(self, **changes: Any) -> None:
        changed = replace(self.migration, updated_at=self.clock(), **changes)
        await self.store.save_migration(self.leases[0], changed, now=self.clock(), ttl=self.ttl)
        self.migration = changed


_DISCARDED = (MigrationPhase.RUNNING, MigrationPhase.READY, MigrationPhase.DISCARDING)
"""Phases in which a rollback has nothing to move."""
