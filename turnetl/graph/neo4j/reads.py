"""Everything that is read from a Neo4j graph.

Communities in Neo4j. What writes runs in a transaction of the caller, under its lease.

Read what other programs wrote into a Neo4j graph beside turns, with entities and facts.

Read what another program wrote into a Neo4j graph: nothing is expected of its properties.
"""

from collections.abc import AsyncIterable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from operator import attrgetter
from typing import Any, LiteralString, TypeVar

from neo4j import AsyncTransaction

from turnetl.base.graph_model import (
    CommitRecord,
    CommittedTurn,
    Community,
    CommunityBatch,
    GroupContents,
    GroupProfile,
    GroupVersion,
    Mention,
    Receipt,
    RunTotals,
    Subgraphs,
    TurnRun,
)
from turnetl.base.ids import RecipeParts
from turnetl.base.model import Entity, Fact, GroupId, TurnId, Vector
from turnetl.graph import from_rows, session_level, to_rows
from turnetl.graph.from_rows import RUN_TOTALS
from turnetl.graph.neo4j import cypher
from turnetl.graph.neo4j import rows as neo4j_rows
from turnetl.graph.neo4j.client import Neo4jClient
from turnetl.graph.neo4j.cypher import LINK, NODE, SMALL_PAGE, in_pages
from turnetl.graph.neo4j.rows import from_microseconds
from turnetl.graph.session_level import SessionLevelData, UnrecordedEpisode, later_chunks
from turnetl.llm.vectors import pack

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
        summaries=await neo4j_rows.summary_records(client, group),
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


_MEMBERS: LiteralString = in_pages(
    "MATCH (:Community {group_id: $group})-[item:HAS_MEMBER]->(:Entity)",
    LINK,
    "[startNode(item).uuid, endNode(item).uuid]",
)
_DELETE: LiteralString = """
UNWIND $uuids AS uuid
MATCH (c:Community {uuid: uuid})
WHERE c.group_id = $group
DETACH DELETE c
"""
_CREATE: LiteralString = """
UNWIND $rows AS row
CREATE (c:Community)
SET c = row
WITH c, row
CALL db.create.setNodeVectorProperty(c, 'name_embedding', row.name_embedding)
"""
_LINK: LiteralString = """
UNWIND $rows AS row
MATCH (c:Community {uuid: row.source})
MATCH (n:Entity {uuid: row.target})
WHERE n.group_id = $group
CREATE (c)-[:HAS_MEMBER {uuid: row.uuid, group_id: $group, created_at: $now}]->(n)
RETURN count(*) AS done
"""


async def read_communities(client: Neo4jClient, group: GroupId) -> tuple[Community, ...]:
    """Return the communities; as `GraphStore.communities`."""
    rows = await client.read(cypher.COMMUNITIES, group=group)
    members: dict[str, list[str]] = {}
    for community, entity in await client.paged_rows(_MEMBERS, group=group):
        members.setdefault(community, []).append(entity)
    return neo4j_rows.communities(rows, members)


async def write_communities(
    transaction: AsyncTransaction, group: GroupId, batch: CommunityBatch, now: datetime
) -> None:
    """Write the batch; as `GraphStore.write_communities`."""
    replaced = [*batch.removed, *(community.uuid for community in batch.written)]
    await transaction.run(_DELETE, uuids=replaced, group=group)
    rows = [to_rows.community_row(community) for community in batch.written]
    await transaction.run(_CREATE, rows=rows)
    links = [asdict(link) for one in batch.written for link in to_rows.member_links(one)]
    result = await transaction.run(_LINK, rows=links, group=group, now=now)
    if (await result.single(strict=True))["done"] != len(links):
        raise to_rows.missing_member(group)


_GROUPS: LiteralString = """
MATCH (e:Episodic)
WHERE e.group_id IS NOT NULL
RETURN DISTINCT e.group_id AS group_id ORDER BY group_id
"""


def zoned_time(name: LiteralString) -> LiteralString:
    """Return an entry of a map: a time of the item; null if it is no time with a zone."""
    value: LiteralString = f"item.{name}"
    return f"""{name}: CASE WHEN {value} IS :: ZONED DATETIME NOT NULL
    THEN {value}.epochSeconds * 1000000 + {value}.microsecond END"""


_UNRECORDED_EPISODES: LiteralString = in_pages(
    """
    MATCH (item:Episodic {group_id: $group})
    WHERE NOT EXISTS { (:TurnCommit {turn_id: item.uuid}) }
    """,
    NODE,
    f"""item {{.uuid, .name, .content, .source, .source_description,
    {zoned_time("created_at")}, {zoned_time("valid_at")}}}""",
    SMALL_PAGE,
)
_CHUNKED: LiteralString = """
MATCH (c:TurnCommit {group_id: $group})
WHERE c.chunks > 1
RETURN c.turn_id AS turn_id, c.chunks AS chunks
"""
_MENTIONS: LiteralString = """
UNWIND $uuids AS uuid
MATCH (e:Episodic {uuid: uuid})-[:MENTIONS]->(n:Entity)
RETURN uuid, count(DISTINCT n) AS count
"""
_UNRECORDED_FACTS: LiteralString = """
MATCH ()-[f:RELATES_TO {group_id: $group}]->()
UNWIND f.episodes AS uuid
WITH uuid, count(DISTINCT f) AS count
WHERE uuid IN $uuids
RETURN uuid, count
"""
_SIZES: LiteralString = """
MATCH (n:Entity {group_id: $group})
WHERE n.name_embedding IS NOT NULL
RETURN size(n.name_embedding) AS size, count(*) AS count
"""
_TIMES = ("created_at", "valid_at")


class Neo4jUnrecordedReader:
    """`UnrecordedReader` over a client."""

    _client: Neo4jClient

    async def episode_groups(self) -> Sequence[GroupId]:
        return [GroupId(row["group_id"]) for row in await self._client.read(_GROUPS)]

    async def unrecorded_episodes(self, group: GroupId) -> Sequence[UnrecordedEpisode]:
        rows = await self._client.paged_rows(_UNRECORDED_EPISODES, group=group)
        chunked = await self._client.read(_CHUNKED, group=group)
        own = later_chunks([(row["turn_id"], row["chunks"]) for row in chunked])
        others = [row for row in rows if row["uuid"] not in own]
        uuids = [row["uuid"] for row in others]
        mentions, facts = [
            await self._counts(query, group, uuids) for query in (_MENTIONS, _UNRECORDED_FACTS)
        ]
        found = (_episode(row, group, mentions, facts) for row in others)
        return sorted(found, key=attrgetter("uuid"))

    async def embedding_sizes(self, group: GroupId) -> Mapping[int, int]:
        rows = await self._client.read(_SIZES, group=group)
        return {row["size"]: row["count"] for row in rows}

    async def _counts(
        self, query: LiteralString, group: GroupId, uuids: Sequence[str]
    ) -> dict[str, int]:
        rows = await self._client.read(query, group=group, uuids=uuids)
        return {row["uuid"]: row["count"] for row in rows}


def _episode(
    row: Mapping[str, Any], group: GroupId, mentions: Mapping[str, int], facts: Mapping[str, int]
) -> UnrecordedEpisode:
    times = from_microseconds(row, _TIMES)
    return UnrecordedEpisode(
        uuid=row["uuid"],
        group_id=group,
        name=row["name"] or "",
        text=row["content"] or "",
        source=row["source"] or "",
        source_description=row["source_description"] or "",
        created_at=times["created_at"],
        valid_at=times["valid_at"],
        entities=mentions.get(row["uuid"], 0),
        facts=facts.get(row["uuid"], 0),
    )


# Each is answered by the count store.
CONTENT_COUNTS: LiteralString = """
RETURN COUNT { (:Episodic) } AS episodes, COUNT { (:TurnCommit) } AS turns,
       COUNT { (:Entity) } AS entities, COUNT { ()-[:RELATES_TO]->() } AS facts,
       COUNT { ()-[:MENTIONS]->() } AS mentions
"""
_EPISODES: LiteralString = """
MATCH (e:Episodic)
WHERE e.group_id IS NOT NULL
RETURN e.group_id AS name, count(*) AS count
"""
_CHUNKS: LiteralString = "MATCH (c:TurnCommit) RETURN c.group_id AS name, sum(c.chunks) AS count"
_FACT_TIMES = ("created_at", "valid_at", "invalid_at", "expired_at", "reference_time")
_FACT: LiteralString = f"""item {{.uuid, .name, .fact, .episodes,
    source_node_uuid: startNode(item).uuid, target_node_uuid: endNode(item).uuid,
    vector: CASE WHEN $vectors THEN item.fact_embedding END,
    {", ".join(map(zoned_time, _FACT_TIMES))}}}"""
_FACTS: LiteralString = in_pages(
    "MATCH (:Entity)-[item:RELATES_TO {group_id: $group}]->(:Entity)", NODE, _FACT, SMALL_PAGE
)
_ENTITY: LiteralString = f"""item {{.uuid, .name, .summary, labels: labels(item),
    vector: CASE WHEN $vectors THEN item.name_embedding END, {zoned_time("created_at")}}}"""
_ENTITIES: LiteralString = in_pages(
    "MATCH (item:Entity {group_id: $group})", NODE, _ENTITY, SMALL_PAGE
)


class Neo4jSessionLevelReader(Neo4jUnrecordedReader):
    """`SessionLevelReader` over a client."""

    async def content_state(self) -> str:
        [row] = await self._client.read(CONTENT_COUNTS)
        return " ".join(str(count) for count in row.values())

    async def session_level_groups(self) -> Sequence[GroupId]:
        episodes, chunks = [
            {row["name"]: row["count"] for row in await self._client.read(query)}
            for query in (_EPISODES, _CHUNKS)
        ]
        return session_level.surplus_groups(episodes, chunks)

    async def session_level(self, group: GroupId, *, vectors: bool) -> SessionLevelData:
        episodes = await self.unrecorded_episodes(group)
        if not episodes:
            return session_level.session_level_data(group, (), (), (), ())
        facts = await self._client.paged_rows(_FACTS, group=group, vectors=vectors)
        entities = await self._client.paged_rows(_ENTITIES, group=group, vectors=vectors)
        mentions = await self._client.paged_rows(cypher.MENTIONS, group=group)
        return session_level.session_level_data(
            group,
            episodes,
            _values(facts, group, from_rows.fact_of),
            _values(entities, group, from_rows.entity_of),
            [Mention(episode, entity) for episode, entity in mentions],
        )


def _values(
    rows: Iterable[Mapping[str, Any]],
    group: GroupId,
    value_of: Callable[[GroupId, Mapping[str, Any], Vector | None], V],
) -> list[V]:
    values = []
    for row in rows:
        numbers = row.get("vector")
        timed = from_microseconds(row, _FACT_TIMES)
        values.append(value_of(group, timed, None if numbers is None else pack(numbers)))
    return values
