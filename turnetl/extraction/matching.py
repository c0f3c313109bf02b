"""What a part of a turn names and says, matched against its group in memory."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field

from graphiti_core.edges import EntityEdge
from graphiti_core.nodes import EntityNode
from graphiti_core.utils.bulk_utils import resolve_edge_pointers
from graphiti_core.utils.maintenance.dedup_helpers import _normalize_string_exact
from graphiti_core.utils.maintenance.edge_operations import resolve_extracted_edges
from graphiti_core.utils.maintenance.node_operations import (
    extract_attributes_from_nodes,
    resolve_extracted_nodes,
)

from turnetl.errors import TooLong
from turnetl.extraction import outcome
from turnetl.extraction.asking import Passage
from turnetl.extraction.clients import Clients
from turnetl.extraction.ontology import Ontology
from turnetl.extraction.reading import Said
from turnetl.graph.mirror import convert
from turnetl.model import Entity, Usage

Gate = Callable[[EntityNode], Awaitable[bool]]
"""Whether an entity's summary is worth a call."""


@dataclass
class Matching:
    """One part of a turn before its group; what that cost so far."""

    clients: Callable[[], Clients]
    """Makes those of one step: what one cannot do shall not fail the next."""
    ontology: Ontology
    gate: Gate | None
    passage: Passage
    usage: Usage = field(default_factory=Usage)

    async def things(self, named: Sequence[Entity]) -> tuple[list[EntityNode], dict[str, str]]:
        """Return what the things are in the group, and under which key each is there."""
        return await self._resolved(named)

    async def facts(
        self, said: Said, nodes: list[EntityNode], keys: dict[str, str]
    ) -> tuple[list[EntityNode], list[EntityEdge]]:
        """Return things and facts as they shall be: new, confirmed and retired ones."""
        unknown = _by_name(said.endpoints, nodes, keys)
        if unknown:
            more, more_keys = await self._resolved(unknown)
            keys |= more_keys
            nodes = [*nodes, *outcome.not_among(more, nodes)]
        clients = self.clients()
        try:
            confirmed, retired, new = await resolve_extracted_edges(
                clients.bundle,
                resolve_edge_pointers([convert.edge(fact) for fact in said.facts], keys),
                self.passage.told,
                nodes,
                self.ontology.edge_types or {},
                self.ontology.edge_type_map,
            )
            nodes = await extract_attributes_from_nodes(
                clients.bundle,
                nodes,
                self.passage.told,
                self.passage.before,
                self.ontology.entity_types,
                self.gate,
                edges=new,
            )
            clients.check()
        finally:
            self.usage += clients.model.usage
        return nodes, confirmed + retired

    async def _resolved(self, named: Sequence[Entity]) -> tuple[list[EntityNode], dict[str, str]]:
        """Match things by name; those that do not fit one question are asked about in two."""
        try:
            return await self._resolved_at_once(named)
        except TooLong:
            if len(named) == 1:
                raise
        middle = len(named) // 2
        nodes, keys = await self._resolved(named[:middle])
        more, more_keys = await self._resolved(named[middle:])
        return [*nodes, *outcome.not_among(more, nodes)], keys | more_keys

    async def _resolved_at_once(
        self, named: Sequence[Entity]
    ) -> tuple[list[EntityNode], dict[str, str]]:
        clients = self.clients()
        try:
            nodes, keys, _ = await resolve_extracted_nodes(
                clients.bundle,
                [convert.node(entity) for entity in named],
                self.passage.told,
                self.passage.before,
                self.ontology.entity_types,
            )
            clients.check()
        finally:
            self.usage += clients.model.usage
        return nodes, keys


def _by_name(
    endpoints: Iterable[Entity], nodes: Iterable[EntityNode], keys: dict[str, str]
) -> list[Entity]:
    """Enter in `keys` the endpoints that the turn's own things are; return the others."""
    known = {_normalize_string_exact(node.name): node.uuid for node in nodes}
    unknown = []
    for endpoint in endpoints:
        same = known.get(_normalize_string_exact(endpoint.name))
        if same is None:
            unknown.append(endpoint)
        else:
            keys[endpoint.uuid] = same
    return unknown
