"""Communities in Neo4j. What writes runs in a transaction of the caller, under its lease."""

from dataclasses import asdict
from datetime import datetime
from typing import LiteralString

from neo4j import AsyncTransaction

from turnetl.base.graph_model import Community, CommunityBatch
from turnetl.base.model import GroupId
from turnetl.graph import to_rows
from turnetl.graph.neo4j import cypher
from turnetl.graph.neo4j import rows as neo4j_rows
from turnetl.graph.neo4j.client import Neo4jClient
from turnetl.graph.neo4j.pages import LINK, in_pages

_MEMBERS: LiteralString = in_pages(
    "MATCH (:Community {group_id: $group})-[item:HAS_MEMBER]->(:Entity)",
    LINK,
    "[startNode(item).uuid, endNode(item).uuid]",
)
_DELETE: LiteralString = """
UNWIND $uuids AS uuid
MATCH (c:Community {uuid: uuid})
WHERE c.group_id = $group
DETACH DELETE c
"""
_CREATE: LiteralString = """
UNWIND $rows AS row
CREATE (c:Community)
SET c = row
WITH c, row
CALL db.create.setNodeVectorProperty(c, 'name_embedding', row.name_embedding)
"""
_LINK: LiteralString = """
UNWIND $rows AS row
MATCH (c:Community {uuid: row.source})
MATCH (n:Entity {uuid: row.target})
WHERE n.group_id = $group
CREATE (c)-[:HAS_MEMBER {uuid: row.uuid, group_id: $group, created_at: $now}]->(n)
RETURN count(*) AS done
"""


async def read_communities(client: Neo4jClient, group: GroupId) -> tuple[Community, ...]:
    """Return the communities; as `GraphStore.communities`."""
    rows = await client.read(cypher.COMMUNITIES, group=group)
    members: dict[str, list[str]] = {}
    for community, entity in await client.paged_rows(_MEMBERS, group=group):
        members.setdefault(community, []).append(entity)
    return neo4j_rows.communities(rows, members)


async def write(
    transaction: AsyncTransaction, group: GroupId, batch: CommunityBatch, now: datetime
) -> None:
    """Write the batch; as `GraphStore.write_communities`."""
    replaced = [*batch.removed, *(community.uuid for community in batch.written)]
    await transaction.run(_DELETE, uuids=replaced, group=group)
    rows = [to_rows.community_row(community) for community in batch.written]
    await transaction.run(_CREATE, rows=rows)
    links = [asdict(link) for one in batch.written for link in to_rows.member_links(one)]
    result = await transaction.run(_LINK, rows=links, group=group, now=now)
    if (await result.single(strict=True))["done"] != len(links):
        raise to_rows.missing_member(group)
