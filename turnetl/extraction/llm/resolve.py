"""Resolves the entities and facts of one chunk of a turn against its group in memory."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar, cast

from graphiti_core.edges import EntityEdge
from graphiti_core.nodes import EntityNode
from graphiti_core.utils.bulk_utils import resolve_edge_pointers
from graphiti_core.utils.maintenance.dedup_helpers import _normalize_string_exact
from graphiti_core.utils.maintenance.edge_operations import resolve_extracted_edges
from graphiti_core.utils.maintenance.node_operations import (
    extract_attributes_only_from_nodes,
    resolve_extracted_nodes,
)

from turnetl.base.errors import TooLong
from turnetl.base.model import Entity, Usage
from turnetl.extraction.llm import mapping
from turnetl.extraction.llm.clients import CheckedClients
from turnetl.extraction.llm.extract import ChunkFacts
from turnetl.extraction.llm.graphiti_calls import ExtractionInput
from turnetl.extraction.ontology import Ontology
from turnetl.graph.mirror import convert

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
        resolved, _ = await _gather(
            self._resolve_edges(edges, nodes), self._split_if_needed(nodes, self._fill_attributes)
        )
        return nodes, resolved

    async def _resolve_edges(
        self, edges: list[EntityEdge], nodes: list[EntityNode]
    ) -> list[EntityEdge]:
        """Return all confirmed, invalidated and new edges."""
        clients = self.clients()
        try:
            confirmed, invalidated, _ = await resolve_extracted_edges(
                clients.bundle,
                edges,
                self.source.episode,
                nodes,
                self.ontology.edge_types or {},
                self.ontology.edge_type_map,
            )
            clients.check()
        finally:
            self.usage += clients.model.end()
        return confirmed + invalidated

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

    async def _fill_attributes(
        self, nodes: Sequence[EntityNode], source: ExtractionInput
    ) -> Sequence[EntityNode]:
        """Fill the attributes of the nodes whose types have fields.

        Graphiti summarises no node: the summary gate decides, once the turn is resolved.
        """
        clients = self.clients()
        try:
            await extract_attributes_only_from_nodes(
                clients.bundle,
                list(nodes),
                source.episode,
                source.previous,
                self.ontology.entity_types,
            )
            clients.check()
        finally:
            self.usage += clients.model.end()
        return nodes

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
            self.usage += clients.model.end()
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


async def _gather(one: Awaitable[Item], other: Awaitable[Result]) -> tuple[Item, Result]:
    """Wait for both, even if one fails: a sent request is paid for, and is journaled if it ends."""
    results = await asyncio.gather(one, other, return_exceptions=True)
    try:
        for result in results:
            if isinstance(result, BaseException):
                raise result
        return cast("tuple[Item, Result]", tuple(results))
    finally:
        # Else this frame and the exception refer to each other, and to the group in memory.
        del results, result
