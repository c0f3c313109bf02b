"""Read the relations of a Ladybug graph that are no part of its groups.

The functions run in the thread of the client. A pattern without a table would read all of them.
"""

from collections.abc import Iterator, Sequence

from turnetl.base.model import GroupId
from turnetl.graph.ladybug.client import LadybugClient
from turnetl.graph.other_relations import OWN_TYPES, OtherRelation

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
