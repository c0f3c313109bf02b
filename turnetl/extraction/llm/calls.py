"""Questions about one passage of a turn, and what they cost together."""

from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeVar

from graphiti_core.edges import EntityEdge
from graphiti_core.nodes import EntityNode, EpisodicNode
from graphiti_core.utils.maintenance.dedup_helpers import _normalize_string_exact
from graphiti_core.utils.maintenance.edge_operations import extract_edges
from graphiti_core.utils.maintenance.node_operations import extract_nodes

from turnetl import ids
from turnetl.extraction.llm import prompt_context, reflexion
from turnetl.extraction.llm.clients import Clients
from turnetl.extraction.ontology import Ontology
from turnetl.graph.mirror import convert
from turnetl.graph.mirror.graphiti_adapters import MirrorDriver
from turnetl.llm.chat import ChatModel
from turnetl.llm.graphiti import GraphitiEmbedder
from turnetl.model import Entity, TurnId, Usage

Edges = tuple[list[EntityEdge], list[EntityNode]]
"""Facts, and the ends that only they name."""
Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class Passage:
    """What is read at once: a part of a turn."""

    told: EpisodicNode
    before: list[EpisodicNode]
    key: str

    def of(self, text: str, earlier: Sequence[str]) -> "Passage":
        """Return a piece of it, with what stands before it, briefly."""
        told = self.told.model_copy(update={"content": text})
        before = self.briefly().before
        if earlier:
            before.append(self.told.model_copy(update={"content": prompt_context.ends(earlier)}))
        return replace(self, told=told, before=before)

    def briefly(self) -> "Passage":
        """Return what tells of what it is about, where all of it does not fit."""
        before = [prompt_context.briefly(node) for node in self.before]
        return replace(self, told=prompt_context.briefly(self.told), before=before)


class Asking:
    """Asks about passages; each question stands for itself."""

    def __init__(self, model: ChatModel, embedder: GraphitiEmbedder, ontology: Ontology) -> None:
        self._model = model
        self._embedder = embedder
        self._ontology = ontology
        self.usage = Usage()

    async def entities(self, passage: Passage, told: str | None) -> list[EntityNode]:
        clients = self._clients()
        asked = extract_nodes(
            clients.bundle,
            passage.told,
            passage.before,
            self._ontology.entity_types,
            custom_extraction_instructions=told,
        )
        nodes, _ = await self._counted(clients, asked)
        for node in nodes:
            node.uuid = _key(passage, node)
            # They come out of a set, in another order in every process.
            node.labels.sort()
        return nodes

    async def facts(self, passage: Passage, nodes: list[EntityNode], told: str | None) -> Edges:
        clients = self._clients()
        asked = extract_edges(
            clients.bundle,
            passage.told,
            # It appends the endpoints that it makes.
            list(nodes),
            passage.before,
            self._ontology.edge_type_map,
            passage.told.group_id,
            self._ontology.edge_types,
            custom_extraction_instructions=told,
        )
        edges, made = await self._counted(clients, asked)
        keys = {node.uuid: _key(passage, node) for node in made}
        for node in made:
            node.uuid = keys[node.uuid]
        for edge in edges:
            edge.source_node_uuid = keys.get(edge.source_node_uuid, edge.source_node_uuid)
            edge.target_node_uuid = keys.get(edge.target_node_uuid, edge.target_node_uuid)
            _date(edge, passage.told.valid_at)
        return edges, made

    async def missed_entities(self, passage: Passage, nodes: Sequence[EntityNode]) -> list[str]:
        clients = self._clients()
        asked = reflexion.entities(clients.model, passage.told, passage.before, nodes)
        return await self._counted(clients, asked)

    async def missed_facts(
        self, passage: Passage, named: Sequence[Entity], edges: Sequence[EntityEdge]
    ) -> list[str]:
        clients = self._clients()
        nodes = [convert.to_node(one) for one in named]
        asked = reflexion.facts(clients.model, passage.told, passage.before, nodes, edges)
        return await self._counted(clients, asked)

    def _clients(self) -> Clients:
        return Clients(self._model, self._embedder, MirrorDriver())

    async def _counted(self, clients: Clients, asked: Awaitable[Found]) -> Found:
        try:
            answer = await asked
            clients.check()
        finally:
            self.usage += clients.model.usage
        return answer


def _date(edge: EntityEdge, told_at: datetime) -> None:
    """Date a fact that has no date from its turn; what ended before it began, by its end alone.

    Models date what is said from the turn, also where it is said that it was over long before.
    """
    if edge.invalid_at is None:
        edge.valid_at = edge.valid_at or told_at
    elif edge.valid_at is not None and edge.invalid_at < edge.valid_at:
        edge.valid_at = None


def _key(passage: Passage, node: EntityNode) -> str:
    return ids.mention_id(TurnId(passage.told.uuid), _normalize_string_exact(node.name))
