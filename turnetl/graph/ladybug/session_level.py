"""Read what other programs wrote into a Ladybug graph beside turns, with entities and facts."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from turnetl.base.graph_model import Mention
from turnetl.base.model import Entity, Fact, GroupId, Vector
from turnetl.graph import from_rows, session_level
from turnetl.graph.ladybug import cypher, reads
from turnetl.graph.ladybug.client import LadybugClient
from turnetl.graph.ladybug.rows import as_utc, vectors_of, with_zone
from turnetl.graph.session_level import SessionLevelData, UnrecordedEpisode, later_chunks

_GROUPS = """
MATCH (e:Episodic)
WHERE e.group_id IS NOT NULL
RETURN DISTINCT e.group_id AS name ORDER BY name
"""
_UUIDS = "MATCH (e:Episodic) WHERE e.group_id = $group_id RETURN e.uuid"
# Without the texts of turns: those may be most of the file.
_EPISODE = """
MATCH (e:Episodic {uuid: $uuid})
RETURN e.name, e.content, e.source, e.source_description, e.created_at, e.valid_at
"""
_MENTIONS = """
MATCH (e:Episodic)-[:MENTIONS]->(n:Entity) WHERE e.group_id = $group_id
RETURN e.uuid, count(DISTINCT n.uuid)
"""
_UNRECORDED_FACTS = """
MATCH (f:RelatesToNode_) WHERE f.group_id = $group_id
UNWIND f.episodes AS uuid
RETURN uuid, count(DISTINCT f.uuid)
"""
_SIZES = """
MATCH (n:Entity) WHERE n.group_id = $group_id AND n.name_embedding IS NOT NULL
RETURN size(n.name_embedding), count(*)
"""


class LadybugUnrecordedReader:
    """`UnrecordedReader` over a client."""

    _client: LadybugClient

    async def episode_groups(self) -> Sequence[GroupId]:
        return await self._client.run(
            lambda client: [GroupId(name) for (name,) in client.query(_GROUPS)]
        )

    async def unrecorded_episodes(self, group: GroupId) -> Sequence[UnrecordedEpisode]:
        return await self._client.run(lambda client: read_episodes(client, group))

    async def embedding_sizes(self, group: GroupId) -> Mapping[int, int]:
        return await self._client.run(
            lambda client: dict(client.query(_SIZES, {"group_id": group}))
        )


def read_episodes(client: LadybugClient, group: GroupId) -> list[UnrecordedEpisode]:
    """See `UnrecordedReader.unrecorded_episodes`."""
    parameters = {"group_id": group}
    committed = [(one.turn_id, one.chunks) for one in reads.receipts(client, group)]
    own = {turn for turn, _ in committed} | later_chunks(committed)
    uuids = sorted(uuid for (uuid,) in client.query(_UUIDS, parameters) if uuid not in own)
    mentions = dict(client.query(_MENTIONS, parameters))
    facts = dict(client.query(_UNRECORDED_FACTS, parameters))
    return [
        _episode(client, group, uuid, (mentions.get(uuid, 0), facts.get(uuid, 0))) for uuid in uuids
    ]


def _episode(
    client: LadybugClient, group: GroupId, uuid: str, counts: tuple[int, int]
) -> UnrecordedEpisode:
    [(*texts, created_at, valid_at)] = client.query(_EPISODE, {"uuid": uuid})
    name, text, source, source_description = (value or "" for value in texts)
    return UnrecordedEpisode(
        uuid=uuid,
        group_id=group,
        name=name,
        text=text,
        source=source,
        source_description=source_description,
        created_at=as_utc(created_at),
        valid_at=as_utc(valid_at),
        entities=counts[0],
        facts=counts[1],
    )


V = TypeVar("V", Entity, Fact)

_COUNTS = (
    "MATCH (e:Episodic) RETURN count(*)",
    "MATCH (c:TurnCommit) RETURN count(*)",
    "MATCH (n:Entity) RETURN count(*)",
    "MATCH (f:RelatesToNode_) RETURN count(*)",
    "MATCH (:Episodic)-[m:MENTIONS]->(:Entity) RETURN count(*)",
)
_EPISODES = """
MATCH (e:Episodic) WHERE e.group_id IS NOT NULL RETURN e.group_id, count(*)
"""
_EMBEDDING = ", {}.{} AS embedding"
_FACTS = """
MATCH (a:Entity)-[:RELATES_TO]->(e:RelatesToNode_)-[:RELATES_TO]->(b:Entity)
WHERE e.group_id = $group_id
RETURN e.uuid AS uuid, a.uuid AS source_node_uuid, b.uuid AS target_node_uuid, e.name AS name,
       e.fact AS fact, e.episodes AS episodes, e.created_at AS created_at, e.valid_at AS valid_at,
       e.invalid_at AS invalid_at, e.expired_at AS expired_at, e.reference_time AS reference_time
"""
_ENTITIES = """
MATCH (n:Entity) WHERE n.group_id = $group_id
RETURN n.uuid AS uuid, n.name AS name, n.labels AS labels, n.summary AS summary,
       n.created_at AS created_at
"""


class LadybugSessionLevelReader(LadybugUnrecordedReader):
    """`SessionLevelReader` over a client."""

    async def content_state(self) -> str:
        return await self._client.run(
            lambda client: " ".join(str(client.query(query)[0][0]) for query in _COUNTS)
        )

    async def session_level_groups(self) -> Sequence[GroupId]:
        return await self._client.run(_surplus_groups)

    async def session_level(self, group: GroupId, *, vectors: bool) -> SessionLevelData:
        return await self._client.run(lambda client: _read(client, group, vectors=vectors))


def _surplus_groups(client: LadybugClient) -> list[GroupId]:
    episodes = dict(client.query(_EPISODES))
    chunks: dict[str, int] = dict(client.query(cypher.TURN_COUNTS))
    for group, count in episodes.items():
        # The number of chunks is in the receipts, which take longer to read.
        if group in chunks and count != chunks[group]:
            chunks[group] = sum(one.chunks for one in reads.receipts(client, GroupId(group)))
    return session_level.surplus_groups(episodes, chunks)


def _read(client: LadybugClient, group: GroupId, *, vectors: bool) -> SessionLevelData:
    episodes = read_episodes(client, group)
    if not episodes:
        return session_level.session_level_data(group, (), (), (), ())
    of_facts = _FACTS + (_EMBEDDING.format("e", "fact_embedding") if vectors else "")
    of_entities = _ENTITIES + (_EMBEDDING.format("n", "name_embedding") if vectors else "")
    return session_level.session_level_data(
        group,
        episodes,
        _values(client, of_facts, group, from_rows.fact_of),
        _values(client, of_entities, group, from_rows.entity_of),
        [Mention(*row) for row in client.query(cypher.MENTIONS, {"group_id": group})],
    )


def _values(
    client: LadybugClient,
    query: str,
    group: GroupId,
    value_of: Callable[[GroupId, Mapping[str, Any], Vector | None], V],
) -> list[V]:
    table = client.table(query, {"group_id": group})
    has_vectors = "embedding" in table.column_names
    rows = (table.drop_columns(["embedding"]) if has_vectors else table).to_pylist()
    vectors = vectors_of(table["embedding"]) if has_vectors else [None] * len(rows)
    pairs = zip(rows, vectors, strict=True)
    return [value_of(group, with_zone(row), vector) for row, vector in pairs]
