"""Communities in Ladybug. What writes runs in a transaction of the caller, under its lease."""

from datetime import datetime
from typing import Any

from turnetl.base.graph_model import Community, CommunityBatch
from turnetl.base.model import GroupId
from turnetl.graph import from_rows, to_rows
from turnetl.graph.ladybug import cypher
from turnetl.graph.ladybug import rows as ladybug_rows
from turnetl.graph.ladybug.client import LadybugClient

_MEMBERS = """
MATCH (c:Community)-[:HAS_MEMBER]->(n:Entity) WHERE c.group_id = $group_id
RETURN c.uuid, n.uuid
"""
_DELETE = "MATCH (c:Community {uuid: $uuid}) WHERE c.group_id = $group_id DETACH DELETE c"
_CREATE = """
CREATE (:Community {uuid: $uuid, name: $name, group_id: $group_id, created_at: $created_at,
    name_embedding: $name_embedding, summary: $summary})
"""
_LINK = """
MATCH (c:Community {uuid: $source}), (n:Entity {uuid: $target})
WHERE n.group_id = $group_id
CREATE (c)-[:HAS_MEMBER {uuid: $uuid, group_id: $group_id, created_at: $now}]->(n)
RETURN n.uuid
"""


def read_communities(client: LadybugClient, group: GroupId) -> tuple[Community, ...]:
    """Return the communities; as `GraphStore.communities`."""
    parameters = {"group_id": group}
    rows = client.table(cypher.COMMUNITIES, parameters).to_pylist()
    members: dict[str, list[str]] = {}
    for community, entity in client.query(_MEMBERS, parameters):
        members.setdefault(community, []).append(entity)
    return from_rows.communities_from_rows(map(ladybug_rows.with_zone, rows), members)


def write(client: LadybugClient, group: GroupId, batch: CommunityBatch, now: datetime) -> None:
    """Write the batch; as `GraphStore.write_communities`."""
    for uuid in batch.removed:
        client.query(_DELETE, {"uuid": uuid, "group_id": group})
    for community in batch.written:
        client.query(_DELETE, {"uuid": community.uuid, "group_id": group})
        client.query(_CREATE, _parameters(community))
        shared = {"group_id": group, "now": ladybug_rows.without_zone(now)}
        for link in to_rows.member_links(community):
            row = {"uuid": link.uuid, "source": link.source, "target": link.target}
            if not client.query(_LINK, row | shared):
                raise to_rows.missing_member(group)


def _parameters(community: Community) -> dict[str, Any]:
    row = to_rows.community_row(community)
    return row | {"created_at": ladybug_rows.without_zone(community.created_at)}
