"""Calls of Graphiti's extraction functions for one chunk of a turn, and their usage."""

from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeVar

from graphiti_core.edges import EntityEdge
from graphiti_core.nodes import EntityNode, EpisodicNode
from graphiti_core.utils.maintenance.dedup_helpers import _normalize_string_exact
from graphiti_core.utils.maintenance.edge_operations import extract_edges
from graphiti_core.utils.maintenance.node_operations import extract_nodes

from turnetl.base import ids
from turnetl.base.model import Entity, TurnId, Usage
from turnetl.extraction.llm import prompt_context, reflexion
from turnetl.extraction.llm.clients import CheckedClients
from turnetl.extraction.ontology import Ontology
from turnetl.graph.mirror import convert
from turnetl.graph.mirror.graphiti_adapters import MirrorDriver
from turnetl.llm.chat import ChatModel
from turnetl.llm.graphiti import GraphitiEmbedder

ExtractedEdges = tuple[list[EntityEdge], list[EntityNode]]
"""Edges, and the nodes that only the edges name."""
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class ExtractionInput:
    """The input of one extraction: a chunk of a turn and its context."""

    episode: EpisodicNode
    previous: list[EpisodicNode]
    """The context that the prompts show, oldest first."""
    key: str
    """Key of the chunk; the keys of its facts derive from it."""

    def piece(self, text: str, earlier: Sequence[str]) -> "ExtractionInput":
        """Return the input for a piece of the chunk; `earlier` pieces become abridged context."""
        episode = self.episode.model_copy(update={"content": text})
        previous = self.abridged().previous
        if earlier:
            content = prompt_context.head_and_tail(earlier)
            previous.append(self.episode.model_copy(update={"content": content}))
        return replace(self, episode=episode, previous=previous)

    def abridged(self) -> "ExtractionInput":
        """Return the input with every text reduced to head and tail, for a prompt that is full."""
        previous = [prompt_context.abridged(node) for node in self.previous]
        return replace(self, episode=prompt_context.abridged(self.episode), previous=previous)


class GraphitiCalls:
    """Calls Graphiti's extraction functions; each call is independent of the others."""

    def __init__(
        self,
        model: ChatModel,
        embedder: GraphitiEmbedder,
        ontology: Ontology,
        *,
        is_compact: bool,
    ) -> None:
        self._model = model
        self._embedder = embedder
        self._ontology = ontology
        self._is_compact = is_compact
        self.usage = Usage()

    async def entities(self, source: ExtractionInput, instructions: str | None) -> list[EntityNode]:
        clients = self._clients()
        call = extract_nodes(
            clients.bundle,
            source.episode,
            source.previous,
            self._ontology.entity_types,
            custom_extraction_instructions=instructions,
        )
        nodes, _ = await self._metered(clients, call)
        for node in nodes:
            node.uuid = _key(source, node)
            # Graphiti takes them from a set, whose order differs between processes.
            node.labels.sort()
        return nodes

    async def facts(
        self, source: ExtractionInput, nodes: list[EntityNode], instructions: str | None
    ) -> ExtractedEdges:
        clients = self._clients()
        call = extract_edges(
            clients.bundle,
            source.episode,
            # A copy, because Graphiti appends the endpoints that it creates.
            list(nodes),
            source.previous,
            self._ontology.edge_type_map,
            source.episode.group_id,
            self._ontology.edge_types,
            custom_extraction_instructions=instructions,
        )
        edges, endpoints = await self._metered(clients, call)
        keys = {node.uuid: _key(source, node) for node in endpoints}
        for node in endpoints:
            node.uuid = keys[node.uuid]
        for edge in edges:
            edge.source_node_uuid = keys.get(edge.source_node_uuid, edge.source_node_uuid)
            edge.target_node_uuid = keys.get(edge.target_node_uuid, edge.target_node_uuid)
            _set_dates(edge, source.episode.valid_at)
        return edges, endpoints

    async def missed_entities(
        self, source: ExtractionInput, nodes: Sequence[EntityNode]
    ) -> list[str]:
        clients = self._clients()
        call = reflexion.entities(clients.model, source.episode, source.previous, nodes)
        return await self._metered(clients, call)

    async def missed_facts(
        self, source: ExtractionInput, entities: Sequence[Entity], edges: Sequence[EntityEdge]
    ) -> list[str]:
        clients = self._clients()
        nodes = [convert.to_node(entity) for entity in entities]
        call = reflexion.facts(clients.model, source.episode, source.previous, nodes, edges)
        return await self._metered(clients, call)

    def _clients(self) -> CheckedClients:
        driver = MirrorDriver()
        return CheckedClients(self._model, self._embedder, driver, is_compact=self._is_compact)

    async def _metered(self, clients: CheckedClients, call: Awaitable[Result]) -> Result:
        try:
            result = await call
            clients.check()
        finally:
            self.usage += clients.model.end()
        return result


def _set_dates(edge: EntityEdge, turn_time: datetime) -> None:
    """Date a fact without a date from its turn; keep only the end of one that ends before it began.

    Models take the turn's time as the start even where the text says that it ended long before.
    """
    if edge.invalid_at is None:
        edge.valid_at = edge.valid_at or turn_time
    elif edge.valid_at is not None and edge.invalid_at < edge.valid_at:
        edge.valid_at = None


def _key(source: ExtractionInput, node: EntityNode) -> str:
    return ids.mention_id(TurnId(source.episode.uuid), _normalize_string_exact(node.name))
