"""Everything that is read from a Neo4j graph."""

from collections.abc import AsyncIterable, Callable, Collection
from operator import attrgetter
from typing import Any, TypeVar

from turnetl.base.graph_model import (
    CommitRecord,
    CommittedTurn,
    GroupContents,
    GroupProfile,
    GroupVersion,
    Receipt,
    RunTotals,
    Subgraphs,
    TurnRun,
)
from turnetl.base.model import Entity, Fact, GroupId, TurnId
from turnetl.base.recipe_parts import RecipeParts
from turnetl.graph import from_rows
from turnetl.graph.neo4j import cypher, summaries
from turnetl.graph.neo4j import rows as neo4j_rows
from turnetl.graph.neo4j.client import Neo4jClient
from turnetl.graph.neo4j.communities import read_communities
from turnetl.graph.run_totals import RUN_TOTALS

V = TypeVar("V", Entity, Fact)


async def groups(client: Neo4jClient) -> list[GroupId]:
    return [GroupId(row["group_id"]) for row in await client.read(cypher.GROUPS)]


async def receipts(client: Neo4jClient, group: GroupId) -> list[Receipt]:
    commits = await client.paged_rows(cypher.RECEIPTS, group=group)
    return sorted(map(neo4j_rows.receipt, commits), key=attrgetter("started_at", "turn_id"))


async def counts(client: Neo4jClient, group: GroupId) -> tuple[int, int, int]:
    [row] = await client.read(cypher.COUNTS, group=group)
    return row["episodes"], row["entities"], row["facts"]


async def recipes(client: Neo4jClient, digests: Collection[str]) -> dict[str, RecipeParts]:
    rows = await client.read(cypher.RECIPES, digests=sorted(set(digests)))
    return {row["recipe"]: from_rows.recipe_parts(row["parts"]) for row in rows}


async def load(client: Neo4jClient, group: GroupId) -> GroupContents:
    recorded = await profile(client, group)
    entity_pages = client.pages(cypher.ENTITIES, group=group)
    fact_pages = client.pages(cypher.FACTS, group=group)
    entity_values = await _in_order(entity_pages, neo4j_rows.entity)
    fact_values = await _in_order(fact_pages, neo4j_rows.fact)
    contents = dict(await client.paged_rows(cypher.EPISODE_CONTENTS, group=group))
    committed = await receipts(client, group)
    return GroupContents(
        group_id=group,
        profile=recorded,
        entities=tuple(entity_values),
        facts=tuple(fact_values),
        receipts=tuple(committed),
        texts=from_rows.turn_texts(committed, contents),
        summaries=await summaries.records(client, group),
    )


async def load_subgraphs(client: Neo4jClient, group: GroupId) -> Subgraphs:
    episodes = await client.paged_rows(cypher.EPISODES, group=group)
    mentions = await client.paged_rows(cypher.MENTIONS, group=group)
    communities = await read_communities(client, group)
    return neo4j_rows.subgraphs(episodes, mentions, communities)


async def profile(client: Neo4jClient, group: GroupId) -> GroupProfile | None:
    rows = await client.read(cypher.LEASE_STATE, group=group)
    return neo4j_rows.lease_state(rows[0]).profile if rows else None


async def versions(client: Neo4jClient) -> dict[GroupId, GroupVersion]:
    return {
        GroupId(row["group_id"]): GroupVersion(row["sequence"], row["turns"], row["creation_id"])
        for row in await client.read(cypher.VERSIONS)
    }


async def commits(
    client: Neo4jClient, group: GroupId, after: int, limit: int
) -> list[CommittedTurn]:
    rows = await client.read(cypher.COMMITS_AFTER, group=group, after=after, limit=limit)
    records = [row["commit"] for row in rows]
    uuids = [uuid for one in records for uuid in from_rows.chunk_ids(neo4j_rows.receipt(one))]
    episodes = await client.read(cypher.SOME_EPISODE_CONTENTS, uuids=uuids)
    contents = {row["uuid"]: row["content"] for row in episodes}
    return [neo4j_rows.committed_turn(one, contents) for one in records]


async def commit_records(
    client: Neo4jClient, group: GroupId, turns: Collection[TurnId] | None
) -> list[CommitRecord]:
    selected = None if turns is None else sorted(set(turns))
    rows = await client.paged_rows(cypher.COMMIT_RECORDS, group=group, turns=selected)
    mentioned: dict[str, list[str]] = {}
    for episode, entity in await client.paged_rows(cypher.MENTIONS, group=group):
        mentioned.setdefault(episode, []).append(entity)
    ends = {
        uuid: (source, target)
        for uuid, source, target in await client.paged_rows(cypher.FACT_ENDS, group=group)
    }
    records = (neo4j_rows.commit_record(row, mentioned, ends) for row in rows)
    return sorted(records, key=attrgetter("sequence"))


async def runs(client: Neo4jClient) -> list[TurnRun]:
    rows = [neo4j_rows.run(row) for row in await client.read(cypher.RUNS)]
    return sorted(rows, key=attrgetter("started_at", "run_id"), reverse=True)


async def run_totals(client: Neo4jClient) -> dict[str, RunTotals]:
    rows = await client.read(RUN_TOTALS)
    return {row["run_id"]: from_rows.run_totals_from_row(row) for row in rows}


async def turn_ids(client: Neo4jClient, group: GroupId) -> frozenset[TurnId]:
    return frozenset(map(TurnId, await client.paged_rows(cypher.TURN_IDS, group=group)))


async def entities(client: Neo4jClient, group: GroupId, uuids: Collection[str]) -> list[Entity]:
    pages = client.pages(cypher.SOME_ENTITIES, group=group, uuids=sorted(set(uuids)))
    return await _in_order(pages, neo4j_rows.entity)


async def facts(client: Neo4jClient, group: GroupId, uuids: Collection[str]) -> list[Fact]:
    pages = client.pages(cypher.SOME_FACTS, group=group, uuids=sorted(set(uuids)))
    return await _in_order(pages, neo4j_rows.fact)


async def _in_order(pages: AsyncIterable[list[Any]], from_row: Callable[[Any], V]) -> list[V]:
    values = [from_row(row) async for page in pages for row in page]
    return sorted(values, key=attrgetter("created_at", "uuid"))
