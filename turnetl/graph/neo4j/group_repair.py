"""Repair a group in Neo4j, and read it as tables, in pages of rows."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any, LiteralString, assert_never

import polars as pl
from neo4j import AsyncTransaction

from turnetl.base import ids
from turnetl.base.model import GroupId
from turnetl.graph import group_tables, to_rows
from turnetl.graph.group_repair import (
    DoubleMention,
    GroupRepair,
    SessionLinks,
    UnattachedFact,
    UnusedEntity,
)
from turnetl.graph.group_tables import GroupTables
from turnetl.graph.neo4j import cypher
from turnetl.graph.neo4j.client import Neo4jClient
from turnetl.graph.neo4j.cypher import ENDS, LINK, in_pages, microsecond
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
    """Make the repair; as `GraphStore.repair`, in a transaction of the caller."""
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
    await transaction.run(_LINK_SAGA, rows=[*map(asdict, links)], group=group, now=now)
    chain = [asdict(to_rows.next_link(*pair)) for pair in session.next_links_created]
    await transaction.run(cypher.LINK_NEXT, rows=chain, group=group, now=now)


async def _delete_entity(transaction: AsyncTransaction, unused: UnusedEntity) -> None:
    if await delete_unused_entities(transaction, (unused.uuid,)):
        return
    found = await (await transaction.run(_IMAGES, turn=unused.turn_id)).single()
    if found is not None:
        images = to_rows.without_new_entity(found["images"], unused.uuid)
        await transaction.run(_SET_IMAGES, turn=unused.turn_id, images=images)


# Times are microseconds since 1970.
_COMMITS: LiteralString = in_pages(
    f"{cypher.COMMIT_ITEMS} WHERE NOT item.turn_id IN $without",
    f"""[
    item.turn_id, item.session_id, item.chunks, item.content_hash, item.text_hash,
    {microsecond("started_at")}, {microsecond("ended_at")}, {microsecond("committed_at")},
    item.sequence, item.before_images, item.summaries
    ]""",
)
_SEQUENCES: LiteralString = in_pages(cypher.COMMIT_ITEMS, "[item.turn_id, item.sequence]")
_ENTITIES: LiteralString = in_pages(
    cypher.ENTITY_ITEMS, "[item.uuid, item.name, labels(item), size(item.name_embedding)]"
)
_FACTS: LiteralString = in_pages(
    cypher.FACT_ITEMS,
    f"""[
    item.uuid,
    CASE WHEN startNode(item):Entity THEN startNode(item).uuid END,
    CASE WHEN startNode(item):Entity THEN startNode(item).group_id END,
    CASE WHEN endNode(item):Entity THEN endNode(item).uuid END,
    CASE WHEN endNode(item):Entity THEN endNode(item).group_id END,
    item.episodes,
    {microsecond("valid_at")},
    size(item.fact_embedding)
    ]""",
)
_MENTIONS: LiteralString = in_pages(
    "MATCH (:Episodic {group_id: $group})-[item:MENTIONS]->(:Entity)",
    "[startNode(item).uuid, endNode(item).uuid, endNode(item).group_id]",
    is_there=LINK,
)
_EPISODES: LiteralString = in_pages(cypher.EPISODE_ITEMS, "[item.uuid, item.source_description]")
_SAGAS: LiteralString = in_pages(
    "MATCH (item:Saga {group_id: $group})",
    "[item.uuid, item.first_episode_uuid, item.last_episode_uuid]",
)
_SAGA_LINKS: LiteralString = in_pages(
    "MATCH (:Episodic {group_id: $group})<-[item:HAS_EPISODE]-(:Saga)", ENDS, is_there=LINK
)
_NEXT_LINKS: LiteralString = in_pages(
    "MATCH (:Episodic {group_id: $group})-[item:NEXT_EPISODE]->(:Episodic)", ENDS, is_there=LINK
)


async def read_tables(client: Neo4jClient, group: GroupId) -> GroupTables:
    """Read the tables one after the other, in the order that `GroupTables` requires."""

    async def read(query: LiteralString, columns: pl.Schema) -> pl.DataFrame:
        return await _read(client, query, columns, group)

    commits = await _commits(client, group, without=[])
    return GroupTables(
        commits=commits,
        entities=await read(_ENTITIES, group_tables.ENTITIES),
        facts=await read(_FACTS, group_tables.FACTS),
        mentions=await read(_MENTIONS, group_tables.MENTIONS),
        episodes=await read(_EPISODES, group_tables.EPISODES),
        sagas=await read(_SAGAS, group_tables.SAGAS),
        saga_links=await read(_SAGA_LINKS, group_tables.LINKS),
        next_links=await read(_NEXT_LINKS, group_tables.LINKS),
        commits_after=await _commits_after(client, group, commits),
    )


async def _commits_after(client: Neo4jClient, group: GroupId, before: pl.DataFrame) -> pl.DataFrame:
    """Read the commits again: those that are still there from `before`, and those made since."""
    columns = pl.Schema({name: before.schema[name] for name in ("turn_id", "sequence")})
    present = await _read(client, _SEQUENCES, columns, group)
    kept = before.join(present, on=list(columns), how="semi")
    if kept.height == present.height:
        return kept
    new = await _commits(client, group, without=kept["turn_id"].to_list())
    return pl.concat([kept, new])


async def _commits(client: Neo4jClient, group: GroupId, *, without: list[str]) -> pl.DataFrame:
    pages = client.pages(_COMMITS, group=group, without=without)
    rows = ([group_tables.commit_row(row) for row in page] async for page in pages)
    return await _frame(rows, group_tables.COMMITS)


async def _read(
    client: Neo4jClient, query: LiteralString, columns: pl.Schema, group: GroupId
) -> pl.DataFrame:
    return await _frame(client.pages(query, group=group), columns)


async def _frame(pages: AsyncIterator[Sequence[Sequence[Any]]], columns: pl.Schema) -> pl.DataFrame:
    """Return the rows of all pages; one page at a time is Python objects."""
    read_as = pl.Schema(
        {
            name: pl.Int64() if isinstance(dtype, pl.Datetime) else dtype
            for name, dtype in columns.items()
        }
    )
    frames = [pl.DataFrame(page, schema=read_as, orient="row") async for page in pages]
    return pl.concat([pl.DataFrame(schema=read_as), *frames]).cast(columns)
