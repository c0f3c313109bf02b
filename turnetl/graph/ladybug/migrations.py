"""Migrations in Ladybug: their states, their steps, and the relations that they must not break."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from turnetl.base.graph_model import Lease
from turnetl.base.model import GroupId
from turnetl.graph.ladybug import cypher, rows
from turnetl.graph.ladybug import lease as ladybug_lease
from turnetl.graph.ladybug.client import LadybugClient, in_thread
from turnetl.graph.ladybug.lease import LadybugWriter
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

_PATTERNS = StepPatterns(
    nodes={
        MovedKind.COMMUNITIES: "MATCH (item:Community {uuid: uuid})",
        MovedKind.SAGAS: "MATCH (item:Saga {uuid: uuid})",
        MovedKind.ENTITIES: "MATCH (item:Entity {uuid: uuid})",
        MovedKind.FACTS: "MATCH (item:RelatesToNode_ {uuid: uuid})",
        MovedKind.EPISODES: "MATCH (item:Episodic {uuid: uuid})",
    },
    # A pattern without a table would read all of them.
    edges={
        MovedKind.COMMUNITIES: (
            "MATCH (:Community {uuid: uuid})-[item:HAS_MEMBER]->(:Entity)",
            "MATCH (:Community {uuid: uuid})-[item:HAS_MEMBER]->(:Community)",
        ),
        MovedKind.SAGAS: ("MATCH (:Saga {uuid: uuid})-[item:HAS_EPISODE]->(:Episodic)",),
        MovedKind.EPISODES: (
            "MATCH (:Episodic {uuid: uuid})-[item:MENTIONS]->(:Entity)",
            "MATCH (:Episodic {uuid: uuid})-[item:NEXT_EPISODE]->(:Episodic)",
        ),
    },
    is_used="""
    (EXISTS { MATCH (item)-[:RELATES_TO]-(:RelatesToNode_) }
     OR EXISTS { MATCH (:Episodic)-[:MENTIONS]->(item) })
    """,
)
_TABLES = "CALL show_tables() WHERE type = 'REL' RETURN name"
_ITEM = "(item:Entity:Episodic:Saga:Community)"
_FROM_OTHER_GROUPS = (
    "(other:Episodic)-[:MENTIONS]->(item:Entity)",
    "(other:Community)-[:HAS_MEMBER]->(item:Entity)",
    "(other:Community)-[:HAS_MEMBER]->(item:Community)",
    "(other:Saga)-[:HAS_EPISODE]->(item:Episodic)",
    "(other:Episodic)-[:NEXT_EPISODE]->(item:Episodic)",
    "(other:RelatesToNode_)-[:RELATES_TO]->(item:Entity)",
    "(item:Entity)-[:RELATES_TO]->(other:RelatesToNode_)",
)
_ARE_APART = """
WHERE item.group_id IN $groups AND NOT coalesce(other.group_id, '') IN $groups
RETURN DISTINCT item.uuid
"""


def _other_relations(client: LadybugClient, groups: Sequence[GroupId]) -> list[OtherRelation]:
    found = {*_from_other_groups(client, groups), *_of_other_types(client, groups)}
    return sorted(found, key=lambda relation: (relation.node, relation.other or ""))


class LadybugMigrations(LadybugWriter):
    """The migrations of a `GraphStore` over a client."""

    async def migrations(self) -> Sequence[TurnMigration]:
        return decoded(await self._client.run(_states))

    async def migration_summaries(self) -> Sequence[MigrationSummary]:
        return summaries(await self._client.run(_states))

    other_relations = in_thread(_other_relations)

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

        def write(client: LadybugClient) -> None:
            for lease in others:
                ladybug_lease.check(client, lease)
                ladybug_lease.extend(client, lease, now + ttl)
            for query, parameters in step_statements(step, _PATTERNS) if step is not None else ():
                client.query(query, rows.parameters(parameters))
            if migration is not None:
                _save(client, migration)

        await self._write_under(first, now + ttl, write)


def _save(client: LadybugClient, migration: TurnMigration) -> None:
    client.query(SAVE_MIGRATION, migration_row(migration))


def _states(client: LadybugClient) -> list[str]:
    # A file that was only read since an older version of turnetl wrote it has no such table.
    if ["TurnMigration"] not in client.query(cypher.TABLES):
        return []
    return [state for (state,) in client.query(MIGRATIONS)]


def _from_other_groups(client: LadybugClient, groups: Sequence[GroupId]) -> Iterator[OtherRelation]:
    for pattern in _FROM_OTHER_GROUPS:
        for (uuid,) in client.query(f"MATCH {pattern} {_ARE_APART}", {"groups": list(groups)}):
            yield OtherRelation(uuid, None)


def _of_other_types(client: LadybugClient, groups: Sequence[GroupId]) -> Iterator[OtherRelation]:
    names = {name for (name,) in client.query(_TABLES)} - set(OWN_TYPES)
    for name in sorted(names):
        pattern = f"MATCH {_ITEM}-[:`{name.replace('`', '``')}`]-(other)"
        # Only of a node with a known label: in another table, `uuid` may have another type.
        query = f"""{pattern} WHERE item.group_id IN $groups
        RETURN DISTINCT item.uuid, label(other), id(other)"""
        found = client.query(query, {"groups": list(groups)})
        inside = _inside(client, groups) if found else {}
        for uuid, label, key in found:
            yield OtherRelation(uuid, inside.get((label, key["table"], key["offset"])))


def _inside(client: LadybugClient, groups: Sequence[GroupId]) -> dict[tuple[str, int, int], str]:
    """Return the uuids of the nodes of the groups, by label and place."""
    query = f"MATCH {_ITEM} WHERE item.group_id IN $groups RETURN label(item), id(item), item.uuid"
    nodes = client.query(query, {"groups": list(groups)})
    return {(label, key["table"], key["offset"]): uuid for label, key, uuid in nodes}
