"""Read a group of a Neo4j graph as tables, in batches of rows."""

from typing import Any, LiteralString

import polars as pl

from turnetl.graph import group_tables
from turnetl.graph.group_tables import GroupTables
from turnetl.graph.neo4j_client import Neo4jClient
from turnetl.graph.neo4j_rows import with_python_times
from turnetl.model import GroupId

_BATCH = 20_000
"""Rows that are Python objects at the same time: some tens of megabytes."""

_COMMITS: LiteralString = """
MATCH (c:TurnCommit {group_id: $group})
RETURN c {
    .turn_id, .session_id, .chunks, .content_hash, .text_hash, .started_at, .ended_at,
    .committed_at, .sequence, .before_images
} AS commit
"""
_ENTITIES: LiteralString = """
MATCH (n:Entity {group_id: $group})
RETURN n.uuid AS uuid, n.name AS name, labels(n) AS labels, size(n.name_embedding) AS dimensions
"""
_FACTS: LiteralString = """
MATCH (a)-[e:RELATES_TO {group_id: $group}]->(b)
RETURN e.uuid AS uuid,
       CASE WHEN a:Entity THEN a.uuid END AS source,
       CASE WHEN a:Entity THEN a.group_id END AS source_group,
       CASE WHEN b:Entity THEN b.uuid END AS target,
       CASE WHEN b:Entity THEN b.group_id END AS target_group,
       e.episodes AS turns,
       e.valid_at.epochSeconds * 1000000 + e.valid_at.microsecond AS valid_at,
       size(e.fact_embedding) AS dimensions
"""
_MENTIONS: LiteralString = """
MATCH (e:Episodic {group_id: $group})-[:MENTIONS]->(n:Entity)
RETURN e.uuid AS episode, n.uuid AS entity, n.group_id AS entity_group
"""
_EPISODES: LiteralString = """
MATCH (e:Episodic {group_id: $group})
RETURN e.uuid AS uuid, e.source_description AS source_description
"""
_SAGAS: LiteralString = """
MATCH (s:Saga {group_id: $group})
RETURN s.uuid AS uuid, s.first_episode_uuid AS first, s.last_episode_uuid AS last
"""
_SAGA_LINKS: LiteralString = """
MATCH (e:Episodic {group_id: $group})<-[:HAS_EPISODE]-(s:Saga)
RETURN s.uuid AS source, e.uuid AS target
"""
_NEXT_LINKS: LiteralString = """
MATCH (a:Episodic {group_id: $group})-[:NEXT_EPISODE]->(b:Episodic)
RETURN a.uuid AS source, b.uuid AS target
"""


async def read_tables(client: Neo4jClient, group: GroupId) -> GroupTables:
    """Read the tables one after the other, in the order that `GroupTables` requires."""

    async def read(query: LiteralString, columns: pl.Schema) -> pl.DataFrame:
        return await _read(client, query, group, columns)

    return GroupTables(
        commits=await _commits(client, group),
        entities=await read(_ENTITIES, group_tables.ENTITIES),
        facts=await read(_FACTS, group_tables.FACTS),
        mentions=await read(_MENTIONS, group_tables.MENTIONS),
        episodes=await read(_EPISODES, group_tables.EPISODES),
        sagas=await read(_SAGAS, group_tables.SAGAS),
        saga_links=await read(_SAGA_LINKS, group_tables.LINKS),
        next_links=await read(_NEXT_LINKS, group_tables.LINKS),
        commits_after=await _commits(client, group),
    )


async def _commits(client: Neo4jClient, group: GroupId) -> pl.DataFrame:
    stream = client.stream(_COMMITS, group=group)
    rows = [group_tables.commit_row(with_python_times(row["commit"])) async for row in stream]
    return pl.DataFrame(rows, schema=group_tables.COMMITS, orient="row")


async def _read(
    client: Neo4jClient, query: LiteralString, group: GroupId, columns: pl.Schema
) -> pl.DataFrame:
    # Times are microseconds since 1970.
    read_as = {
        name: pl.Int64() if isinstance(dtype, pl.Datetime) else dtype
        for name, dtype in columns.items()
    }
    names, rows = list(columns), list[tuple[Any, ...]]()
    frames = [pl.DataFrame(schema=read_as)]
    async for row in client.stream(query, group=group):
        rows.append(tuple(row[name] for name in names))
        if len(rows) == _BATCH:
            frames.append(pl.DataFrame(rows, schema=read_as, orient="row"))
            rows.clear()
    frames.append(pl.DataFrame(rows, schema=read_as, orient="row"))
    return pl.concat(frames).cast(columns)
