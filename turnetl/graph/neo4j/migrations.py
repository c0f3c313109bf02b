"""Migrations in Neo4j: the state of each as JSON, and the steps of their cutovers.

Read the relations of a Neo4j graph that are no part of its groups.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any, LiteralString

from neo4j import AsyncTransaction

from turnetl.base.graph_model import Lease
from turnetl.base.model import GroupId
from turnetl.graph.migrations import (
    OWN_TYPES,
    DeleteStep,
    DropGroupStep,
    DropTurnsStep,
    MarkStep,
    MigrationStep,
    MigrationSummary,
    MoveCommitsStep,
    MovedKind,
    MoveStep,
    OtherRelation,
    SwitchStep,
    TurnMigration,
    decoded,
    encoded,
    summaries,
)
from turnetl.graph.neo4j.client import Neo4jClient
from turnetl.graph.neo4j.lease import Neo4jWriter, lock_group

_MIGRATIONS: LiteralString = "MATCH (m:TurnMigration) RETURN m.state AS state"
_SAVE: LiteralString = """
MERGE (m:TurnMigration {migration_id: $migration_id})
SET m.group_id = $group_id, m.state = $state
"""
_EACH: LiteralString = "UNWIND $uuids AS uuid "
_NODES: dict[MovedKind, LiteralString] = {
    MovedKind.COMMUNITIES: "MATCH (item:Community {uuid: uuid})",
    MovedKind.SAGAS: "MATCH (item:Saga {uuid: uuid})",
    MovedKind.ENTITIES: "MATCH (item:Entity {uuid: uuid})",
    MovedKind.FACTS: "MATCH ()-[item:RELATES_TO {uuid: uuid}]->()",
    MovedKind.EPISODES: "MATCH (item:Episodic {uuid: uuid})",
}
_EDGES: dict[MovedKind, LiteralString] = {
    MovedKind.COMMUNITIES: "MATCH (:Community {uuid: uuid})-[item:HAS_MEMBER]->()",
    MovedKind.SAGAS: "MATCH (:Saga {uuid: uuid})-[item:HAS_EPISODE]->()",
    MovedKind.EPISODES: "MATCH (:Episodic {uuid: uuid})-[item:MENTIONS|NEXT_EPISODE]->()",
}
_MOVE: LiteralString = " WHERE item.group_id = $source SET item.group_id = $target"
_OF_GROUP: LiteralString = " WHERE item.group_id = $group"
_MARK: LiteralString = f"""
{_EACH}{_NODES[MovedKind.EPISODES]}{_OF_GROUP} SET item.turnetl_granularity = $granularity
"""
_USED: LiteralString = """
(EXISTS { (item)-[:RELATES_TO]-() } OR EXISTS { (:Episodic)-[:MENTIONS]->(item) }
 OR EXISTS {
    MATCH (item)-[r]-(other)
    WHERE NOT type(r) IN $own AND coalesce(other.group_id <> $group, true)
})
"""
_INHERIT: LiteralString = (
    f"{_EACH}{_NODES[MovedKind.ENTITIES]}{_OF_GROUP} AND {_USED} SET item.group_id = $heir"
)
_DELETE_NODE: LiteralString = f"{_OF_GROUP} DETACH DELETE item"
_DELETE_BARE: LiteralString = f"{_OF_GROUP} DELETE item"
_COMMITS: LiteralString = "MATCH (item:TurnCommit {turn_id: uuid})"
_SWITCH_GROUP: LiteralString = """
MATCH (s:TurnGroup {group_id: $source}), (t:TurnGroup {group_id: $target})
SET t.sequence = s.sequence, t.creation_id = s.creation_id, t.embedder = s.embedder,
    t.dimensions = s.dimensions, t.recipe = s.recipe
"""
_RESET_GROUP: LiteralString = """
MATCH (g:TurnGroup {group_id: $source})
SET g.sequence = 0, g.creation_id = $creation_id
"""
_DROP_GROUP: LiteralString = """
MATCH (g:TurnGroup {group_id: $group})
WHERE NOT EXISTS { (:TurnCommit {group_id: $group}) }
DELETE g
"""
_MARK_RUNS: LiteralString = """
UNWIND $runs AS run_id
MATCH (r:TurnRun {run_id: run_id})
WHERE NOT EXISTS { (:TurnCommit {run_id: run_id}) }
SET r.undone_at = $now
"""
_Parametrised = tuple[LiteralString, dict[str, Any]]


class Neo4jMigrations(Neo4jWriter):
    """`MigrationStore` over a client."""

    async def migrations(self) -> Sequence[TurnMigration]:
        return decoded(await self._states())

    async def migration_summaries(self) -> Sequence[MigrationSummary]:
        return summaries(await self._states())

    async def other_relations(self, groups: Sequence[GroupId]) -> Sequence[OtherRelation]:
        return await read_other_relations(self._client, groups)

    async def save_migration(
        self, lease: Lease, migration: TurnMigration, *, now: datetime, ttl: timedelta
    ) -> None:
        async with self._writing_under(lease, now + ttl) as transaction:
            await _save(transaction, migration)

    async def migrate(
        self,
        leases: Sequence[Lease],
        step: MigrationStep,
        migration: TurnMigration | None,
        *,
        now: datetime,
        ttl: timedelta,
    ) -> None:
        first, *others = leases
        async with self._writing_under(first, now + ttl) as transaction:
            for lease in others:
                await lock_group(transaction, lease, until=now + ttl)
            for query, parameters in _statements(step):
                await (await transaction.run(query, parameters)).consume()
            if migration is not None:
                await _save(transaction, migration)

    async def _states(self) -> list[str]:
        return [row["state"] for row in await self._client.read(_MIGRATIONS)]


async def _save(transaction: AsyncTransaction, migration: TurnMigration) -> None:
    await transaction.run(
        _SAVE,
        migration_id=migration.migration_id,
        group_id=migration.group_id,
        state=encoded(migration),
    )


def _statements(step: MigrationStep) -> Iterator[_Parametrised]:
    match step:
        case MoveStep(kind, uuids, source, target):
            groups = {"uuids": list(uuids), "source": source, "target": target}
            yield _EACH + _NODES[kind] + _MOVE, groups
            if kind in _EDGES:
                yield _EACH + _EDGES[kind] + _MOVE, groups
        case MarkStep(group, uuids, granularity):
            yield _MARK, {"uuids": list(uuids), "group": group, "granularity": granularity}
        case MoveCommitsStep(turns, source, target):
            groups = {"uuids": list(turns), "source": source, "target": target}
            yield _EACH + _COMMITS + _MOVE, groups
        case SwitchStep():
            yield from _switch(step)
        case DeleteStep(kind, uuids, group, heir):
            of_group = {"uuids": list(uuids), "group": group}
            if kind is MovedKind.ENTITIES:
                yield _INHERIT, of_group | {"heir": heir, "own": list(OWN_TYPES)}
            deletion = _DELETE_BARE if kind is MovedKind.FACTS else _DELETE_NODE
            yield _EACH + _NODES[kind] + deletion, of_group
        case DropTurnsStep(group, turns, runs, now):
            yield _EACH + _COMMITS + _DELETE_BARE, {"uuids": list(turns), "group": group}
            yield _MARK_RUNS, {"runs": list(runs), "now": now}
        case DropGroupStep(group):
            yield _DROP_GROUP, {"group": group}


def _switch(step: SwitchStep) -> Iterator[_Parametrised]:
    groups = {"source": step.source, "target": step.target}
    yield _SWITCH_GROUP, groups
    if step.deletes_source:
        yield _DROP_GROUP, {"group": step.source}
    else:
        yield _RESET_GROUP, {"source": step.source, "creation_id": step.new_creation_id}


_RELATIONS: LiteralString = """
MATCH (item:Entity|Episodic|Saga|Community)-[r]-(other)
WHERE item.group_id IN $groups
WITH item, r, other, type(r) IN $own AS is_own,
     (other:Entity OR other:Episodic OR other:Saga OR other:Community)
     AND coalesce(other.group_id IN $groups, false) AS is_inside
WHERE CASE
    WHEN NOT is_own THEN true
    WHEN type(r) = 'RELATES_TO' THEN NOT is_inside OR NOT coalesce(r.group_id IN $groups, false)
    ELSE NOT is_inside AND endNode(r) = item
END
RETURN DISTINCT item.uuid AS node,
    CASE WHEN NOT is_own AND is_inside THEN other.uuid END AS other
ORDER BY node, other
"""


async def read_other_relations(
    client: Neo4jClient, groups: Sequence[GroupId]
) -> Sequence[OtherRelation]:
    """See `MigrationStore.other_relations`."""
    rows = await client.read(_RELATIONS, groups=list(groups), own=list(OWN_TYPES))
    return [OtherRelation(row["node"], row["other"]) for row in rows]
