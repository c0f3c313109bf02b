"""Repair a group in Ladybug. Everything runs in a transaction of the caller, under its lease."""

from dataclasses import asdict
from datetime import datetime
from typing import assert_never

from turnetl.base import ids
from turnetl.base.model import GroupId
from turnetl.graph import saga_rows, to_rows
from turnetl.graph.group_repair import (
    DoubleMention,
    GroupRepair,
    SessionLinks,
    UnattachedFact,
    UnusedEntity,
)
from turnetl.graph.ladybug import cypher, rows
from turnetl.graph.ladybug.client import LadybugClient
from turnetl.graph.ladybug.reversal import delete_fact, delete_unused_entity

_MENTIONS = """
MATCH (e:Episodic {uuid: $episode})-[r:MENTIONS]->(n:Entity {uuid: $entity}) RETURN r.uuid
"""
_DELETE_MENTION = """
MATCH (e:Episodic {uuid: $episode})-[r:MENTIONS]->(n:Entity {uuid: $entity})
WHERE r.uuid = $uuid DELETE r
"""
_UNLINK_SAGA = """
MATCH (s:Saga {uuid: $source})-[r:HAS_EPISODE]->(e:Episodic {uuid: $target}) DELETE r
"""
_FACT_ENDS = (
    "MATCH (e:RelatesToNode_ {uuid: $uuid}) WITH e MATCH (:Entity)-[:RELATES_TO]->(e) RETURN 1",
    "MATCH (e:RelatesToNode_ {uuid: $uuid}) WITH e MATCH (e)-[:RELATES_TO]->(:Entity) RETURN 1",
)
_IMAGES = "MATCH (c:TurnCommit {turn_id: $turn_id}) RETURN c.before_images"
_SET_IMAGES = "MATCH (c:TurnCommit {turn_id: $turn_id}) SET c.before_images = $images"


def repair(client: LadybugClient, group: GroupId, repair: GroupRepair, now: datetime) -> None:
    """Make the repair; as `GraphStore.repair`."""
    match repair:
        case DoubleMention():
            _keep_one_mention(client, repair)
        case SessionLinks():
            _repair_session(client, group, repair, now)
        case UnattachedFact(uuid):
            if not any(client.query(query, {"uuid": uuid}) for query in _FACT_ENDS):
                delete_fact(client, uuid)
        case UnusedEntity():
            _delete_entity(client, repair)
        case _:
            assert_never(repair)


def _keep_one_mention(client: LadybugClient, double: DoubleMention) -> None:
    """Keep the one that a commit would have made, if there is one."""
    ends = {"episode": double.episode, "entity": double.entity}
    own = ids.edge_id("MENTIONS", double.episode, double.entity)
    uuids = [uuid for (uuid,) in client.query(_MENTIONS, ends)]
    for uuid in sorted(uuids, key=lambda uuid: (uuid != own, uuid))[1:]:
        client.query(_DELETE_MENTION, {**ends, "uuid": uuid})


def _repair_session(
    client: LadybugClient, group: GroupId, session: SessionLinks, now: datetime
) -> None:
    shared = {"group_id": group, "now": rows.without_zone(now)}
    saga = {"uuid": session.saga, "group_id": group, "name": session.session_id, "summary": ""}
    client.query(cypher.SAVE_SAGA, {**saga, "created_at": shared["now"]})
    for episode in session.saga_links_removed:
        client.query(_UNLINK_SAGA, {"source": session.saga, "target": episode})
    for source, target in session.next_links_removed:
        client.query(cypher.UNLINK_NEXT, {"source": source, "target": target})
    for link in to_rows.links_from("HAS_EPISODE", session.saga, session.saga_links_created):
        client.query(cypher.LINK_SAGA, asdict(link) | shared)
    for source, target in session.next_links_created:
        client.query(cypher.LINK_NEXT, asdict(saga_rows.next_link(source, target)) | shared)
    bounds = ((cypher.SET_FIRST_EPISODE, session.first), (cypher.SET_LAST_EPISODE, session.last))
    for statement, episode in bounds:
        client.query(statement, {"source": session.saga, "target": episode})


def _delete_entity(client: LadybugClient, unused: UnusedEntity) -> None:
    if not delete_unused_entity(client, unused.uuid):
        return
    turn = {"turn_id": unused.turn_id}
    for (images,) in client.query(_IMAGES, turn):
        rewritten = to_rows.without_new_entity(images, unused.uuid)
        client.query(_SET_IMAGES, turn | {"images": rewritten})
