"""Read what another program wrote into a Ladybug graph, into the tables of Graphiti's schema."""

from collections.abc import Mapping, Sequence

from turnetl.base.model import GroupId
from turnetl.graph.ladybug import reads
from turnetl.graph.ladybug.client import LadybugClient
from turnetl.graph.ladybug.rows import as_utc
from turnetl.graph.unrecorded import UnrecordedEpisode, later_chunks

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
_FACTS = """
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
    facts = dict(client.query(_FACTS, parameters))
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
