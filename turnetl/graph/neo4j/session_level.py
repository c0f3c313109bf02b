"""Read what other programs wrote into a Neo4j graph beside turns, with entities and facts."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any, LiteralString, TypeVar

from turnetl.base.graph_model import Mention
from turnetl.base.model import Entity, Fact, GroupId, Vector
from turnetl.graph import from_rows, session_level
from turnetl.graph.neo4j import cypher
from turnetl.graph.neo4j.client import Neo4jClient
from turnetl.graph.neo4j.cypher import NODE, SMALL_PAGE, in_pages
from turnetl.graph.neo4j.rows import from_microseconds
from turnetl.graph.session_level import SessionLevelData, UnrecordedEpisode, later_chunks
from turnetl.llm.vectors import pack

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


V = TypeVar("V", Entity, Fact)

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
