"""Graphiti's `add_episode` over the group in memory: its own functions, in its order, no database.

It has its defaults: the last ten turns of the group in full, no ontology, no instructions, and
summaries with each turn.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from graphiti_core import Graphiti
from graphiti_core.graphiti_types import GraphitiClients
from graphiti_core.tracer import NoOpTracer
from graphiti_core.utils.maintenance.node_operations import (
    extract_attributes_from_nodes,
    extract_nodes,
    resolve_extracted_nodes,
)

from turnetl.base.ids import RecipeParts
from turnetl.base.model import Episode, GroupId
from turnetl.extraction.llm.resolve import changes_of_chunk
from turnetl.extraction.port import Resolved
from turnetl.graph.mirror import convert
from turnetl.graph.mirror.graphiti_adapters import MirrorDriver
from turnetl.graph.mirror.group import GroupView
from turnetl.graph.mirror.overlay import CandidateIndex
from turnetl.llm.chat import ChatModel
from turnetl.llm.embedders import Embedder
from turnetl.llm.graphiti import GraphitiEmbedder, GraphitiModel, NoReranker

CONTEXT = 10
"""Turns of the group that `add_episode` shows."""


@dataclass
class AddEpisode:
    """The steps of `add_episode` behind the port of an extractor."""

    sent_to: ChatModel
    embedder: Embedder
    name: str = "add_episode"
    _turns: list[Episode] = field(default_factory=list)

    @property
    def model(self) -> str:
        return self.sent_to.name

    def recipe_parts(self, _group: GroupId, _kind: str = "") -> RecipeParts:
        return {}

    async def extract(self, episode: Episode, _context: Sequence[Episode]) -> Sequence[Episode]:
        """Return the turns that the prompts show; extraction itself is part of `resolve`."""
        shown = self._turns[-CONTEXT:]
        self._turns.append(episode)
        return shown

    async def resolve(
        self, episode: Episode, extracted: Sequence[Episode], group: GroupView, *, now: datetime
    ) -> Resolved:
        embedder = GraphitiEmbedder(self.embedder)
        driver = MirrorDriver.for_group(group, CandidateIndex(group), embedder.remember)
        client = GraphitiModel(self.sent_to)
        clients = GraphitiClients(
            driver=driver,
            llm_client=client,
            embedder=embedder,
            cross_encoder=NoReranker(),
            tracer=NoOpTracer(),
        )
        node = convert.to_episodic_node(episode, episode.text)
        previous = [convert.to_episodic_node(turn, turn.text) for turn in extracted]
        found, _ = await extract_nodes(clients, node, previous)
        nodes, keys, _ = await resolve_extracted_nodes(clients, found, node, previous)
        # Without a database: the step uses nothing of the instance but its other steps.
        steps = Graphiti.__new__(Graphiti)
        resolved, invalidated, new = await steps._extract_and_resolve_edges(  # noqa: SLF001
            node,
            found,
            previous,
            {("Entity", "Entity"): []},
            group.group_id,
            None,
            nodes,
            keys,
            clients=clients,
        )
        nodes = await extract_attributes_from_nodes(clients, nodes, node, previous, edges=new)
        driver.check()
        client.check()
        return changes_of_chunk(nodes, resolved + invalidated, group, known=embedder.known, now=now)

    async def close(self) -> None:
        """Do nothing: there are no connections."""
