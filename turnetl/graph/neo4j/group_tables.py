"""Read a group of a Neo4j graph as tables, in pages of rows."""

from collections.abc import AsyncIterator, Sequence
from typing import Any, LiteralString

import polars as pl

from turnetl.base.model import GroupId
from turnetl.graph import group_tables
from turnetl.graph.group_tables import GroupTables
from turnetl.graph.neo4j.client import Neo4jClient
from turnetl.graph.neo4j.pages import LINK, NODE, in_pages, microsecond

# Times are microseconds since 1970.
_COMMITS: LiteralString = in_pages(
    "MATCH (item:TurnCommit {group_id: $group}) WHERE NOT item.turn_id IN $without",
    NODE,
    f"""[
    item.turn_id, item.session_id, item.chunks, item.content_hash, item.text_hash,
    {microsecond("started_at")}, {microsecond("ended_at")}, {microsecond("committed_at")},
    item.sequence, item.before_images, item.summaries
    ]""",
)
_SEQUENCES: LiteralString = in_pages(
    "MATCH (item:TurnCommit {group_id: $group})", NODE, "[item.turn_id, item.sequence]"
)
_ENTITIES: LiteralString = in_pages(
    "MATCH (item:Entity {group_id: $group})",
    NODE,
    "[item.uuid, item.name, labels(item), size(item.name_embedding)]",
)
_FACTS: LiteralString = in_pages(
    "MATCH ()-[item:RELATES_TO {group_id: $group}]->()",
    NODE,
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
    LINK,
    "[startNode(item).uuid, endNode(item).uuid, endNode(item).group_id]",
)
_EPISODES: LiteralString = in_pages(
    "MATCH (item:Episodic {group_id: $group})", NODE, "[item.uuid, item.source_description]"
)
_SAGAS: LiteralString = in_pages(
    "MATCH (item:Saga {group_id: $group})",
    NODE,
    "[item.uuid, item.first_episode_uuid, item.last_episode_uuid]",
)
_ENDS: LiteralString = "[startNode(item).uuid, endNode(item).uuid]"
_SAGA_LINKS: LiteralString = in_pages(
    "MATCH (:Episodic {group_id: $group})<-[item:HAS_EPISODE]-(:Saga)", LINK, _ENDS
)
_NEXT_LINKS: LiteralString = in_pages(
    "MATCH (:Episodic {group_id: $group})-[item:NEXT_EPISODE]->(:Episodic)", LINK, _ENDS
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
