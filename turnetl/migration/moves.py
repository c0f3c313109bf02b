"""Which data a cutover, a rollback or a finish moves or deletes, and what makes it impossible.

Nothing is written. The rows are those of the group and of its shadow groups together, so that the
same data gives the same sets wherever a part of it is by now.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated
from uuid import UUID

import polars as pl

from turnetl.base import ids
from turnetl.base.batched import batched
from turnetl.base.errors import BadUsage
from turnetl.base.exit_code import ExitCode
from turnetl.base.graph_model import CommitRecord, Community
from turnetl.base.model import GroupId, SessionId, TurnId
from turnetl.base.results import described
from turnetl.base.text import plural
from turnetl.graph.group_tables import GroupTables
from turnetl.graph.migrations import (
    DeleteStep,
    MigrationPhase,
    MovedKind,
    MoveStep,
    OtherRelation,
    TurnMigration,
    incomplete_reason,
    remedy,
)
from turnetl.graph.port import GraphStore
from turnetl.migration.comparison import cutover_refusal, state_digest
from turnetl.migration.migration_report import open_migration
from turnetl.summaries.records import decode

BATCH = 1000
"""Nodes or facts of one transaction."""


@dataclass(frozen=True, slots=True)
class GroupRows:
    """A group as the graph holds it, or several together."""

    group: GroupId
    tables: GroupTables
    communities: Sequence[Community]
    relations: Sequence[OtherRelation] = ()
    """Of nodes of the groups with others."""


@dataclass(frozen=True, slots=True)
class Moves:
    """Data that is moved or deleted together.

    Uuids, sorted; only their numbers are printed.
    """

    communities: Annotated[tuple[str, ...], described("Communities.", counted=True)] = ()
    sagas: Annotated[tuple[str, ...], described("Sagas.", counted=True)] = ()
    entities: Annotated[tuple[str, ...], described("Entities.", counted=True)] = ()
    facts: Annotated[tuple[str, ...], described("Facts.", counted=True)] = ()
    episodes: Annotated[tuple[str, ...], described("Episodes.", counted=True)] = ()

    def by_kind(self) -> Mapping[MovedKind, tuple[str, ...]]:
        """Return the uuids in the order in which they are moved."""
        return {kind: getattr(self, kind.value) for kind in MovedKind}

    def __len__(self) -> int:
        return sum(map(len, self.by_kind().values()))

    def __sub__(self, other: "Moves") -> "Moves":
        return self._with(other, lambda one, two: one - two)

    def __or__(self, other: "Moves") -> "Moves":
        return self._with(other, lambda one, two: one | two)

    def __and__(self, other: "Moves") -> "Moves":
        return self._with(other, lambda one, two: one & two)

    def steps(self, source: GroupId, target: GroupId, size: int) -> Iterator[MoveStep]:
        """Yield the steps that move everything, each of at most `size` uuids."""
        for kind, uuids in self.by_kind().items():
            for batch in batched(uuids, size):
                yield MoveStep(kind, tuple(batch), source, target)

    def deletions(self, group: GroupId, heir: GroupId, size: int) -> Iterator[DeleteStep]:
        """Yield the steps that delete everything: facts and episodes before the entities."""
        uuids = self.by_kind()
        for kind in _DELETED:
            for batch in batched(uuids[kind], size):
                yield DeleteStep(kind, tuple(batch), group, heir)

    def _with(self, other: "Moves", operation: "_SetOperation") -> "Moves":
        names = [field.name for field in fields(self)]
        return Moves(
            **{
                name: _sorted(operation(set(getattr(self, name)), set(getattr(other, name))))
                for name in names
            }
        )


NOTHING = Moves()
_SetOperation = Callable[[set[str], set[str]], set[str]]
_DELETED = (
    *(MovedKind.FACTS, MovedKind.EPISODES, MovedKind.COMMUNITIES),
    *(MovedKind.SAGAS, MovedKind.ENTITIES),
)


def together(rows: Sequence[GroupRows], relations: Sequence[OtherRelation]) -> GroupRows:
    """Return the rows of several groups as those of one, under the name of the first."""
    tables = {
        field.name: pl.concat([getattr(one.tables, field.name) for one in rows])
        for field in fields(GroupTables)
    }
    communities = [community for one in rows for community in one.communities]
    return GroupRows(rows[0].group, GroupTables(**tables), communities, relations)


def everything(rows: GroupRows) -> Moves:
    tables = rows.tables
    return Moves(
        communities=_sorted(one.uuid for one in rows.communities),
        sagas=_sorted(tables.sagas["uuid"]),
        entities=_sorted(tables.entities["uuid"]),
        facts=_sorted(tables.facts["uuid"]),
        episodes=_sorted(tables.episodes["uuid"]),
    )


def old_data(rows: GroupRows, moved: Collection[str]) -> Moves:
    """Return the data that only these episodes of other programs use.

    A fact is moved if it names no other episode; an entity if such an episode or fact uses it, and
    nothing else; a saga if it has no other episode; a community if none of its entities stays.
    Whatever another relation uses stays.
    """
    return _used_only_by(rows, frozenset(moved), None)


def unused(rows: GroupRows, archived: Moves, moved: Collection[str]) -> Moves:
    """Return what only these `moved` episodes use of `archived`, which may be deleted in part.

    An episode that another program wrote there after the cutover stays.
    """
    elsewhere = set(rows.tables.episodes["uuid"]) - set(archived.episodes)
    own = set(moved) - elsewhere
    return _used_only_by(rows, frozenset(own), archived) & archived


def of_turns(rows: GroupRows) -> Moves:
    """Return what the turns of the rows' TurnCommits created, as far as it is there."""
    records = rows.tables.commits
    sessions = records["session_id"].unique()
    created = {
        "sagas": (ids.saga_id(rows.group, SessionId(session)) for session in sessions),
        "entities": records["entities_new"].explode().drop_nulls(),
        "facts": records["facts_new"].explode().drop_nulls(),
        "episodes": turn_episodes(rows),
    }
    present = everything(rows)
    found = Moves(**{name: _sorted(set(uuids)) for name, uuids in created.items()}) & present
    communities = _communities_of(rows, frozenset(found.entities))
    return Moves(communities, found.sagas, found.entities, found.facts, found.episodes)


def turn_episodes(rows: GroupRows) -> set[str]:
    """Return the uuids of all chunks of the rows' TurnCommits, also of those that are missing."""
    chunks = rows.tables.commits.select("turn_id", "chunks").iter_rows()
    return {ids.chunk_id(TurnId(turn), n) for turn, count in chunks for n in range(count)}


def turn_data(rows: GroupRows) -> Moves:
    """Return what of `of_turns` nothing else uses."""
    created = of_turns(rows)
    return _used_only_by(rows, frozenset(created.episodes), created)


def _used_only_by(rows: GroupRows, episodes: frozenset[str], only: Moves | None) -> Moves:
    """Return the data that these episodes use, and no other data; only of the given, if any."""
    held = frozenset[str]()
    while True:
        moves = _without(held, rows, episodes, only)
        moving = {*moves.communities, *moves.sagas, *moves.entities, *moves.episodes}
        used = {
            relation.node
            for relation in rows.relations
            if relation.node in moving and relation.other not in moving
        }
        if not used:
            return moves
        held |= used


def _without(
    held: frozenset[str], rows: GroupRows, episodes: frozenset[str], only: Moves | None
) -> Moves:
    """Return what moves if the nodes that are `held` stay, with all that they use."""
    tables, moving_episodes = rows.tables, episodes - held
    facts, using, staying = _of_facts(tables, moving_episodes, only)
    for episode, entity in tables.mentions.select("episode", "entity").iter_rows():
        (using if episode in moving_episodes else staying).add(entity)
    candidates = using if only is None else set[str | None](only.entities)
    entities = frozenset(tables.entities["uuid"]) & (candidates - staying) - held
    return Moves(
        communities=_sorted(set(_communities_of(rows, entities)) - held),
        sagas=_sorted(_sagas(tables, moving_episodes, only) - held),
        entities=_sorted(entities),
        facts=_sorted(facts),
        episodes=_sorted(moving_episodes.intersection(tables.episodes["uuid"])),
    )


def _of_facts(
    tables: GroupTables, episodes: frozenset[str], only: Moves | None
) -> tuple[list[str], set[str | None], set[str | None]]:
    """Return the facts that move, their entities, and the entities of those that stay."""
    allowed = None if only is None else frozenset(only.facts)
    facts, using, staying = list[str](), set[str | None](), set[str | None]()
    columns = tables.facts.select("uuid", "source", "target", "turns")
    for uuid, source, target, turns in columns.iter_rows():
        moves = bool(turns) and episodes.issuperset(turns) and (allowed is None or uuid in allowed)
        (using if moves else staying).update((source, target))
        if moves:
            facts.append(uuid)
    return facts, using, staying


def _sagas(tables: GroupTables, episodes: frozenset[str], only: Moves | None) -> set[str]:
    """Return the sagas of which all episodes are among these: of the given, also those of none."""
    links = list(tables.saga_links.select("source", "target").iter_rows())
    staying = {saga for saga, episode in links if episode not in episodes}
    candidates = {saga for saga, _ in links} if only is None else set(only.sagas)
    return (candidates - staying) & set(tables.sagas["uuid"])


def _communities_of(rows: GroupRows, entities: frozenset[str]) -> tuple[str, ...]:
    """Return the communities that have members, all of which are among these entities."""
    return _sorted(
        one.uuid for one in rows.communities if one.members and entities.issuperset(one.members)
    )


def _sorted(uuids: Iterable[str | None]) -> tuple[str, ...]:
    return tuple(sorted(uuid for uuid in uuids if uuid is not None))


class MigrationCommand(StrEnum):
    """The commands that write a group of session-level data."""

    CUTOVER = "cutover"
    ROLLBACK = "rollback"
    FINISH = "finish"


@dataclass(frozen=True, slots=True)
class NewEpisode:
    """An episode that another program wrote while the group was migrated."""

    uuid: Annotated[str, described("Uuid of the episode.", name="episode")]
    name: Annotated[str, described("Name of the episode.")]


@dataclass(frozen=True, slots=True)
class MigrationChange:
    """A cutover, a rollback or a finish: planned, or carried out."""

    command: MigrationCommand
    migration: Annotated[
        TurnMigration, described("The state before it; after it if it was carried out.")
    ]
    old: Annotated[Moves, described("Session-level data that is moved, or deleted.")]
    turns: Annotated[Moves, described("Data of turns that is moved, or deleted.")]
    turn_ids: tuple[str, ...]
    """Of the turns of `turns`, sorted; of all turns if they stay."""
    kept: Annotated[
        Moves,
        described("Data that stays with the group because other data, or a relation, uses it."),
    ] = NOTHING
    back: Moves = NOTHING
    """Old data that a cutover moved, and that other data uses by now: it goes back."""
    remaining: int = 0
    """Nodes and facts that a cutover still has to move."""
    foreign_communities: tuple[str, ...] = ()
    """Uuids of the communities of other programs that stay with the group."""
    mixed_communities: tuple[str, ...] = ()
    """Uuids of the communities that turnetl made of turns and other data: a rollback deletes
    them."""
    staying: Annotated[
        tuple[str, ...],
        described("Episodes of other programs that stay with the group.", counted=True),
    ] = ()
    new_episodes: Annotated[
        tuple[NewEpisode, ...],
        described("Of these, the ones that were written since the last run."),
    ] = ()
    objections: Annotated[
        tuple[str, ...], described("What speaks against it unless `--accept` is given.")
    ] = ()
    error: Annotated[str | None, described("Why it is not possible; null if it is.")] = None
    """Or was not completed, and what to do."""
    is_done: Annotated[bool, described("Whether it was carried out.", name="done")] = False
    discards: bool = False
    """Whether a rollback deletes the turns."""
    kept_in_lake: int = 0
    """Turns that are parsed for this group, and that a rollback does not delete from the lake."""

    @property
    def turn_count(self) -> Annotated[int, described("Turns.")]:
        return len(self.turn_ids)

    @property
    def exit_code(self) -> int:
        return ExitCode.DONE if self.error is None else ExitCode.FAILED

    @property
    def is_refused(self) -> bool:
        return bool(self.objections) or (self.error is not None and not self.is_done)


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
