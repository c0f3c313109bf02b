"""What a cutover, a rollback or a finish would change, read from the graph. Writes nothing."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID

from turnetl.base.errors import BadUsage
from turnetl.base.graph_model import CommitRecord
from turnetl.base.model import GroupId
from turnetl.base.text import plural
from turnetl.graph.migrations import MigrationPhase, TurnMigration, incomplete_reason, remedy
from turnetl.graph.port import GraphStore
from turnetl.migration.comparison import cutover_refusal, state_digest
from turnetl.migration.migration_report import open_migration
from turnetl.migration.moves import (
    NOTHING,
    GroupRows,
    MigrationChange,
    MigrationCommand,
    Moves,
    NewEpisode,
    everything,
    of_turns,
    old_data,
    together,
    turn_data,
    turn_episodes,
    unused,
)
from turnetl.summaries.records import decode

_CUT_OVER = (MigrationPhase.CUTTING_OVER, MigrationPhase.CUT_OVER, MigrationPhase.ROLLING_BACK)
"""Phases in which a part of the data may be in other groups than before."""
_DERIVED = 5
"""Version of a uuid that is made of a name."""
DISCARDABLE = (MigrationPhase.RUNNING, MigrationPhase.READY, MigrationPhase.DISCARDING)
"""Phases in which a rollback has nothing to move."""
_FINISHABLE = (MigrationPhase.CUT_OVER, MigrationPhase.FINISHING)


async def selected_migration(store: GraphStore, group: str | None) -> TurnMigration:
    """Return the open migration of this group; None: the only open one."""
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
    sides = await _sides(store, migration)
    old, turns = old_data(sides.all, migration.moved), of_turns(sides.all)
    back = everything(sides.sessions) - old
    own = turn_episodes(sides.all) | set(migration.moved) - set(back.episodes)
    staying = [one for one in await store.unrecorded_episodes(group) if one.uuid not in own]
    known = set(migration.staying)
    new = [one for one in staying if one.uuid not in known and one.uuid not in migration.moved]
    error = (
        incomplete_reason(migration, sides.all.tables.commits.height)
        or _mixed_turns(migration, sides.group)
        or _mixed_dimensions(sides.group, old, sides.shadow)
    )
    left = (old & everything(sides.group), back, turns & everything(sides.shadow))
    others = everything(sides.group) - old - turns
    return MigrationChange(
        MigrationCommand.CUTOVER,
        migration,
        old,
        turns,
        _turn_ids(sides.all),
        kept=old_data(replace(sides.all, relations=()), migration.moved) - old,
        back=back,
        remaining=sum(map(len, left)),
        foreign_communities=others.communities,
        staying=tuple(one.uuid for one in staying),
        new_episodes=tuple(NewEpisode(one.uuid, one.name) for one in new),
        objections=() if accept or error else await _objections(store, migration),
        error=error,
    )


async def _objections(store: GraphStore, migration: TurnMigration) -> tuple[str, ...]:
    if migration.phase is MigrationPhase.CUTTING_OVER:
        return ()
    old = await store.session_level(migration.group_id, vectors=False)
    digest = state_digest(old, await store.receipts(migration.turns_group))
    objection = cutover_refusal(migration, digest)
    return () if objection is None else (objection,)


async def planned_rollback(
    store: GraphStore, migration: TurnMigration, *, discard: bool
) -> MigrationChange:
    sides = await _sides(store, migration)
    turns, created = turn_data(sides.all), of_turns(sides.all)
    old, error = NOTHING, None
    if migration.phase in _CUT_OVER:
        old = everything(sides.sessions)
        if migration.phase is MigrationPhase.ROLLING_BACK:  # a part is back
            old |= old_data(sides.all, migration.moved)
        error = await _changed_by_turns(store, migration, created)
    else:
        error = _not_cut_over(migration, discard=discard)
    return MigrationChange(
        MigrationCommand.ROLLBACK,
        migration,
        old,
        turns,
        _turn_ids(sides.all),
        kept=created - turns,
        mixed_communities=_mixed_communities(migration, sides.group, created, turns),
        error=error,
        discards=discard,
    )


async def planned_finish(
    store: GraphStore, migration: TurnMigration, *, keep_days: float, now: datetime
) -> MigrationChange:
    group = migration.group_id
    sides = await _sides(store, migration)
    archived = everything(sides.sessions)
    old = unused(sides.all, archived, migration.moved)
    error = None
    if migration.phase not in _FINISHABLE:
        error = f"group `{group}` is not cut over: {remedy(migration)}"
    elif migration.cut_over_at and now < (
        kept := migration.cut_over_at + timedelta(days=keep_days)
    ):
        error = f"group `{group}`: its old data is kept until {kept:%Y-%m-%d %H:%M} UTC"
    return MigrationChange(
        MigrationCommand.FINISH,
        migration,
        old,
        NOTHING,
        _turn_ids(sides.all),
        kept=archived - old,
        error=error,
    )


@dataclass(frozen=True, slots=True)
class _MigrationGroups:
    """The group, its shadow groups, and all of them together."""

    group: GroupRows
    shadow: GroupRows
    """Turns before the cutover."""
    sessions: GroupRows
    """Old data after it."""
    all: GroupRows


async def _sides(store: GraphStore, migration: TurnMigration) -> _MigrationGroups:
    group = migration.group_id
    names = (group, migration.turns_group, migration.sessions_group)
    own, shadow, sessions = [
        GroupRows(name, await store.tables(name), await store.communities(name)) for name in names
    ]
    relations = await store.other_relations(names)
    return _MigrationGroups(own, shadow, sessions, together((own, shadow, sessions), relations))


def _turn_ids(rows: GroupRows) -> tuple[str, ...]:
    return tuple(sorted(rows.tables.commits["turn_id"]))


async def _changed_by_turns(
    store: GraphStore, migration: TurnMigration, created: Moves
) -> str | None:
    """Return the error of turns that changed after the cutover what a rollback does not restore."""
    if migration.phase is not MigrationPhase.CUT_OVER:
        return None
    own = frozenset((*created.entities, *created.facts))
    records = await store.commit_records(migration.group_id)
    runs = sorted({one.receipt.run_id for one in records if not own.issuperset(_changed(one))})
    if not runs:
        return None
    named = ", ".join(f"`turnetl undo {run}`" for run in runs)
    return (
        f"group `{migration.group_id}`: turns that were ingested after the cutover changed "
        f"entities or facts of other programs, which a rollback does not restore; {named} does, "
        "then roll back; the next ingest takes these turns again"
    )


def _changed(record: CommitRecord) -> Iterator[str]:
    """Yield the uuids of the entities and facts that a turn changed, or wrote a summary of."""
    yield from (entity.uuid for entity in record.entities_before)
    yield from (fact.uuid for fact in record.facts_before)
    yield from (one.entity for one in decode(record.summaries) if one.text is not None)


def _mixed_communities(
    migration: TurnMigration, rows: GroupRows, created: Moves, turns: Moves
) -> tuple[str, ...]:
    """Return the communities that were built since the cutover and have members of both sides."""
    others, entities = {*migration.communities, *turns.communities}, {*created.entities}
    # turnetl derives the uuid of a community from its members, Graphiti draws it.
    return tuple(
        one.uuid
        for one in rows.communities
        if one.uuid not in others and entities.intersection(one.members) and _is_derived(one.uuid)
    )


def _is_derived(uuid: str) -> bool:
    try:
        return UUID(uuid).version == _DERIVED
    except ValueError:
        return False


def _mixed_turns(migration: TurnMigration, rows: GroupRows) -> str | None:
    """Return the error of a group that another run filled with turns meanwhile."""
    count = rows.tables.commits.height
    # During the cutover they are those of the migration.
    if not count or migration.phase is MigrationPhase.CUTTING_OVER:
        return None
    return (
        f"group `{rows.group}` holds {plural(count, 'turn')} that the migration did not ingest: "
        f"`turnetl migrate rollback --discard --group {rows.group}` ends it; then `turnetl undo "
        f"--group {rows.group}` takes them back, and the group can be migrated again"
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
    if discard and migration.phase in DISCARDABLE:
        return None
    group = migration.group_id
    if migration.phase is MigrationPhase.FINISHING:
        return f"group `{group}`: its old data is being deleted; there is no way back"
    return (
        f"group `{group}` is not cut over, so that there is nothing to take back; `--discard` "
        "deletes the turns of the migration"
    )
