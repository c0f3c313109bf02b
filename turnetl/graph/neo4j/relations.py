"""Read the relations of a Neo4j graph that are no part of its groups."""

from collections.abc import Sequence
from typing import LiteralString

from turnetl.base.model import GroupId
from turnetl.graph.neo4j.client import Neo4jClient
from turnetl.graph.other_relations import OWN_TYPES, OtherRelation

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
