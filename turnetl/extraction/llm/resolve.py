"""Resolves the entities and facts of one chunk of a turn against its group in memory.

The nodes and edges that Graphiti's building blocks return become the changes of the turn.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
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
from turnetl.base.model import Entity, Fact, HeldInvalidation, Vector
from turnetl.extraction.llm.clients import MeteredCalls
from turnetl.extraction.llm.extract import ChunkFacts
from turnetl.extraction.llm.graphiti_calls import ExtractionInput
from turnetl.extraction.ontology import GENERIC, QUOTING
from turnetl.extraction.port import DiscardReason, Resolved
from turnetl.graph.mirror import convert
from turnetl.graph.mirror.group import GroupView
from turnetl.graph.mirror.overlay import Overlay

Item = TypeVar("Item")
Result = TypeVar("Result")

ResolvedNodes = tuple[list[EntityNode], dict[str, str]]
"""Nodes of the group, and by the uuid of each extracted entity the uuid of its node."""


@dataclass
class ChunkResolver(MeteredCalls):
    """Resolves one chunk of a turn."""

    source: ExtractionInput
    is_fitted: bool = False
    """Whether the relations become those of the ontology, if it has signatures."""
    discarded: Counter[DiscardReason] = field(default_factory=Counter, init=False)

    async def resolve_entities(self, entities: Sequence[Entity]) -> ResolvedNodes:
        """Return the nodes of the entities in the group, and the mapping of their uuids."""
        (nodes, keys), *others = await self._split_if_needed(entities, self._resolve_nodes)
        for more, more_keys in others:
            nodes = [*nodes, *not_among(more, nodes)]
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
            nodes = [*nodes, *not_among(more, nodes)]
        edges = resolve_edge_pointers([convert.to_edge(fact) for fact in facts.facts], keys)
        if self.is_fitted:
            edges = self._fitted(edges, {node.uuid: node.labels for node in nodes})
        resolved, _ = await _gather(
            self._resolve_edges(edges, nodes), self._split_if_needed(nodes, self._fill_attributes)
        )
        return nodes, resolved

    def _fitted(
        self, edges: Iterable[EntityEdge], labels: Mapping[str, Sequence[str]]
    ) -> list[EntityEdge]:
        """Return the edges with declared relations; those that only quote are counted."""
        fitted = []
        for edge in edges:
            ends = edge.source_node_uuid, edge.target_node_uuid
            name, is_reversed = self.ontology.fit(edge.name, *(labels.get(end, ()) for end in ends))
            if name == GENERIC and QUOTING.match(edge.name):
                self.discarded[DiscardReason.QUOTE] += 1
                continue
            source, target = reversed(ends) if is_reversed else ends
            changes = {"name": name, "source_node_uuid": source, "target_node_uuid": target}
            fitted.append(edge.model_copy(update=changes))
        return fitted

    async def _resolve_edges(
        self, edges: list[EntityEdge], nodes: list[EntityNode]
    ) -> list[EntityEdge]:
        """Return all confirmed, invalidated and new edges."""
        confirmed, invalidated, _ = await self._metered(
            lambda clients: resolve_extracted_edges(
                clients.bundle,
                edges,
                self.source.episode,
                nodes,
                self.ontology.edge_types or {},
                self.ontology.edge_type_map,
            )
        )
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
        types = self.ontology.entity_types
        await self._metered(
            lambda clients: extract_attributes_only_from_nodes(
                clients.bundle, list(nodes), source.episode, source.previous, types
            )
        )
        return nodes

    async def _resolve_nodes(
        self, entities: Sequence[Entity], source: ExtractionInput
    ) -> ResolvedNodes:
        new, types = [convert.to_node(entity) for entity in entities], self.ontology.entity_types
        nodes, keys, _ = await self._metered(
            lambda clients: resolve_extracted_nodes(
                clients.bundle, new, source.episode, source.previous, types
            )
        )
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


KnownVector = Callable[[str], Vector | None]
"""Returns the vector of a text if it was embedded already."""
Stored = TypeVar("Stored", Entity, Fact)


def changes_of_chunk(
    nodes: Sequence[EntityNode],
    edges: Sequence[EntityEdge],
    group: GroupView,
    *,
    known: KnownVector,
    now: datetime,
) -> Resolved:
    """Return what is new and what differs from the group; created_at and expired_at are `now`.

    There may be several copies of one node or edge, each changed by another step. They are merged,
    later ones over earlier ones, so that no label and no turn is lost.
    """
    entities = _merge_entities(map(convert.from_node, nodes))
    facts = _merge_facts(map(convert.from_edge, edges))
    return Resolved(
        entities=_changed(
            [_entity(entity, group.entity(entity.uuid), known, now) for entity in entities],
            group.entity,
        ),
        facts=_changed(
            [_fact(fact, group.fact(fact.uuid), known, now) for fact in facts], group.fact
        ),
        mentions=tuple(sorted({node.uuid for node in nodes})),
    )


def changes_of_turn(overlay: Overlay, mentions: Sequence[Sequence[str]]) -> Resolved:
    """Return the changes of all chunks of a turn; `mentions` are the uuids by chunk."""
    mentioned_in: dict[str, tuple[int, ...]] = {}
    for number, uuids in enumerate(mentions):
        mentioned_in |= {uuid: (*mentioned_in.get(uuid, ()), number) for uuid in uuids}
    return Resolved(
        entities=(*_by_uuid(overlay.new.entities), *_by_uuid(overlay.changed_entities)),
        facts=(*_by_uuid(overlay.new.facts), *_by_uuid(overlay.changed_facts)),
        mentions=tuple(sorted(mentioned_in)),
        mentioned_in=mentioned_in,
    )


def held_back(resolved: Resolved, group: GroupView, most: int) -> Resolved:
    """Return the changes of a turn; if it would end more facts than `most`, it ends none of them.

    Its invalidations of facts that were valid are then in `held`.
    """
    before = {one.uuid: group.fact(one.uuid) for one in resolved.facts}
    new = [one for one in resolved.facts if before[one.uuid] is None]
    held: dict[str, HeldInvalidation] = {}
    valid: dict[str, Fact] = {}
    for one in resolved.facts:
        found, at = before[one.uuid], one.invalid_at
        if found is not None and found.invalid_at is None and at is not None:
            by = _contradicting(one, new)
            held[one.uuid] = HeldInvalidation(one.uuid, at, one.expired_at, by)
            valid[one.uuid] = replace(one, invalid_at=None, expired_at=found.expired_at)
    if len(held) <= most:
        return resolved
    facts = (valid.get(one.uuid, one) for one in resolved.facts)
    changed = tuple(one for one in facts if one != before[one.uuid])
    return replace(resolved, facts=changed, held=tuple(held.values()))


def _contradicting(ended: Fact, new: Iterable[Fact]) -> str:
    """Return the uuid of the new fact that ends another one: Graphiti takes the time of that.

    Of several, that with most entities of the other one; empty: there is none.
    """
    ends = {ended.source, ended.target}
    found = [one for one in new if one.valid_at == ended.invalid_at]
    return max(found, key=lambda one: len(ends & {one.source, one.target})).uuid if found else ""


def not_among(nodes: Iterable[EntityNode], others: Iterable[EntityNode]) -> list[EntityNode]:
    """Return the nodes whose uuids are not among the others', each once."""
    seen = {node.uuid: node for node in others}
    return [node for node in nodes if seen.setdefault(node.uuid, node) is node]


def _merge_entities(copies: Iterable[Entity]) -> list[Entity]:
    merged: dict[str, Entity] = {}
    for copy in copies:
        earlier = merged.get(copy.uuid, copy)
        labels = tuple(sorted({*earlier.labels, *copy.labels}))
        merged[copy.uuid] = replace(copy, labels=labels)
    return list(merged.values())


def _merge_facts(copies: Iterable[Fact]) -> list[Fact]:
    merged: dict[str, Fact] = {}
    for copy in copies:
        earlier = merged.get(copy.uuid, copy)
        turns = tuple(dict.fromkeys((*earlier.turns, *copy.turns)))
        merged[copy.uuid] = replace(
            copy,
            turns=turns,
            invalid_at=copy.invalid_at or earlier.invalid_at,
            expired_at=copy.expired_at or earlier.expired_at,
        )
    return list(merged.values())


def _entity(entity: Entity, before: Entity | None, known: KnownVector, now: datetime) -> Entity:
    if before is None:
        return replace(entity, created_at=now, embedding=known(entity.name))
    return replace(entity, created_at=before.created_at, embedding=before.embedding)


def _fact(fact: Fact, before: Fact | None, known: KnownVector, now: datetime) -> Fact:
    """Return the fact with the run's times: Graphiti uses its own clock to invalidate one."""
    if before is None:
        expired = now if fact.expired_at is not None else None
        return replace(fact, created_at=now, expired_at=expired, embedding=known(fact.text))
    expired = before.expired_at or (now if fact.expired_at is not None else None)
    return replace(fact, expired_at=expired, embedding=before.embedding)


def _by_uuid(items: Iterable[Stored]) -> list[Stored]:
    return sorted(items, key=lambda item: item.uuid)


def _changed(items: Iterable[Stored], before: Callable[[str], Stored | None]) -> tuple[Stored, ...]:
    """Return new and changed items, new ones first, then by uuid.

    The order is that in which a graph returns the items of a turn when it is loaded again.
    """
    changed = [item for item in items if item != before(item.uuid)]
    return tuple(sorted(changed, key=lambda item: (before(item.uuid) is not None, item.uuid)))
