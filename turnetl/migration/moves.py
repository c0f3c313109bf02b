"""Which data of a group a cutover or a rollback moves. Pure: of the rows of the group.

The same rows give the same sets, also when some of the data was moved already, as long as the
kinds are moved in the order of `Moves.steps`: each kind is found through later ones.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from turnetl import ids
from turnetl.graph.group_tables import GroupTables
from turnetl.graph.migration_steps import DeleteStep, MovedKind, MoveStep
from turnetl.graph_model import Community
from turnetl.model import GroupId, SessionId, TurnId

BATCH = 1000
"""Nodes or facts of one transaction."""


@dataclass(frozen=True, slots=True)
class GroupRows:
    """A group as the graph holds it."""

    group: GroupId
    tables: GroupTables
    communities: Sequence[Community]


@dataclass(frozen=True, slots=True)
class Moves:
    """Uuids of what is moved, sorted."""

    communities: tuple[str, ...] = ()
    sagas: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()
    episodes: tuple[str, ...] = ()

    def by_kind(self) -> Mapping[MovedKind, tuple[str, ...]]:
        """Return the uuids in the order in which they are moved."""
        return {kind: getattr(self, kind.value) for kind in MovedKind}

    def __len__(self) -> int:
        return sum(map(len, self.by_kind().values()))

    def steps(self, source: GroupId, target: GroupId, size: int) -> Iterator[MoveStep]:
        """Yield the steps that move everything, each of at most `size` uuids."""
        for kind, uuids in self.by_kind().items():
            for batch in batches(uuids, size):
                yield MoveStep(kind, batch, source, target)

    def deletions(self, group: GroupId, heir: GroupId, size: int) -> Iterator[DeleteStep]:
        """Yield the steps that delete everything: facts and episodes before the entities."""
        uuids = self.by_kind()
        for kind in _DELETED:
            for batch in batches(uuids[kind], size):
                yield DeleteStep(kind, batch, group, heir)


_DELETED = (
    *(MovedKind.FACTS, MovedKind.EPISODES, MovedKind.COMMUNITIES),
    *(MovedKind.SAGAS, MovedKind.ENTITIES),
)


def everything(rows: GroupRows) -> Moves:
    """Return all data of a group."""
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
    nothing else; a saga if it has no other episode; a community if all of its entities are.
    """
    return _used_only_by(rows, frozenset(moved))


def turn_data(rows: GroupRows, commits: GroupTables) -> Moves:
    """Return what the turns of these commits created, and nothing else uses.

    Args:
        rows: of the group that holds the data.
        commits: of the group that holds the TurnCommits, maybe another one.
    """
    records = commits.commits
    chunks = records.select("turn_id", "chunks").iter_rows()
    episodes = {ids.chunk_id(TurnId(turn), n) for turn, count in chunks for n in range(count)}
    sessions = records["session_id"].unique().to_list()
    sagas = {ids.saga_id(rows.group, SessionId(session)) for session in sessions}
    facts, entities = (
        frozenset(records[name].explode().drop_nulls()) for name in ("facts_new", "entities_new")
    )
    return _used_only_by(
        rows, frozenset(episodes), entities=entities, facts=facts, sagas=frozenset(sagas)
    )


def batches(uuids: tuple[str, ...], size: int) -> Iterator[tuple[str, ...]]:
    """Yield the uuids in parts of at most `size`."""
    for start in range(0, len(uuids), size):
        yield uuids[start : start + size]


def _used_only_by(
    rows: GroupRows,
    episodes: frozenset[str],
    *,
    entities: frozenset[str] | None = None,
    facts: frozenset[str] | None = None,
    sagas: frozenset[str] | None = None,
) -> Moves:
    """Return the data that these episodes use, and no other; only of the given uuids, if any."""
    tables = rows.tables
    of_facts = [
        (uuid, {source, target}, bool(turns) and episodes.issuperset(turns or ()))
        for uuid, source, target, turns in tables.facts.select(
            "uuid", "source", "target", "turns"
        ).iter_rows()
    ]
    if facts is not None:
        of_facts = [(uuid, ends, moves and uuid in facts) for uuid, ends, moves in of_facts]
    using, staying = set[str | None](), set[str | None]()
    for _, ends, moves in of_facts:
        (using if moves else staying).update(ends)
    for episode, entity in tables.mentions.select("episode", "entity").iter_rows():
        (using if episode in episodes else staying).add(entity)
    present = set(tables.entities["uuid"])
    moving = ((entities if entities is not None else using) - staying) & present
    return Moves(
        communities=_sorted(
            one.uuid
            for one in rows.communities
            # Members in another group are still to come: communities are moved before entities.
            if one.members and moving.issuperset(one.members)
        ),
        sagas=_sorted(_moving_sagas(tables, episodes) & (sagas or set(tables.sagas["uuid"]))),
        entities=_sorted(moving),
        facts=_sorted(uuid for uuid, _, moves in of_facts if moves),
        episodes=_sorted(episodes.intersection(tables.episodes["uuid"])),
    )


def _moving_sagas(tables: GroupTables, episodes: frozenset[str]) -> set[str]:
    """Return the sagas of which all episodes of the group are among these."""
    links = list(tables.saga_links.select("source", "target").iter_rows())
    staying = {saga for saga, episode in links if episode not in episodes}
    return {saga for saga, _ in links} - staying


def _sorted(uuids: "Iterator[str] | Collection[str | None]") -> tuple[str, ...]:
    return tuple(sorted(uuid for uuid in uuids if uuid is not None))
