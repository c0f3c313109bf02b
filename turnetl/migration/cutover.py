"""Cut a migration over, roll it back, finish it: in steps of one transaction each.

The graph records the phase, and the rows say how far each step came: a command that was killed is
continued by its repetition, on any machine.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from turnetl import wiring
from turnetl.base.batched import batched
from turnetl.base.clock import Clock
from turnetl.base.errors import GraphUnusable
from turnetl.base.graph_model import Lease
from turnetl.base.model import GroupId
from turnetl.base.progress import Progress, ProgressUpdate, ignore_progress
from turnetl.graph.migrations import (
    SESSION,
    DropGroupStep,
    DropTurnsStep,
    MarkStep,
    MigrationPhase,
    MigrationStep,
    MoveCommitsStep,
    SwitchStep,
    TurnMigration,
)
from turnetl.graph.port import GraphStore, new_creation_id
from turnetl.ingestion.held_lease import migration_leases
from turnetl.ingestion.ingest_run import IngestRun
from turnetl.migration.moves import (
    BATCH,
    DISCARDABLE,
    MigrationChange,
    MigrationCommand,
    Moves,
    planned_cutover,
    planned_finish,
    planned_rollback,
    selected_migration,
)
from turnetl.pipeline.index import check_graph
from turnetl.pipeline.index_updates import update_existing_index
from turnetl.pipeline.run_options import new_ingest_run
from turnetl.settings import Settings

_ROUNDS = 10
"""How often a cutover reads again what other programs wrote meanwhile. What a last one misses is
used by data of the group when the old data is deleted, and stays then."""


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


async def planned_change(
    store: GraphStore, migration: TurnMigration, options: ChangeOptions, clock: Clock
) -> MigrationChange:
    match options.command:
        case MigrationCommand.CUTOVER:
            return await planned_cutover(store, migration, accept=options.accept)
        case MigrationCommand.ROLLBACK:
            return await planned_rollback(store, migration, discard=options.discard)
        case MigrationCommand.FINISH:
            return await planned_finish(store, migration, keep_days=options.keep_days, now=clock())


@dataclass
class GroupChange:
    """A change under the leases of both groups."""

    store: GraphStore
    leases: list[Lease]
    migration: TurnMigration
    """The state, as it was written last."""
    options: ChangeOptions
    run: IngestRun
    progress: Progress
    created: Sequence[GroupId] = ()
    """Those of both that the leases made groups of turnetl's: they are not if nothing is done."""

    @property
    def group(self) -> GroupId:
        return self.migration.group_id

    @property
    def shadow(self) -> GroupId:
        return self.migration.turns_group

    @property
    def sessions(self) -> GroupId:
        return self.migration.sessions_group

    async def execute(self) -> MigrationChange:
        planned = await planned_change(self.store, self.migration, self.options, self.run.clock)
        if planned.is_refused:
            for group in self.created:
                await self._drop_group(group)
            return planned
        match self.options.command:
            case MigrationCommand.CUTOVER:
                done = await self._cut_over(planned)
            case MigrationCommand.ROLLBACK:
                done = await self._roll_back(planned)
            case MigrationCommand.FINISH:
                done = await self._finish(planned)
        return replace(done, migration=self.migration, is_done=True)

    async def _cut_over(self, planned: MigrationChange) -> MigrationChange:
        await self._enter(MigrationPhase.CUTTING_OVER)
        marked = frozenset[str]()
        # Other programs write the group meanwhile: what they use by now stays, and is moved back.
        for _ in range(_ROUNDS):
            await self._move("old data", planned.back, self.sessions, self.group)
            await self._move("old data", planned.old, self.group, self.sessions)
            new = tuple(uuid for uuid in _staying(planned) if uuid not in marked)
            await self._mark(new, SESSION)
            await self._move("turns", planned.turns, self.shadow, self.group)
            marked |= {*new}
            planned = await planned_cutover(self.store, self.migration, accept=True)
            if not planned.remaining and marked.issuperset(_staying(planned)):
                break
        await self._move_commits(planned, self.shadow, self.group)
        await self._step(
            SwitchStep(self.shadow, self.group, deletes_source=True),
            phase=MigrationPhase.CUT_OVER,
            cut_over_at=self.run.clock(),
            communities=planned.foreign_communities,
        )
        return planned

    async def _roll_back(self, planned: MigrationChange) -> MigrationChange:
        if self.migration.phase not in DISCARDABLE:
            await self._take_back(planned)
        if planned.discards:
            await self._discard()
        return planned

    async def _take_back(self, planned: MigrationChange) -> None:
        if self.migration.phase is MigrationPhase.CUT_OVER:
            back = SwitchStep(self.group, self.shadow, False, new_creation_id())
            phase = MigrationPhase.ROLLING_BACK
            await self._step(back, phase=phase, turns=planned.turn_count)
        await self._enter(MigrationPhase.ROLLING_BACK)
        await self._move_commits(planned, self.group, self.shadow)
        mixed = Moves(communities=planned.mixed_communities)
        await self._delete("turns", mixed, self.group)
        await self._move("turns", planned.turns, self.group, self.shadow)
        await self._move("old data", planned.old, self.sessions, self.group)
        others = await self.store.unrecorded_episodes(self.group)
        await self._mark(tuple(one.uuid for one in others), None)
        ready = MigrationPhase.READY
        await self._drop_group(self.group, phase=ready, cut_over_at=None, communities=())

    async def _drop_group(self, group: GroupId, **changes: Any) -> None:
        """Delete the TurnGroup of a group, which holds no turns, with its lease."""
        await self._step(DropGroupStep(group), **changes)
        self.leases = [one for one in self.leases if one.group_id != group]

    async def _discard(self) -> None:
        if len(self.leases) > 1:
            await self._drop_group(self.group)
        await self._enter(MigrationPhase.DISCARDING)
        planned = await planned_rollback(self.store, self.migration, discard=True)
        await self._move("turns", planned.kept, self.shadow, self.group)
        await self._delete("turns", planned.turns, self.shadow)
        await self._drop_turns()
        await self._step(DropGroupStep(self.shadow), phase=MigrationPhase.FINISHED)

    async def _drop_turns(self) -> None:
        """Delete the TurnCommits of the shadow group; the runs that have no others are undone."""
        receipts = await self.store.receipts(self.shadow)
        runs: dict[str, str] = {one.turn_id: one.run_id for one in receipts}
        steps = [
            DropTurnsStep(
                self.shadow, part, _distinct(runs[turn] for turn in part), self.run.clock()
            )
            for part in self._batches(_distinct(runs))
        ]
        await self._steps("turns", steps)

    async def _finish(self, planned: MigrationChange) -> MigrationChange:
        await self._enter(MigrationPhase.FINISHING)
        await self._move("old data", planned.kept, self.sessions, self.group)
        await self._mark(planned.kept.episodes, SESSION)
        await self._delete("old data", planned.old, self.sessions)
        await self._step(DropGroupStep(self.shadow), phase=MigrationPhase.FINISHED)
        return planned

    async def _move(self, unit: str, moves: Moves, source: GroupId, target: GroupId) -> None:
        await self._steps(unit, moves.steps(source, target, self.options.batch))

    async def _delete(self, unit: str, moves: Moves, group: GroupId) -> None:
        await self._steps(unit, moves.deletions(group, self.group, self.options.batch))

    async def _move_commits(
        self, planned: MigrationChange, source: GroupId, target: GroupId
    ) -> None:
        parts = self._batches(planned.turn_ids)
        await self._steps("turns", [MoveCommitsStep(part, source, target) for part in parts])

    async def _mark(self, uuids: tuple[str, ...], granularity: str | None) -> None:
        parts = self._batches(uuids)
        await self._steps("marks", [MarkStep(self.group, part, granularity) for part in parts])

    def _batches(self, uuids: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        return map(tuple, batched(uuids, self.options.batch))

    async def _enter(self, phase: MigrationPhase) -> None:
        if self.migration.phase is not phase:
            now = self.run.clock()
            changed = replace(self.migration, phase=phase, updated_at=now)
            lease, ttl = self.leases[0], self.run.lease_ttl
            await self.store.migrate((lease,), None, changed, now=now, ttl=ttl)
            self.migration = changed

    async def _steps(self, unit: str, steps: Iterable[MigrationStep]) -> None:
        todo = list(steps)
        for done, step in enumerate(todo, start=1):
            await self._step(step)
            self.progress(ProgressUpdate("migrate", unit, done, len(todo)))

    async def _step(self, step: MigrationStep, **changes: Any) -> None:
        """Make a step. The state is written only if it changes: it names all of the old data."""
        changed = (
            replace(self.migration, updated_at=self.run.clock(), **changes) if changes else None
        )
        await self.store.migrate(
            self.leases, step, changed, now=self.run.clock(), ttl=self.run.lease_ttl
        )
        self.migration = changed or self.migration


def _staying(planned: MigrationChange) -> tuple[str, ...]:
    """Return the episodes that stay with the group, sorted: also old ones that others use."""
    return _distinct((*planned.staying, *planned.kept.episodes))


def _distinct(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({*texts}))


async def preview_change(
    settings: Settings, options: ChangeOptions, clock: Clock
) -> MigrationChange:
    """Report what a cutover, a rollback or a finish would change. Writes nothing."""
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
    """Carry out a cutover, a rollback or a finish, or continue it; then update the search index."""
    async with wiring.store(settings, write=True) as store:
        await store.prepare()
        migration = await selected_migration(store, options.group)
        group, shadow = migration.group_id, migration.turns_group
        profile = await store.profile(shadow) or await store.profile(group)
        if profile is None:
            raise GraphUnusable(
                f"group `{shadow}` is not in the graph any more; run the migration again"
            )
        run = new_ingest_run(settings, clock)
        created = [name for name in (group, shadow) if await store.profile(name) is None]
        async with migration_leases(store, (group, shadow), profile, run) as leases:
            # Another command may have changed it before the leases were taken.
            current = await selected_migration(store, group)
            change = GroupChange(store, leases, current, options, run, progress, created)
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
