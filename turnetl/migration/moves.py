"""Which data a cutover, a rollback or a finish moves or deletes. Pure: of the rows of the groups.

The rows are those of the group and of its shadow groups together, so that the same data gives the
same sets wherever a part of it is by now.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Annotated

import polars as pl

from turnetl.base import ids
from turnetl.base.batched import batched
from turnetl.base.exit_code import ExitCode
from turnetl.base.graph_model import Community
from turnetl.base.model import GroupId, SessionId, TurnId
from turnetl.base.results import described
from turnetl.graph.group_tables import GroupTables
from turnetl.graph.migrations import DeleteStep, MovedKind, MoveStep, OtherRelation, TurnMigration

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
