"""What a cutover, a rollback or a finish would change, read from the graph. Writes nothing."""

from collections.abc import Collection
from datetime import datetime, timedelta

from turnetl import ids
from turnetl.errors import BadUsage
from turnetl.exit_code import ExitCode
from turnetl.graph.migrations import MigrationPhase, TurnMigration
from turnetl.graph.port import GraphStore
from turnetl.migration.change_report import MigrationChange, MigrationCommand, NewEpisode
from turnetl.migration.cutover_check import incomplete
from turnetl.migration.moves import GroupRows, Moves, everything, old_data, turn_data
from turnetl.migration.phases import remedy
from turnetl.migration.start import open_migration
from turnetl.migration.verdict import cutover_refusal, state_digest
from turnetl.model import GroupId, TurnId
from turnetl.shadow_groups import sessions_group, turns_group

_CUT_OVER = (MigrationPhase.CUTTING_OVER, MigrationPhase.CUT_OVER, MigrationPhase.ROLLING_BACK)
"""Phases in which a part of the data may be in other groups than before."""
_DISCARDABLE = (MigrationPhase.RUNNING, MigrationPhase.READY, MigrationPhase.DISCARDING)
_FINISHABLE = (MigrationPhase.CUT_OVER, MigrationPhase.FINISHING)


async def selected_migration(store: GraphStore, group: str | None) -> TurnMigration:
    """Return the open migration of this group; of all, if there is only one.

    Raises:
        BadUsage: there is none, or several and no group is named.
        GraphUnusable: another version of turnetl began it.
    """
    migrations = await store.migrations()
    groups = sorted({one.group_id for one in migrations if one.is_open})
    if group is None and len(groups) > 1:
        raise BadUsage(f"several groups are being migrated: name one of {', '.join(groups)}")
    name = GroupId(group) if group is not None else next(iter(groups), None)
    found = None if name is None else open_migration(migrations, name)
    if found is None:
        which = "no group is" if group is None else f"group `{group}` is not"
        others = f"; those that are: {', '.join(groups)}" if groups else ""
        raise BadUsage(
            f"{which} being migrated{others}; `turnetl migrate run ARCHIVES` begins a migration"
        )
    return found


async def planned_cutover(
    store: GraphStore, migration: TurnMigration, *, accept: bool
) -> MigrationChange:
    """Return what a cutover would move, and what speaks against it."""
    group = migration.group_id
    rows = await _rows(store, group)
    shadow = await _rows(store, turns_group(group))
    old, turns = old_data(rows, migration.moved), everything(shadow)
    own = _turn_episodes(shadow) | set(migration.moved)
    unrecorded = await store.unrecorded_episodes(group)
    staying = [one for one in unrecorded if one.uuid not in own]
    known = set(migration.staying)
    count = shadow.tables.commits.height
    error = (
        incomplete(migration, count) or _mixed_turns(rows) or _mixed_dimensions(rows, old, shadow)
    )
    return MigrationChange(
        MigrationCommand.CUTOVER,
        migration,
        old,
        turns,
        count,
        staying=tuple(one.uuid for one in staying),
        new_episodes=tuple(
            NewEpisode(one.uuid, one.name) for one in staying if one.uuid not in known
        ),
        objections=() if accept or error else await _objections(store, migration),
        error=error,
        exit_code=ExitCode.DONE if error is None else ExitCode.FAILED,
    )


async def _objections(store: GraphStore, migration: TurnMigration) -> tuple[str, ...]:
    """Return what the user has to accept before a cutover begins."""
    if migration.phase is MigrationPhase.CUTTING_OVER:
        return ()
    group = migration.group_id
    old = await store.session_level(group, vectors=False)
    digest = state_digest(old, await store.receipts(turns_group(group)))
    objection = cutover_refusal(migration, digest)
    return () if objection is None else (objection,)


async def planned_rollback(
    store: GraphStore, migration: TurnMigration, *, discard: bool
) -> MigrationChange:
    """Return what a rollback would move, or delete."""
    group = migration.group_id
    shadow = await _rows(store, turns_group(group))
    if migration.phase in _CUT_OVER:
        rows = await _rows(store, group)
        commits = rows if rows.tables.commits.height else shadow
        turns = turn_data(rows, commits.tables)
        old = everything(await _rows(store, sessions_group(group, migration.migration_id)))
        turn_count, error = commits.tables.commits.height, None
    else:
        old, turns, turn_count = Moves(), everything(shadow), shadow.tables.commits.height
        error = _not_cut_over(migration, discard=discard)
    return MigrationChange(
        MigrationCommand.ROLLBACK,
        migration,
        old,
        turns,
        turn_count,
        error=error,
        exit_code=ExitCode.DONE if error is None else ExitCode.FAILED,
        discards=discard,
    )


async def planned_finish(
    store: GraphStore, migration: TurnMigration, *, keep_days: float, now: datetime
) -> MigrationChange:
    """Return what a finish would delete."""
    group = migration.group_id
    old = everything(await _rows(store, sessions_group(group, migration.migration_id)))
    error = None
    if migration.phase not in _FINISHABLE:
        error = f"group `{group}` is not cut over: {remedy(migration)}"
    elif migration.cut_over_at and now < (kept := _kept_until(migration.cut_over_at, keep_days)):
        error = f"group `{group}`: its old data is kept until {kept:%Y-%m-%d %H:%M} UTC"
    return MigrationChange(
        MigrationCommand.FINISH,
        migration,
        old,
        Moves(),
        migration.turns,
        error=error,
        exit_code=ExitCode.DONE if error is None else ExitCode.FAILED,
    )


async def discarded_turns(store: GraphStore, group: GroupId) -> Moves:
    """Return the data of the shadow group of the turns."""
    return everything(await _rows(store, turns_group(group)))


async def other_episodes(store: GraphStore, group: GroupId) -> tuple[str, ...]:
    """Return the uuids of the episodes of the group that no turn wrote."""
    return tuple(one.uuid for one in await store.unrecorded_episodes(group))


async def _rows(store: GraphStore, group: GroupId) -> GroupRows:
    return GroupRows(group, await store.tables(group), await store.communities(group))


def _turn_episodes(shadow: GroupRows) -> set[str]:
    chunks = shadow.tables.commits.select("turn_id", "chunks").iter_rows()
    return {ids.chunk_id(TurnId(turn), number) for turn, all_ in chunks for number in range(all_)}


def _mixed_turns(rows: GroupRows) -> str | None:
    """Return the error of a group that another run filled with turns meanwhile."""
    count = rows.tables.commits.height
    if not count:
        return None
    return (
        f"group `{rows.group}` holds {count:,} turns that the migration did not ingest: take them "
        f"back with `turnetl undo --group {rows.group}`, then run the migration again"
    )


def _mixed_dimensions(rows: GroupRows, old: Moves, shadow: GroupRows) -> str | None:
    """Return the error of a group whose remaining entities cannot be compared with the turns'."""
    entities = rows.tables.entities.select("uuid", "dimensions").iter_rows()
    moved: Collection[str] = frozenset(old.entities)
    staying = {size for uuid, size in entities if uuid not in moved and size is not None}
    new = set(shadow.tables.entities["dimensions"].drop_nulls())
    if not new or staying <= new:
        return None
    [size, *_] = sorted(staying - new)
    return (
        f"group `{rows.group}`: entities that stay have embeddings of {size:,} dimensions, those "
        f"of the turns {min(new):,}, and a group can hold only one kind; run the migration again "
        "with the embedder of the old data"
    )


def _not_cut_over(migration: TurnMigration, *, discard: bool) -> str | None:
    if discard and migration.phase in _DISCARDABLE:
        return None
    group = migration.group_id
    if migration.phase is MigrationPhase.FINISHING:
        return f"group `{group}`: its old data is being deleted; there is no way back"
    return (
        f"group `{group}` is not cut over, so that there is nothing to take back; `--discard` "
        "deletes the turns of the migration"
    )


def _kept_until(cut_over_at: datetime, days: float) -> datetime:
    return cut_over_at + timedelta(days=days)
