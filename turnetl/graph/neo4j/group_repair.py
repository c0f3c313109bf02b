"""Repair a group in Neo4j. Everything runs in a transaction of the caller, under its lease."""

from dataclasses import asdict
from datetime import datetime
from typing import LiteralString, assert_never

from neo4j import AsyncTransaction

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
from turnetl.graph.neo4j import cypher
from turnetl.graph.neo4j.reversal import delete_unused_entities

_KEEP_ONE_MENTION: LiteralString = """
MATCH (:Episodic {uuid: $episode})-[r:MENTIONS]->(:Entity {uuid: $entity})
WITH r ORDER BY r.uuid <> $own, r.uuid
WITH collect(r) AS mentions
FOREACH (surplus IN mentions[1..] | DELETE surplus)
"""
_SAVE_SAGA: LiteralString = """
MERGE (s:Saga {uuid: $saga.uuid})
ON CREATE SET s = $saga
SET s.first_episode_uuid = $first, s.last_episode_uuid = $last
"""
_UNLINK_SAGA: LiteralString = """
UNWIND $episodes AS uuid
MATCH (:Saga {uuid: $saga})-[r:HAS_EPISODE]->(:Episodic {uuid: uuid})
DELETE r
"""
_LINK_SAGA: LiteralString = """
UNWIND $rows AS row
MATCH (s:Saga {uuid: row.source})
MATCH (e:Episodic {uuid: row.target})
CREATE (s)-[:HAS_EPISODE {uuid: row.uuid, group_id: $group, created_at: $now}]->(e)
"""
_DELETE_FACT: LiteralString = """
MATCH (a)-[e:RELATES_TO {uuid: $uuid}]->(b)
WHERE NOT a:Entity AND NOT b:Entity
DELETE e
"""
_IMAGES: LiteralString = """
MATCH (c:TurnCommit {turn_id: $turn}) RETURN c.before_images AS images
"""
_SET_IMAGES: LiteralString = """
MATCH (c:TurnCommit {turn_id: $turn}) SET c.before_images = $images
"""


async def repair(
    transaction: AsyncTransaction, group: GroupId, repair: GroupRepair, now: datetime
) -> None:
    """Make the repair; as `GraphStore.repair`."""
    match repair:
        case DoubleMention(episode, entity):
            own = ids.edge_id("MENTIONS", episode, entity)
            await transaction.run(_KEEP_ONE_MENTION, episode=episode, entity=entity, own=own)
        case SessionLinks():
            await _repair_session(transaction, group, repair, now)
        case UnattachedFact(uuid):
            await transaction.run(_DELETE_FACT, uuid=uuid)
        case UnusedEntity():
            await _delete_entity(transaction, repair)
        case _:
            assert_never(repair)


async def _repair_session(
    transaction: AsyncTransaction, group: GroupId, session: SessionLinks, now: datetime
) -> None:
    saga = {
        "uuid": session.saga,
        "name": session.session_id,
        "group_id": group,
        "created_at": now,
        "summary": "",
    }
    await transaction.run(_SAVE_SAGA, saga=saga, first=session.first, last=session.last)
    removed, saga_links = session.saga_links_removed, session.saga_links_created
    await transaction.run(_UNLINK_SAGA, saga=session.saga, episodes=removed)
    pairs = [{"source": source, "target": target} for source, target in session.next_links_removed]
    await transaction.run(cypher.UNLINK_NEXT, rows=pairs)
    links = to_rows.links_from("HAS_EPISODE", session.saga, saga_links)
    rows = [asdict(link) for link in links]
    await transaction.run(_LINK_SAGA, rows=rows, group=group, now=now)
    chain = [asdict(saga_rows.next_link(*pair)) for pair in session.next_links_created]
    await transaction.run(cypher.LINK_NEXT, rows=chain, group=group, now=now)


async def _delete_entity(transaction: AsyncTransaction, unused: UnusedEntity) -> None:
    if await delete_unused_entities(transaction, (unused.uuid,)):
        return
    found = await (await transaction.run(_IMAGES, turn=unused.turn_id)).single()
    if found is not None:
        images = to_rows.without_new_entity(found["images"], unused.uuid)
        await transaction.run(_SET_IMAGES, turn=unused.turn_id, images=images)
