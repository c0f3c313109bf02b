"""Session-level graphs: with Graphiti's row shapes in either store, or by its `add_episode`."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from graphiti_core import Graphiti
from graphiti_core.edges import CommunityEdge, EntityEdge, EpisodicEdge, HasEpisodeEdge
from graphiti_core.nodes import CommunityNode, EntityNode, EpisodeType, EpisodicNode, SagaNode
from graphiti_core.utils.bulk_utils import add_nodes_and_edges_bulk_tx
from pydantic import BaseModel

from tests.builders import START
from tests.graph.committing import opened
from tests.graph.test_graphiti_reads import LadybugDriver, graphiti
from tests.legacy.styles import LegacyEpisode
from turnetl.llm.embedders.static_model import WordLlamaEmbedder

DIMENSIONS = WordLlamaEmbedder().dimensions


async def write_legacy_graph(
    url: str,
    episodes: Iterable[LegacyEpisode],
    group: str,
    *,
    written_at: datetime | None = None,
    dimensions: int = DIMENSIONS,
    prepare: bool = True,
) -> None:
    """Write episodes with their files as entities and a fact between each two of them.

    Args:
        url: of a graph of either kind.
        episodes: to write.
        group: Graphiti's group_id.
        written_at: when; None: at the reference time of each.
        dimensions: of the embeddings.
        prepare: create turnetl's tables and indexes first; False: the graph has Graphiti's own.
    """
    rows = _Rows(group, dimensions)
    for episode in episodes:
        rows.add(episode, written_at or episode.reference_time)
    if prepare:
        await _prepare(url)
    await _write(url, rows)


async def write_saga(url: str, group: str, name: str, episodes: Sequence[str]) -> None:
    """Write a saga of these episodes, given by uuid."""
    saga = SagaNode(uuid=_uuid(group, "saga", name), name=name, group_id=group, created_at=START)
    links = [
        HasEpisodeEdge(
            uuid=_uuid(group, "has_episode", name, episode),
            source_node_uuid=saga.uuid,
            target_node_uuid=episode,
            group_id=group,
            created_at=START,
        )
        for episode in episodes
    ]
    await _save(url, [saga, *links])


async def write_community(
    url: str, group: str, name: str, members: Sequence[str], *, dimensions: int = DIMENSIONS
) -> None:
    """Write a community of these entities, given by uuid."""
    community = CommunityNode(
        uuid=_uuid(group, "community", name),
        name=name,
        group_id=group,
        created_at=START,
        summary="Who works here.",
        name_embedding=vector(name, dimensions),
    )
    links = [
        CommunityEdge(
            uuid=_uuid(group, "has_member", name, member),
            source_node_uuid=community.uuid,
            target_node_uuid=member,
            group_id=group,
            created_at=START,
        )
        for member in members
    ]
    await _save(url, [community, *links])


def entity_uuid(group: str, name: str) -> str:
    """Return the uuid that the builders give the entity of this name."""
    return _uuid(group, "entity", name)


async def write_foreign_data(url: str, group: str, *, dimensions: int = DIMENSIONS) -> None:
    """Write what people and other programs put into a graph.

    Two episodes by hand, about an entity with a custom label, a community, and a saga.
    """
    rows = _Rows(group, dimensions)
    notes = (
        LegacyEpisode(
            _uuid(group, "note"),
            "Team lunch",
            "Grace said that the release party is on Friday at the harbour.",
            "text",
            "a note",
            START,
        ),
        LegacyEpisode(
            _uuid(group, "mail"),
            "Mail from Ada",
            "Ada will be on holiday in August, and Alan takes over the invoices.",
            "message",
            "mail import",
            START,
        ),
    )
    for note in notes:
        rows.add(note, START)
    person = rows.entity("Ada", ["Person"], START)
    rows.mention(notes[1].uuid, person, START)
    await _prepare(url)
    await _write(url, rows)
    await write_saga(url, group, "the release", [notes[0].uuid])
    await write_community(url, group, "people", [person.uuid], dimensions=dimensions)


async def write_note(
    url: str, group: str, entities: Mapping[str, Sequence[str]], *, summary: str | None = None
) -> None:
    """Write an episode by hand, about entities with these names and labels, and this summary."""
    rows = _Rows(group, DIMENSIONS)
    note = LegacyEpisode(_uuid(group, "about"), "A note", "These matter.", "text", "a note", START)
    rows.add(note, START)
    for name, labels in entities.items():
        entity = rows.entity(name, labels, START)
        entity.summary = entity.summary if summary is None else summary
        rows.mention(note.uuid, entity, START)
    await _write(url, rows)


async def add_sessions(graph: Graphiti, episodes: Sequence[LegacyEpisode], group: str) -> None:
    """Write the episodes by `add_episode`, one request after the other, as the programs do."""
    for episode in episodes:
        await graph.add_episode(
            name=episode.name,
            episode_body=episode.body,
            source_description=episode.source_description,
            reference_time=episode.reference_time,
            source=EpisodeType[episode.source],
            group_id=group,
            entity_types={"File": File},
        )
        # Full-text indexes are updated later; the next searches would miss new entities.
        await graph.driver.execute_query(
            "CALL db.index.fulltext.awaitEventuallyConsistentIndexRefresh()"
        )


class File(BaseModel):
    """A file of the project."""


class _Rows:
    """Nodes and edges of Graphiti's, each once."""

    def __init__(self, group: str, dimensions: int) -> None:
        self.group = group
        self.dimensions = dimensions
        self.episodes: list[EpisodicNode] = []
        self.entities: dict[str, EntityNode] = {}
        self.facts: dict[str, EntityEdge] = {}
        self.mentions: list[EpisodicEdge] = []

    def add(self, episode: LegacyEpisode, at: datetime) -> None:
        entities = [self.entity(file, ["File"], at) for file in episode.files]
        facts = [self._fact(one, other, episode, at) for one, other in pairwise(entities)]
        self.episodes.append(
            EpisodicNode(
                uuid=episode.uuid,
                name=episode.name,
                group_id=self.group,
                created_at=at,
                source=EpisodeType[episode.source],
                source_description=episode.source_description,
                content=episode.body,
                valid_at=episode.reference_time,
                entity_edges=[fact.uuid for fact in facts],
            )
        )
        for entity in entities:
            self.mention(episode.uuid, entity, at)

    def entity(self, name: str, labels: Sequence[str], at: datetime) -> EntityNode:
        uuid = entity_uuid(self.group, name)
        node = EntityNode(
            uuid=uuid,
            name=name,
            group_id=self.group,
            labels=["Entity", *(label for label in labels if label != "Entity")],
            created_at=at,
            name_embedding=vector(name, self.dimensions),
            summary=f"{name} was changed",
        )
        return self.entities.setdefault(uuid, node)

    def mention(self, episode: str, entity: EntityNode, at: datetime) -> None:
        self.mentions.append(
            EpisodicEdge(
                uuid=_uuid(episode, entity.uuid),
                source_node_uuid=episode,
                target_node_uuid=entity.uuid,
                group_id=self.group,
                created_at=at,
            )
        )

    def _fact(
        self, one: EntityNode, other: EntityNode, episode: LegacyEpisode, at: datetime
    ) -> EntityEdge:
        text = f"{one.name} was changed with {other.name}"
        uuid = _uuid(self.group, "fact", text)
        edge = EntityEdge(
            uuid=uuid,
            source_node_uuid=one.uuid,
            target_node_uuid=other.uuid,
            group_id=self.group,
            created_at=at,
            name="WAS_CHANGED_WITH",
            fact=text,
            fact_embedding=vector(text, self.dimensions),
            episodes=[],
            valid_at=episode.reference_time,
            reference_time=episode.reference_time,
        )
        self.facts.setdefault(uuid, edge).episodes.append(episode.uuid)
        return edge


def vector(text: str, dimensions: int) -> list[float]:
    """Return a direction that depends on the text only."""
    digest = hashlib.sha256(text.encode()).digest()
    return [(digest[place % 32] - 127.5) / 128 for place in range(dimensions)]


async def _prepare(url: str) -> None:
    async with opened(url):
        pass  # creates tables and indexes


async def _write(url: str, rows: _Rows) -> None:
    driver = await graphiti(url)
    parts: tuple[Any, ...] = (
        rows.episodes,
        rows.mentions,
        list(rows.entities.values()),
        list(rows.facts.values()),
        None,
        driver,
    )
    if isinstance(driver, LadybugDriver):
        await add_nodes_and_edges_bulk_tx(driver, *parts)  # type: ignore[arg-type]
    else:
        async with driver.session() as session:
            await session.execute_write(add_nodes_and_edges_bulk_tx, *parts)
    await driver.close()


async def _save(url: str, items: Sequence[Any]) -> None:
    driver = await graphiti(url)
    for item in items:
        await item.save(driver)
    await driver.close()


def _uuid(*parts: str) -> str:
    return str(uuid5(NAMESPACE_URL, "/".join(parts)))
