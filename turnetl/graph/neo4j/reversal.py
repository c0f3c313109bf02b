"""Undo a turn, review it, and repair a group, in Neo4j: in a transaction of the caller."""

from dataclasses import asdict
from datetime import datetime
from typing import Any, LiteralString, assert_never

from neo4j import AsyncTransaction

from turnetl.base import ids
from turnetl.base.graph_model import Receipt, Reversal, Reverted, Review
from turnetl.base.model import GroupId
from turnetl.graph import from_rows, to_rows
from turnetl.graph.group_repair import (
    DoubleMention,
    GroupRepair,
    SessionLinks,
    UnattachedFact,
    UnusedEntity,
)
from turnetl.graph.migrations import MARK_RUNS
from turnetl.graph.neo4j import cypher
from turnetl.graph.neo4j import rows as neo4j_rows
from turnetl.graph.neo4j.client import write_rows

_NEIGHBOURS: LiteralString = """
OPTIONAL MATCH (before:Episodic)-[:NEXT_EPISODE]->(:Episodic {uuid: $first})
OPTIONAL MATCH (:Episodic {uuid: $last})-[:NEXT_EPISODE]->(after:Episodic)
RETURN min(before.uuid) AS before, min(after.uuid) AS after
"""
_DELETE_EPISODES: LiteralString = """
UNWIND $episodes AS uuid
MATCH (e:Episodic {uuid: uuid})
DETACH DELETE e
"""
_SET_SAGA_BOUNDARIES: LiteralString = """
MATCH (s:Saga {uuid: $saga})
SET s.first_episode_uuid =
        CASE WHEN s.first_episode_uuid IN $episodes THEN $after ELSE s.first_episode_uuid END,
    s.last_episode_uuid =
        CASE WHEN s.last_episode_uuid IN $episodes THEN $before ELSE s.last_episode_uuid END
"""
_DELETE_EMPTY_SAGA: LiteralString = """
MATCH (s:Saga {uuid: $saga})
WHERE NOT EXISTS { (s)-[:HAS_EPISODE]->() }
DETACH DELETE s
"""
_DELETE_FACTS: LiteralString = """
UNWIND $facts AS uuid
MATCH ()-[e:RELATES_TO {uuid: uuid}]->()
DELETE e
"""
_USED_ENTITIES: LiteralString = """
UNWIND $entities AS uuid
MATCH (n:Entity {uuid: uuid})
WHERE EXISTS { (n)-[:RELATES_TO|MENTIONS]-() }
RETURN uuid
"""
_DELETE_ENTITIES: LiteralString = """
UNWIND $entities AS uuid
MATCH (n:Entity {uuid: uuid})
OPTIONAL MATCH (c:Community)-[:HAS_MEMBER]->(n)
WITH collect(DISTINCT n) AS entities, collect(DISTINCT c) AS communities
FOREACH (n IN entities | DETACH DELETE n)
WITH communities
UNWIND communities AS c
WITH c WHERE NOT EXISTS { (c)-[:HAS_MEMBER]->() }
DETACH DELETE c
"""
_DROP_OTHER_LABELS: LiteralString = """
UNWIND $rows AS row
MATCH (n:Entity {uuid: row.uuid})
WITH n, [label IN labels(n) WHERE NOT label IN row.labels] AS dropped
REMOVE n:$(dropped)
"""
_DELETE_TURN_COMMIT: LiteralString = "MATCH (c:TurnCommit {turn_id: $turn_id}) DELETE c"


async def revert(transaction: AsyncTransaction, reversal: Reversal, now: datetime) -> Reverted:
    """Undo the turn; as `GraphStore.revert`."""
    receipt = reversal.receipt
    shared = {"group": receipt.group_id, "now": now}
    await _remove_episodes(transaction, receipt, shared)
    await transaction.run(_DELETE_FACTS, facts=reversal.facts_removed)
    kept = await _delete_unused_entities(transaction, reversal.entities_removed)
    entities = [neo4j_rows.entity_properties(entity) for entity in reversal.entities_restored]
    facts = [neo4j_rows.fact_properties(fact) for fact in reversal.facts_restored]
    restored: tuple[tuple[LiteralString, list[dict[str, Any]]], ...] = (
        (_DROP_OTHER_LABELS, entities),
        (cypher.SAVE_ENTITIES, entities),
        (cypher.UPDATE_FACTS, facts),
        (
            cypher.SET_SAGA_SUMMARIES,
            to_rows.saga_summary_rows(receipt.group_id, reversal.saga_texts),
        ),
    )
    for query, rows in restored:
        if rows:
            await write_rows(transaction, query, {**shared, "rows": rows})
    await neo4j_rows.write_summaries(transaction, reversal.summaries)
    await transaction.run(_DELETE_TURN_COMMIT, turn_id=receipt.turn_id)
    if reversal.ends_run:
        await transaction.run(MARK_RUNS, runs=[receipt.run_id], now=now)
    return Reverted(kept)


async def _remove_episodes(
    transaction: AsyncTransaction, receipt: Receipt, shared: dict[str, Any]
) -> None:
    """Delete the turn's episodes and close the gap in the session."""
    episodes = from_rows.chunk_ids(receipt)
    result = await transaction.run(_NEIGHBOURS, first=episodes[0], last=episodes[-1])
    neighbours = (await result.single(strict=True)).data()
    before, after = neighbours["before"], neighbours["after"]
    await transaction.run(_DELETE_EPISODES, episodes=episodes)
    if before and after:
        rows = [asdict(to_rows.next_link(before, after))]
        await write_rows(transaction, cypher.LINK_NEXT, {**shared, "rows": rows})
    saga = ids.saga_id(receipt.group_id, receipt.session_id)
    await transaction.run(
        _SET_SAGA_BOUNDARIES, saga=saga, episodes=episodes, before=before, after=after
    )
    await transaction.run(_DELETE_EMPTY_SAGA, saga=saga)


async def _delete_unused_entities(
    transaction: AsyncTransaction, uuids: tuple[str, ...]
) -> tuple[str, ...]:
    """Delete the entities that nothing uses, and emptied communities; return the others."""
    result = await transaction.run(_USED_ENTITIES, entities=uuids)
    used = {record["uuid"] async for record in result}
    removed = [uuid for uuid in uuids if uuid not in used]
    await transaction.run(_DELETE_ENTITIES, entities=removed)
    return tuple(uuid for uuid in uuids if uuid in used)


_KEEP_ONE_MENTION: LiteralString = """
MATCH (:Episodic {uuid: $episode})-[r:MENTIONS]->(:Entity {uuid: $entity})
WITH r ORDER BY r.uuid <> $own, r.uuid
WITH collect(r) AS mentions
FOREACH (surplus IN mentions[1..] | DELETE surplus)
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
_SET_REVIEWED: LiteralString = """
MATCH (c:TurnCommit {turn_id: $turn})
SET c.before_images = $images, c.facts_invalidated = $invalidated, c.facts_held = $held
WITH c
MATCH (e:Episodic {uuid: $turn}) SET e.entity_edges = $facts
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
    saga = to_rows.new_saga(session.saga, session.session_id, group, now)
    await transaction.run(cypher.SAVE_SAGA, saga=saga, first=session.first, last=session.last)
    removed, saga_links = session.saga_links_removed, session.saga_links_created
    await transaction.run(_UNLINK_SAGA, saga=session.saga, episodes=removed)
    pairs = [{"source": source, "target": target} for source, target in session.next_links_removed]
    await transaction.run(cypher.UNLINK_NEXT, rows=pairs)
    links = to_rows.links_from("HAS_EPISODE", session.saga, saga_links)
    await transaction.run(_LINK_SAGA, rows=[*map(asdict, links)], group=group, now=now)
    chain = [asdict(to_rows.next_link(*pair)) for pair in session.next_links_created]
    await transaction.run(cypher.LINK_NEXT, rows=chain, group=group, now=now)


async def _delete_entity(transaction: AsyncTransaction, unused: UnusedEntity) -> None:
    if await _delete_unused_entities(transaction, (unused.uuid,)):
        return
    found = await (await transaction.run(_IMAGES, turn=unused.turn_id)).single()
    if found is not None:
        images = to_rows.without_new_entity(found["images"], unused.uuid)
        await transaction.run(_SET_IMAGES, turn=unused.turn_id, images=images)


async def write_review(transaction: AsyncTransaction, group: GroupId, review: Review) -> None:
    """Write the review; as `GraphStore.write_review`."""
    first, *_ = review.records
    for record in review.records:
        receipt = record.receipt
        found = await (await transaction.run(_IMAGES, turn=receipt.turn_id)).single()
        if found is None:
            raise to_rows.incomplete_graph(group)
        await transaction.run(
            _SET_REVIEWED,
            turn=receipt.turn_id,
            images=to_rows.reviewed_images(found["images"], record),
            invalidated=receipt.facts_invalidated,
            held=receipt.facts_held,
            facts=to_rows.stated_facts(record),
        )
    if review.facts:
        facts = [neo4j_rows.fact_properties(fact) for fact in review.facts]
        await write_rows(transaction, cypher.UPDATE_FACTS, {"group": group, "rows": facts})
        await transaction.run(cypher.RENUMBER, group=group, turn_id=first.receipt.turn_id)
