"""What a part of a turn names and says, matched against its group in memory."""

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
from turnetl.extraction.llm.calls import Passage
from turnetl.extraction.llm.clients import Clients
from turnetl.extraction.llm.extract import Said
from turnetl.extraction.ontology import Ontology
from turnetl.graph.mirror import convert
from turnetl.model import Entity, Usage

One = TypeVar("One")
Other = TypeVar("Other")

Matched = tuple[list[EntityNode], dict[str, str]]
"""What things are in the group, and the key of each there by the one it was named under."""
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

    async def things(self, named: Sequence[Entity]) -> Matched:
        """Return what the things are in the group, and under which key each is there."""
        (nodes, keys), *others = await self._fitting(named, self._matched)
        for more, more_keys in others:
            nodes = [*nodes, *mapping.not_among(more, nodes)]
            keys = keys | more_keys
        return nodes, keys

    async def facts(
        self, said: Said, nodes: list[EntityNode], keys: dict[str, str]
    ) -> tuple[list[EntityNode], list[EntityEdge]]:
        """Return things and facts as they shall be: new, confirmed and retired ones."""
        unknown = _by_name(said.endpoints, nodes, keys)
        if unknown:
            more, more_keys = await self.things(unknown)
            keys |= more_keys
            nodes = [*nodes, *mapping.not_among(more, nodes)]
        edges = resolve_edge_pointers([convert.to_edge(fact) for fact in said.facts], keys)
        early = _summed_up_whatever_comes(nodes, edges, keys)
        (held, new), _ = await _all(self._edges(edges, nodes), self._summed_up(early, []))
        done = {node.uuid for node in early}
        await self._summed_up([node for node in nodes if node.uuid not in done], new)
        return nodes, held

    async def _edges(
        self, edges: list[EntityEdge], nodes: list[EntityNode]
    ) -> tuple[list[EntityEdge], list[EntityEdge]]:
        """Return confirmed, retired and new facts, and which of them are new."""
        clients = self.clients()
        try:
            confirmed, retired, new = await resolve_extracted_edges(
                clients.bundle,
                edges,
                self.passage.told,
                nodes,
                self.ontology.edge_types or {},
                self.ontology.edge_type_map,
            )
            clients.check()
        finally:
            self.usage += clients.model.usage
        return confirmed + retired, new

    async def _summed_up(self, nodes: Sequence[EntityNode], new: list[EntityEdge]) -> None:
        """Give the things their attributes and summaries, with the facts that are new."""
        if nodes:
            await self._fitting(nodes, partial(self._summed_up_at_once, new=new))

    async def _fitting(
        self,
        things: Sequence[One],
        ask: Callable[[Sequence[One], Passage], Awaitable[Other]],
        passage: Passage | None = None,
    ) -> list[Other]:
        """Ask about the things; if that does not fit, in two, and with less of the text."""
        try:
            return [await ask(things, passage or self.passage)]
        except TooLong:
            if len(things) == 1 and passage is not None:
                raise
        brief, middle = passage or self.passage.briefly(), len(things) // 2
        pieces = [piece for piece in (things[:middle], things[middle:]) if piece]
        return [one for piece in pieces for one in await self._fitting(piece, ask, brief)]

    async def _summed_up_at_once(
        self, nodes: Sequence[EntityNode], passage: Passage, *, new: list[EntityEdge]
    ) -> None:
        clients = self.clients()
        before = [(node, node.summary, node.attributes) for node in nodes]
        try:
            await extract_attributes_from_nodes(
                clients.bundle,
                list(nodes),
                passage.told,
                passage.before,
                self.ontology.entity_types,
                self.gate,
                edges=new,
            )
            clients.check()
        except TooLong:
            # Facts that were written into a summary would be there twice.
            for node, summary, attributes in before:
                node.summary, node.attributes = summary, attributes
            raise
        finally:
            self.usage += clients.model.usage

    async def _matched(self, named: Sequence[Entity], passage: Passage) -> Matched:
        clients = self.clients()
        try:
            nodes, keys, _ = await resolve_extracted_nodes(
                clients.bundle,
                [convert.to_node(entity) for entity in named],
                passage.told,
                passage.before,
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


def _summed_up_whatever_comes(
    nodes: Sequence[EntityNode], edges: Iterable[EntityEdge], keys: Mapping[str, str]
) -> list[EntityNode]:
    """Return the things that need a summary by the model whichever facts turn out to be new.

    They are what Graphiti would ask about, so that it can be asked while the facts are looked at;
    none if there is a thing of which that is not known yet: it would ask about them together.
    """
    about: dict[str, list[str]] = {}
    for edge in edges:
        for end in (edge.source_node_uuid, edge.target_node_uuid):
            about.setdefault(end, []).append(edge.fact)
    if any(_may_need_one(node, about.get(node.uuid, []), keys) for node in nodes):
        return []
    return [node for node in nodes if not node.summary and node.uuid not in about]


def _may_need_one(node: EntityNode, facts: Sequence[str], keys: Mapping[str, str]) -> bool:
    if not facts:
        return False
    # The facts of a thing that was not there before are new.
    is_new = node.uuid in keys
    longest = len("\n".join([node.summary, *facts]))
    return longest > 2 * MAX_SUMMARY_CHARS or not (node.summary or is_new)


async def _all(one: Awaitable[One], other: Awaitable[Other]) -> tuple[One, Other]:
    """Wait for both, also if one fails: what is asked is paid for, and may be kept."""
    first, second = await asyncio.gather(one, other, return_exceptions=True)
    for result in (first, second):
        if isinstance(result, BaseException):
            raise result
    return cast("tuple[One, Other]", (first, second))
