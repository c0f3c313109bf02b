"""Read what another program wrote into a Neo4j graph: nothing is expected of its properties."""

from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any, LiteralString

from turnetl.base.model import GroupId
from turnetl.graph.neo4j.client import Neo4jClient
from turnetl.graph.neo4j.pages import NODE, SMALL_PAGE, in_pages
from turnetl.graph.neo4j.rows import from_microseconds
from turnetl.graph.unrecorded import UnrecordedEpisode, later_chunks

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


_EPISODES: LiteralString = in_pages(
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
_FACTS: LiteralString = """
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
        rows = await self._client.paged_rows(_EPISODES, group=group)
        chunked = await self._client.read(_CHUNKED, group=group)
        own = later_chunks([(row["turn_id"], row["chunks"]) for row in chunked])
        others = [row for row in rows if row["uuid"] not in own]
        uuids = [row["uuid"] for row in others]
        mentions, facts = [await self._counts(query, group, uuids) for query in (_MENTIONS, _FACTS)]
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
