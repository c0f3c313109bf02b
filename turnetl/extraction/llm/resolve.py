"""Resolves the entities and facts of one chunk of a turn against its group in memory."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar, cast

from graphiti_core.edges import EntityEdge
from graphiti_core.nodes import EntityNode
from graphiti_core.utils.bulk_utils import resolve_edge_pointers
from graphiti_core.utils.maintenance.dedup_helpers import _normalize_string_exact
from graphiti_core.utils.maintenance.edge_operations import resolve_extracted_edges
from graphiti_core.utils.maintenance.node_operations import (
    extract_attributes_from_nodes,
    resolve_extracted_nodes,
)
from graphiti_core.utils.text_utils import MAX_SUMMARY_CHARS

from turnetl.errors import TooLong
from turnetl.extraction.llm import mapping
from turnetl.extraction.llm.clients import CheckedClients
from turnetl.extraction.llm.extract import ChunkFacts
from turnetl.extraction.llm.graphiti_calls import ExtractionInput
from turnetl.extraction.ontology import Ontology
from turnetl.graph.mirror import convert
from turnetl.model import Entity, Usage

Item = TypeVar("Item")
Result = TypeVar("Result")

ResolvedNodes = tuple[list[EntityNode], dict[str, str]]
"""Nodes of the group, and by the uuid of each extracted entity the uuid of its node."""


@dataclass
class ChunkResolver:
    """Resolves one chunk of a turn; counts the usage."""

    clients: Callable[[], CheckedClients]
    """Makes the clients of one step, so that an error of one step does not fail the next."""
    ontology: Ontology
    source: ExtractionInput
    usage: Usage = field(default_factory=Usage)

    async def resolve_entities(self, entities: Sequence[Entity]) -> ResolvedNodes:
        """Return the nodes of the entities in the group, and the mapping of their uuids."""
        (nodes, keys), *others = await self._split_if_needed(entities, self._resolve_nodes)
        for more, more_keys in others:
            nodes = [*nodes, *mapping.not_among(more, nodes)]
            keys = keys | more_keys
        return nodes, keys

    async def resolve_facts(
        self, facts: ChunkFacts, nodes: list[EntityNode], keys: dict[str, str]
    ) -> tuple[list[EntityNode], list[EntityEdge]]:
        """Return all nodes with their final values, and new, confirmed and invalidated edges."""
        unknown = _unknown_endpoints(facts.endpoints, nodes, keys)
        if unknown:
            more, more_keys = await self.resolve_entities(unknown)
            keys |= more_keys
            nodes = [*nodes, *mapping.not_among(more, nodes)]
        edges = resolve_edge_pointers([convert.to_edge(fact) for fact in facts.facts], keys)
        early = _summarised_in_any_case(nodes, edges, keys)
        (resolved, new), _ = await _gather(
            self._resolve_edges(edges, nodes), self._summarise(early, [])
        )
        done = {node.uuid for node in early}
        await self._summarise([node for node in nodes if node.uuid not in done], new)
        return nodes, resolved

    async def _resolve_edges(
        self, edges: list[EntityEdge], nodes: list[EntityNode]
    ) -> tuple[list[EntityEdge], list[EntityEdge]]:
        """Return all confirmed, invalidated and new edges, and separately the new ones."""
        clients = self.clients()
        try:
            confirmed, invalidated, new = await resolve_extracted_edges(
                clients.bundle,
                edges,
                self.source.episode,
                nodes,
                self.ontology.edge_types or {},
                self.ontology.edge_type_map,
            )
            clients.check()
        finally:
            self.usage += clients.model.usage
        return confirmed + invalidated, new

    async def _summarise(self, nodes: Sequence[EntityNode], new: list[EntityEdge]) -> None:
        """Fill attributes and summaries of the nodes, given the new edges."""
        if nodes:
            await self._split_if_needed(nodes, partial(self._summarise_nodes, new=new))

    async def _split_if_needed(
        self,
        items: Sequence[Item],
        call: Callable[[Sequence[Item], ExtractionInput], Awaitable[Result]],
        source: ExtractionInput | None = None,
    ) -> list[Result]:
        """Call with all items; if that is too long, with each half and an abridged text."""
        try:
            return [await call(items, source or self.source)]
        except TooLong:
            if len(items) == 1 and source is not None:
                raise
        abridged, middle = source or self.source.abridged(), len(items) // 2
        halves = [half for half in (items[:middle], items[middle:]) if half]
        return [
            result
            for half in halves
            for result in await self._split_if_needed(half, call, abridged)
        ]

    async def _summarise_nodes(
        self, nodes: Sequence[EntityNode], source: ExtractionInput, *, new: list[EntityEdge]
    ) -> None:
        clients = self.clients()
        before = [(node, node.summary, node.attributes) for node in nodes]
        try:
            await extract_attributes_from_nodes(
                clients.bundle,
                list(nodes),
                source.episode,
                source.previous,
                self.ontology.entity_types,
                edges=new,
            )
            clients.check()
        except TooLong:
            # The retry would append the facts to the summaries a second time.
            for node, summary, attributes in before:
                node.summary, node.attributes = summary, attributes
            raise
        finally:
            self.usage += clients.model.usage

    async def _resolve_nodes(
        self, entities: Sequence[Entity], source: ExtractionInput
    ) -> ResolvedNodes:
        clients = self.clients()
        try:
            nodes, keys, _ = await resolve_extracted_nodes(
                clients.bundle,
                [convert.to_node(entity) for entity in entities],
                source.episode,
                source.previous,
                self.ontology.entity_types,
            )
            clients.check()
        finally:
            self.usage += clients.model.usage
        return nodes, keys


def _unknown_endpoints(
    endpoints: Iterable[Entity], nodes: Iterable[EntityNode], keys: dict[str, str]
) -> list[Entity]:
    """Map endpoints with the name of one of the nodes in `keys`; return the other endpoints."""
    by_name = {_normalize_string_exact(node.name): node.uuid for node in nodes}
    unknown = []
    for endpoint in endpoints:
        known = by_name.get(_normalize_string_exact(endpoint.name))
        if known is None:
            unknown.append(endpoint)
        else:
            keys[endpoint.uuid] = known
    return unknown


def _summarised_in_any_case(
    nodes: Sequence[EntityNode], edges: Iterable[EntityEdge], keys: Mapping[str, str]
) -> list[EntityNode]:
    """Return the nodes that the model summarises whichever edges turn out to be new.

    Graphiti would send them in one request, so that request can be sent while the edges are
    resolved. Returns none if for one node this is not known yet, because Graphiti would send that
    node in the same request.
    """
    facts_of: dict[str, list[str]] = {}
    for edge in edges:
        for endpoint in (edge.source_node_uuid, edge.target_node_uuid):
            facts_of.setdefault(endpoint, []).append(edge.fact)
    if any(_may_need_summary(node, facts_of.get(node.uuid, []), keys) for node in nodes):
        return []
    return [node for node in nodes if not node.summary and node.uuid not in facts_of]


def _may_need_summary(node: EntityNode, facts: Sequence[str], keys: Mapping[str, str]) -> bool:
    if not facts:
        return False
    # All facts about a new node are new.
    is_new = node.uuid in keys
    max_length = len("\n".join([node.summary, *facts]))
    return max_length > 2 * MAX_SUMMARY_CHARS or not (node.summary or is_new)


async def _gather(one: Awaitable[Item], other: Awaitable[Result]) -> tuple[Item, Result]:
    """Wait for both, even if one fails: a sent request is paid for, and is journaled if it ends."""
    first, second = await asyncio.gather(one, other, return_exceptions=True)
    for result in (first, second):
        if isinstance(result, BaseException):
            raise result
    return cast("tuple[Item, Result]", (first, second))
