"""Migrations in Ladybug: the state of each as one row of JSON, and the steps of their cutovers.

Read the relations of a Ladybug graph that are no part of its groups.

The functions run in the thread of the client. A pattern without a table would read all of them.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any

from turnetl.base.graph_model import Lease
from turnetl.base.model import GroupId
from turnetl.graph.ladybug import cypher
from turnetl.graph.ladybug import lease as ladybug_lease
from turnetl.graph.ladybug.client import LadybugClient
from turnetl.graph.ladybug.lease import LadybugWriter
from turnetl.graph.ladybug.rows import without_zone
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

_MIGRATIONS = "MATCH (m:TurnMigration) RETURN m.state"
_SAVE = """
MERGE (m:TurnMigration {migration_id: $migration_id})
SET m.group_id = $group_id, m.state = $state
"""
_EACH = "UNWIND $uuids AS uuid "
_NODES = {
    MovedKind.COMMUNITIES: "MATCH (item:Community {uuid: uuid})",
    MovedKind.SAGAS: "MATCH (item:Saga {uuid: uuid})",
    MovedKind.ENTITIES: "MATCH (item:Entity {uuid: uuid})",
    MovedKind.FACTS: "MATCH (item:RelatesToNode_ {uuid: uuid})",
    MovedKind.EPISODES: "MATCH (item:Episodic {uuid: uuid})",
}
_EDGES = {
    MovedKind.COMMUNITIES: (
        "MATCH (:Community {uuid: uuid})-[item:HAS_MEMBER]->(:Entity)",
        "MATCH (:Community {uuid: uuid})-[item:HAS_MEMBER]->(:Community)",
    ),
    MovedKind.SAGAS: ("MATCH (:Saga {uuid: uuid})-[item:HAS_EPISODE]->(:Episodic)",),
    MovedKind.EPISODES: (
        "MATCH (:Episodic {uuid: uuid})-[item:MENTIONS]->(:Entity)",
        "MATCH (:Episodic {uuid: uuid})-[item:NEXT_EPISODE]->(:Episodic)",
    ),
}
_MOVE = " WHERE item.group_id = $source SET item.group_id = $target"
_OF_GROUP = " WHERE item.group_id = $group_id"
_MARK = (
    f"{_EACH}{_NODES[MovedKind.EPISODES]}{_OF_GROUP} SET item.turnetl_granularity = $granularity"
)
_USED = """
(EXISTS { MATCH (item)-[:RELATES_TO]-(:RelatesToNode_) }
 OR EXISTS { MATCH (:Episodic)-[:MENTIONS]->(item) })
"""
_INHERIT = f"{_EACH}{_NODES[MovedKind.ENTITIES]}{_OF_GROUP} AND {_USED} SET item.group_id = $heir"
_DELETE = f"{_OF_GROUP} DETACH DELETE item"
_COMMITS = "MATCH (item:TurnCommit {turn_id: uuid})"
_SWITCH_GROUP = """
MATCH (s:TurnGroup {group_id: $source}), (t:TurnGroup {group_id: $target})
SET t.sequence = s.sequence, t.creation_id = s.creation_id, t.embedder = s.embedder,
    t.dimensions = s.dimensions, t.recipe = s.recipe
"""
_RESET_GROUP = """
MATCH (g:TurnGroup {group_id: $source}) SET g.sequence = 0, g.creation_id = $creation_id
"""
_DROP_GROUP = """
MATCH (g:TurnGroup {group_id: $group_id})
WHERE NOT EXISTS { MATCH (c:TurnCommit) WHERE c.group_id = $group_id }
DELETE g
"""
_MARK_RUNS = """
UNWIND $runs AS run_id
MATCH (r:TurnRun {run_id: run_id})
WHERE NOT EXISTS { MATCH (c:TurnCommit) WHERE c.run_id = r.run_id }
SET r.undone_at = $now
"""


class LadybugMigrations(LadybugWriter):
    """`MigrationStore` over a client."""

    async def migrations(self) -> Sequence[TurnMigration]:
        return decoded(await self._client.run(_states))

    async def migration_summaries(self) -> Sequence[MigrationSummary]:
        return summaries(await self._client.run(_states))

    async def other_relations(self, groups: Sequence[GroupId]) -> Sequence[OtherRelation]:
        return await self._client.run(lambda client: read_other_relations(client, groups))

    async def save_migration(
        self, lease: Lease, migration: TurnMigration, *, now: datetime, ttl: timedelta
    ) -> None:
        await self._write_under(lease, now + ttl, lambda client: _save(client, migration))

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

        def write(client: LadybugClient) -> None:
            for lease in others:
                ladybug_lease.check(client, lease)
                ladybug_lease.extend(client, lease, now + ttl)
            for query, parameters in _statements(step):
                client.query(query, parameters)
            if migration is not None:
                _save(client, migration)

        await self._write_under(first, now + ttl, write)


def _save(client: LadybugClient, migration: TurnMigration) -> None:
    row = {"migration_id": migration.migration_id, "group_id": migration.group_id}
    client.query(_SAVE, {**row, "state": encoded(migration)})


def _states(client: LadybugClient) -> list[str]:
    # A file that was only read since an older version of turnetl wrote it has no such table.
    if ["TurnMigration"] not in client.query(cypher.TABLES):
        return []
    return [state for (state,) in client.query(_MIGRATIONS)]


def _statements(step: MigrationStep) -> Iterator[tuple[str, dict[str, Any]]]:
    match step:
        case MoveStep(kind, uuids, source, target):
            groups = {"uuids": list(uuids), "source": source, "target": target}
            for pattern in (_NODES[kind], *_EDGES.get(kind, ())):
                yield f"{_EACH}{pattern}{_MOVE}", groups
        case MarkStep(group, uuids, granularity):
            yield _MARK, {"uuids": list(uuids), "group_id": group, "granularity": granularity}
        case MoveCommitsStep(turns, source, target):
            groups = {"uuids": list(turns), "source": source, "target": target}
            yield f"{_EACH}{_COMMITS}{_MOVE}", groups
        case SwitchStep():
            yield from _switch(step)
        case DeleteStep(kind, uuids, group, heir):
            of_group = {"uuids": list(uuids), "group_id": group}
            if kind is MovedKind.ENTITIES:
                yield _INHERIT, of_group | {"heir": heir}
            yield f"{_EACH}{_NODES[kind]}{_DELETE}", of_group
        case DropTurnsStep(group, turns, runs, now):
            of_group = {"uuids": list(turns), "group_id": group}
            yield f"{_EACH}{_COMMITS}{_OF_GROUP} DELETE item", of_group
            yield _MARK_RUNS, {"runs": list(runs), "now": without_zone(now)}
        case DropGroupStep(group):
            yield _DROP_GROUP, {"group_id": group}


def _switch(step: SwitchStep) -> Iterator[tuple[str, dict[str, Any]]]:
    groups = {"source": step.source, "target": step.target}
    yield _SWITCH_GROUP, groups
    if step.deletes_source:
        yield _DROP_GROUP, {"group_id": step.source}
    else:
        yield _RESET_GROUP, {"source": step.source, "creation_id": step.new_creation_id}


_TABLES = "CALL show_tables() WHERE type = 'REL' RETURN name"
_LABELS = ("Entity", "Episodic", "Saga", "Community")
_ITEM = f"(item:{':'.join(_LABELS)})"
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


def read_other_relations(
    client: LadybugClient, groups: Sequence[GroupId]
) -> Sequence[OtherRelation]:
    """See `MigrationStore.other_relations`."""
    return sorted({*_from_other_groups(client, groups), *_of_other_types(client, groups)}, key=_key)


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
        rows = client.query(query, {"groups": list(groups)})
        inside = _inside(client, groups) if rows else {}
        for uuid, label, key in rows:
            yield OtherRelation(uuid, inside.get((label, key["table"], key["offset"])))


def _inside(client: LadybugClient, groups: Sequence[GroupId]) -> dict[tuple[str, int, int], str]:
    """Return the uuids of the nodes of the groups, by label and place."""
    query = f"MATCH {_ITEM} WHERE item.group_id IN $groups RETURN label(item), id(item), item.uuid"
    rows = client.query(query, {"groups": list(groups)})
    return {(label, key["table"], key["offset"]): uuid for label, key, uuid in rows}


def _key(relation: OtherRelation) -> tuple[str, str]:
    return relation.node, relation.other or ""
