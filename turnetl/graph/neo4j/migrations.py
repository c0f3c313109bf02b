"""Migrations in Neo4j: their states, their steps, and the relations that they must not break."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import LiteralString

from turnetl.base.graph_model import Lease
from turnetl.base.model import GroupId
from turnetl.graph.migrations import (
    MIGRATIONS,
    OWN_TYPES,
    SAVE_MIGRATION,
    MigrationStep,
    MigrationSummary,
    MovedKind,
    OtherRelation,
    StepPatterns,
    TurnMigration,
    decoded,
    migration_row,
    step_statements,
    summaries,
)
from turnetl.graph.neo4j.lease import Neo4jWriter, lock_group

_OWN: LiteralString = f"[{', '.join(repr(kind) for kind in OWN_TYPES)}]"
_PATTERNS = StepPatterns(
    nodes={
        MovedKind.COMMUNITIES: "MATCH (item:Community {uuid: uuid})",
        MovedKind.SAGAS: "MATCH (item:Saga {uuid: uuid})",
        MovedKind.ENTITIES: "MATCH (item:Entity {uuid: uuid})",
        MovedKind.FACTS: "MATCH ()-[item:RELATES_TO {uuid: uuid}]->()",
        MovedKind.EPISODES: "MATCH (item:Episodic {uuid: uuid})",
    },
    edges={
        MovedKind.COMMUNITIES: ("MATCH (:Community {uuid: uuid})-[item:HAS_MEMBER]->()",),
        MovedKind.SAGAS: ("MATCH (:Saga {uuid: uuid})-[item:HAS_EPISODE]->()",),
        MovedKind.EPISODES: ("MATCH (:Episodic {uuid: uuid})-[item:MENTIONS|NEXT_EPISODE]->()",),
    },
    is_used=f"""
    (EXISTS {{ (item)-[:RELATES_TO]-() }} OR EXISTS {{ (:Episodic)-[:MENTIONS]->(item) }}
     OR EXISTS {{
        MATCH (item)-[r]-(other)
        WHERE NOT type(r) IN {_OWN} AND coalesce(other.group_id <> $group_id, true)
    }})
    """,
    delete_fact="DELETE item",
)
_RELATIONS: LiteralString = f"""
MATCH (item:Entity|Episodic|Saga|Community)-[r]-(other)
WHERE item.group_id IN $groups
WITH item, r, other, type(r) IN {_OWN} AS is_own,
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


class Neo4jMigrations(Neo4jWriter):
    """The migrations of a `GraphStore` over a client."""

    async def migrations(self) -> Sequence[TurnMigration]:
        return decoded(await self._states())

    async def migration_summaries(self) -> Sequence[MigrationSummary]:
        return summaries(await self._states())

    async def other_relations(self, groups: Sequence[GroupId]) -> Sequence[OtherRelation]:
        rows = await self._client.read(_RELATIONS, groups=list(groups))
        return [OtherRelation(row["node"], row["other"]) for row in rows]

    async def migrate(
        self,
        leases: Sequence[Lease],
        step: MigrationStep | None,
        migration: TurnMigration | None,
        *,
        now: datetime,
        ttl: timedelta,
    ) -> None:
        first, *others = leases
        async with self._writing_under(first, now + ttl) as transaction:
            for lease in others:
                await lock_group(transaction, lease, until=now + ttl)
            for query, parameters in step_statements(step, _PATTERNS) if step is not None else ():
                await (await transaction.run(query, parameters)).consume()
            if migration is not None:
                await transaction.run(SAVE_MIGRATION, migration_row(migration))

    async def _states(self) -> list[str]:
        return [row["state"] for row in await self._client.read(MIGRATIONS)]
