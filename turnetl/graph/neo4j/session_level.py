"""Read what other programs wrote into a Neo4j graph beside turns, with entities and facts."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, LiteralString, TypeVar

from turnetl.base.graph_model import Mention
from turnetl.base.model import Entity, Fact, GroupId, Vector
from turnetl.graph import session_level, session_level_rows
from turnetl.graph.neo4j import cypher
from turnetl.graph.neo4j.pages import NODE, SMALL_PAGE, in_pages
from turnetl.graph.neo4j.rows import from_microseconds
from turnetl.graph.neo4j.unrecorded import Neo4jUnrecordedReader, zoned_time
from turnetl.graph.session_level import SessionLevelData
from turnetl.llm.vectors import pack

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
            _values(facts, group, session_level_rows.fact_of),
            _values(entities, group, session_level_rows.entity_of),
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
