"""Extracts entities and facts from one chunk of a turn.

Nothing here depends on the group, so it may run ahead of earlier turns.
"""

import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from graphiti_core.edges import EntityEdge
from graphiti_core.nodes import EntityNode

from turnetl.base import ids
from turnetl.base.errors import TooLong
from turnetl.base.model import Entity, Fact, TurnId, Usage
from turnetl.extraction import stoplist
from turnetl.extraction.config import PromptConfig
from turnetl.extraction.llm import reflexion, short_prompts
from turnetl.extraction.llm.clients import CheckedClients
from turnetl.extraction.llm.graphiti_calls import (
    ExtractedEdges,
    ExtractionInput,
    GraphitiCalls,
    Result,
)
from turnetl.extraction.ontology import Ontology
from turnetl.extraction.port import DiscardReason
from turnetl.graph.mirror import convert
from turnetl.graph.mirror.graphiti_adapters import MirrorDriver
from turnetl.llm.chat import ChatModel
from turnetl.llm.graphiti import GraphitiEmbedder

SplitText = Callable[[str], Sequence[str]]
"""Splits a text in two at a natural break; returns one piece if that is not possible."""

_MIN_SPLIT_LENGTH = 400
"""Characters: a shorter text that does not fit does not fit after a split either."""


@dataclass(frozen=True, slots=True)
class ChunkEntities:
    entities: tuple[Entity, ...]
    discarded: Mapping[str, DiscardReason]
    """Reason by the key that the entity would have."""
    usage: Usage


@dataclass(frozen=True, slots=True)
class ChunkFacts:
    facts: tuple[Fact, ...]
    endpoints: tuple[Entity, ...]
    """Entities that only facts name."""
    discarded: Mapping[str, DiscardReason]
    """Discarded endpoints, as in `ChunkEntities`."""
    discarded_facts: int
    """Number of facts discarded because one of their entities was."""
    usage: Usage


@dataclass(frozen=True, slots=True)
class ChunkExtractor:
    """Extracts any number of chunks of turns, also concurrently."""

    model: ChatModel
    embedder: GraphitiEmbedder
    """Graphiti takes it and does not use it here."""
    ontology: Ontology
    split_text: SplitText | None
    """Splits chunks that do not fit; None quarantines their turns."""

    async def extract_entities(
        self, source: ExtractionInput, config: PromptConfig
    ) -> ChunkEntities:
        """Return the entities of the chunk, each once, including those of reflexion passes.

        A BadTurn carries the usage up to the error.
        """
        calls = self._calls(config)
        extract = partial(calls.entities, instructions=config.instructions)
        nodes = await self._split_if_needed(source, extract)
        previous_hints: set[str] = set()
        for _ in range(config.reflexion):
            find_missed = partial(calls.missed_entities, nodes=nodes)
            missed = await self._split_if_needed(source, find_missed)
            if config.style != "graphiti":
                missed = keep_meaningful(missed)
            if not (new := _new_hints(missed, previous_hints)):
                break
            hints = config.with_hints(reflexion.entity_hints(new))
            extract = partial(calls.entities, instructions=hints)
            added_nodes = await self._split_if_needed(source, extract)
            nodes = merge_nodes(nodes, added_nodes)
        kept, discarded = self._meaningful(source, merge_nodes([], nodes), config)
        return ChunkEntities(tuple(map(convert.from_node, kept)), discarded, calls.usage)

    async def extract_facts(
        self, source: ExtractionInput, entities: Sequence[Entity], config: PromptConfig
    ) -> ChunkFacts:
        """Return the facts of the chunk about its entities, each once; raises as for entities."""
        calls = self._calls(config)
        if source.known is not None and config.style != "graphiti":
            parts = config.instructions, reflexion.known_facts(source.known)
            config = replace(config, instructions="\n\n".join(filter(None, parts)))
        edges, endpoints = await self._facts(calls, source, entities, config.instructions)
        previous_hints: set[str] = set()
        for _ in range(config.reflexion):
            find_missed = partial(calls.missed_facts, entities=entities, edges=edges)
            missed = await self._split_if_needed(source, find_missed)
            if not (new := _new_hints(missed, previous_hints)):
                break
            hints = config.with_hints(reflexion.fact_hints(new))
            added_edges, added_nodes = await self._facts(calls, source, entities, hints)
            edges, endpoints = merge_edges(edges, added_edges), merge_nodes(endpoints, added_nodes)
        extracted = {entity.uuid for entity in entities}
        added = [node for node in endpoints if node.uuid not in extracted]
        endpoints, discarded = self._meaningful(source, added, config)
        kept = reattach(edges, [*map(convert.to_node, entities), *endpoints])
        facts = {fact.uuid: fact for fact in (_keyed(source, edge) for edge in kept)}
        if config.style == "short":
            known = [*entities, *map(convert.from_node, endpoints)]
            names = {entity.uuid: entity.name for entity in known}
            copied = short_prompts.copied_facts(facts.values(), names)
            facts = {uuid: fact for uuid, fact in facts.items() if uuid not in copied}
            discarded = {**discarded, **dict.fromkeys(copied, DiscardReason.COPIED)}
        return ChunkFacts(
            facts=tuple(facts.values()),
            endpoints=tuple(map(convert.from_node, endpoints)),
            discarded=discarded,
            discarded_facts=len(edges) - len(kept),
            usage=calls.usage,
        )

    def _meaningful(
        self, source: ExtractionInput, nodes: Sequence[EntityNode], config: PromptConfig
    ) -> tuple[list[EntityNode], Mapping[str, DiscardReason]]:
        """Return the entities to keep, and by uuid the reasons why the others are discarded."""
        kept, discarded = apply_stoplist(nodes, is_enabled=config.style != "graphiti")
        if config.style != "short":
            return kept, discarded
        types = self.ontology.entity_types or ()
        copied = short_prompts.copied_entities(kept, source.episode.content, types)
        reasons = dict.fromkeys(copied, DiscardReason.COPIED)
        return [node for node in kept if node.uuid not in copied], {**discarded, **reasons}

    def _calls(self, config: PromptConfig) -> GraphitiCalls:
        def clients() -> CheckedClients:
            driver = MirrorDriver()
            return CheckedClients(self.model, self.embedder, driver, style=config.style)

        return GraphitiCalls(clients, self.ontology)

    async def _facts(
        self,
        calls: GraphitiCalls,
        source: ExtractionInput,
        entities: Sequence[Entity],
        instructions: str | None,
    ) -> ExtractedEdges:
        async def extract(piece: ExtractionInput) -> list[ExtractedEdges]:
            nodes = [convert.to_node(entity) for entity in entities]
            return [await calls.facts(piece, nodes, instructions)]

        results = await self._split_if_needed(source, extract)
        edges = [edge for piece_edges, _ in results for edge in piece_edges]
        return edges, merge_nodes([], (node for _, endpoints in results for node in endpoints))

    async def _split_if_needed(
        self,
        source: ExtractionInput,
        call: Callable[[ExtractionInput], Awaitable[list[Result]]],
    ) -> list[Result]:
        """Call with the whole input; if it is too long, with its halves, one after the other."""
        try:
            return await call(source)
        except TooLong:
            text = source.episode.content
            is_long = len(text) > _MIN_SPLIT_LENGTH
            pieces = self.split_text(text) if self.split_text and is_long else ()
            if len(pieces) < 2 or max(map(len, pieces)) >= len(text):  # noqa: PLR2004 - two halves
                raise
        results = []
        for index, piece in enumerate(pieces):
            results += await self._split_if_needed(source.piece(piece, pieces[:index]), call)
        return results


def _new_hints(missed: Iterable[str], previous_hints: set[str]) -> list[str]:
    """Return the new hints and remember them: a repeated hint repeats the same request."""
    new = [hint for hint in dict.fromkeys(missed) if hint not in previous_hints]
    previous_hints.update(new)
    return new


def _keyed(source: ExtractionInput, edge: EntityEdge) -> Fact:
    # The key is of the chunk; resolution finds a fact that two chunks of a turn state.
    statement = edge.source_node_uuid, edge.name, edge.target_node_uuid
    edge.uuid = ids.fact_id(TurnId(source.key), *statement, edge.fact)
    return convert.from_edge(edge)


def merge_nodes(earlier: Iterable[EntityNode], later: Iterable[EntityNode]) -> list[EntityNode]:
    """Return the nodes of both, each once: the later version, unless it lost its label."""
    nodes = {node.uuid: node for node in earlier}
    for node in later:
        known = nodes.get(node.uuid)
        if known is None or len(node.labels) >= len(known.labels):
            nodes[node.uuid] = node
    return list(nodes.values())


def merge_edges(earlier: list[EntityEdge], later: list[EntityEdge]) -> list[EntityEdge]:
    """Return the edges of both; for the same entities and relation only the later ones.

    The model repeats most facts, rarely in the same words. If it states fewer facts of a relation
    than before, it omitted some: then both are kept.
    """
    earlier_counts = Counter(map(_relation_key, earlier))
    later_counts = Counter(map(_relation_key, later))
    kept = [
        edge
        for edge in earlier
        if later_counts[_relation_key(edge)] < earlier_counts[_relation_key(edge)]
    ]
    return [*kept, *later]


def _relation_key(edge: EntityEdge) -> tuple[str, str, str]:
    return edge.source_node_uuid, edge.name, edge.target_node_uuid


def apply_stoplist(
    nodes: Sequence[EntityNode], *, is_enabled: bool
) -> tuple[list[EntityNode], Mapping[str, DiscardReason]]:
    """Return the kept nodes, and by uuid the reasons why the others are discarded.

    Disabled if there are no instructions: then the graph is the same as Graphiti's.
    """
    if not is_enabled:
        return list(nodes), {}
    reasons = stoplist.reasons([node.name for node in nodes])
    pairs = [
        (node, None if _is_named_so(node, reason) else reason)
        for node, reason in zip(nodes, reasons, strict=True)
    ]
    kept = [node for node, reason in pairs if reason is None]
    return kept, {node.uuid: reason for node, reason in pairs if reason is not None}


def _is_named_so(node: EntityNode, reason: DiscardReason | None) -> bool:
    """Return whether its type has such names: the user who wishes or reports, a commit."""
    if reason is DiscardReason.HASH:
        return "Commit" in node.labels
    return reason is DiscardReason.GENERIC_WORD and "User" in node.labels and node.name == "user"


def reattach(edges: Iterable[EntityEdge], nodes: Iterable[EntityNode]) -> list[EntityEdge]:
    """Return the edges between kept nodes; one that lost an endpoint is attached to another node.

    The other node is the one with the longest name that the edge's sentence contains: "the user
    wants the cart to use sqlite" is about the cart. Without such a node the edge is discarded.
    """
    names = {node.uuid: node.name.casefold() for node in nodes}
    longest_first = dict(sorted(names.items(), key=lambda item: (-len(item[1]), item[0])))
    return [kept for edge in edges if (kept := _with_known_endpoints(edge, longest_first))]


def keep_meaningful(names: list[str]) -> list[str]:
    reasons = stoplist.reasons(names)
    return [name for name, reason in zip(names, reasons, strict=True) if reason is None]


def _with_known_endpoints(edge: EntityEdge, names: Mapping[str, str]) -> EntityEdge | None:
    """Return the edge with two known endpoints, or None. `names`: by uuid, longest first."""
    source, target = edge.source_node_uuid, edge.target_node_uuid
    if source in names and target in names:
        return edge
    known_end = source if source in names else target
    if known_end not in names:
        return None
    sentence = edge.fact.casefold()
    mentioned = (
        uuid for uuid, name in names.items() if uuid != known_end and _contains(sentence, name)
    )
    replacement = next(mentioned, None)
    if replacement is None:
        return None
    lost_end = "target_node_uuid" if known_end == source else "source_node_uuid"
    return edge.model_copy(update={lost_end: replacement})


def _contains(sentence: str, name: str) -> bool:
    """Whether the sentence contains the name as a whole word: "good" does not contain `go`."""
    # ASCII only: in a script without spaces, letters next to a name do not extend it.
    whole_word = rf"(?<!\w){re.escape(name)}(?!\w)"
    return name in sentence and re.search(whole_word, sentence, re.ASCII) is not None
