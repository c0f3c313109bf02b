"""Extracts entities and facts from one chunk of a turn.

Nothing here depends on the group, so it may run ahead of earlier turns.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from graphiti_core.edges import EntityEdge

from turnetl.base import ids
from turnetl.base.errors import TooLong
from turnetl.base.model import Entity, Fact, TurnId, Usage
from turnetl.extraction.discard_reasons import DiscardReason
from turnetl.extraction.llm import reflexion
from turnetl.extraction.llm.graphiti_calls import (
    ExtractedEdges,
    ExtractionInput,
    GraphitiCalls,
    Result,
)
from turnetl.extraction.llm.postprocess import (
    apply_stoplist,
    keep_meaningful,
    merge_edges,
    merge_nodes,
    not_extracted,
    reattach,
)
from turnetl.extraction.ontology import Ontology
from turnetl.extraction.prompt_config import PromptConfig
from turnetl.graph.mirror import convert
from turnetl.llm.chat import ChatModel
from turnetl.llm.graphiti import GraphitiEmbedder

SplitText = Callable[[str], Sequence[str]]
"""Splits a text in two at a natural break; returns one piece if that is not possible."""

_MIN_SPLIT_LENGTH = 400
"""Characters: a shorter text that does not fit does not fit after a split either."""


@dataclass(frozen=True, slots=True)
class ChunkEntities:
    """The entities of a chunk."""

    entities: tuple[Entity, ...]
    discarded: Mapping[str, DiscardReason]
    """Reason by the key that the entity would have."""
    usage: Usage


@dataclass(frozen=True, slots=True)
class ChunkFacts:
    """The facts of a chunk."""

    facts: tuple[Fact, ...]
    endpoints: tuple[Entity, ...]
    """Entities that only facts name."""
    discarded: Mapping[str, DiscardReason]
    """Discarded endpoints, as in `ChunkEntities`."""
    discarded_facts: int
    """Number of facts discarded because one of their entities was."""
    usage: Usage


class ChunkExtractor:
    """Extracts the chunks of turns."""

    def __init__(
        self,
        model: ChatModel,
        embedder: GraphitiEmbedder,
        ontology: Ontology,
        split_text: SplitText | None,
    ) -> None:
        """Make an extractor for any number of chunks, also concurrently.

        Args:
            model: receives the requests.
            embedder: passed to Graphiti, which does not use it here.
            ontology: entity types and relations to extract.
            split_text: splits chunks that do not fit; None quarantines their turns.
        """
        self._model = model
        self._embedder = embedder
        self._ontology = ontology
        self._split_text = split_text

    async def extract_entities(
        self, source: ExtractionInput, config: PromptConfig
    ) -> ChunkEntities:
        """Return the entities of the chunk, each once, including those of reflexion passes.

        Raises:
            BadTurn: the chunk cannot be extracted; carries the usage up to the error.
        """
        calls = self._calls(config)
        extract = partial(calls.entities, instructions=config.instructions)
        nodes = await self._split_if_needed(source, extract)
        previous_hints: set[str] = set()
        for _ in range(config.reflexion):
            find_missed = partial(calls.missed_entities, nodes=nodes)
            missed = await self._split_if_needed(source, find_missed)
            if config.instructions is not None:
                missed = keep_meaningful(missed)
            if not (new := _new_hints(missed, previous_hints)):
                break
            hints = config.with_hints(reflexion.entity_hints(new))
            extract = partial(calls.entities, instructions=hints)
            added_nodes = await self._split_if_needed(source, extract)
            nodes = merge_nodes(nodes, added_nodes)
        kept, discarded = apply_stoplist(
            merge_nodes([], nodes), is_enabled=config.instructions is not None
        )
        return ChunkEntities(tuple(map(convert.from_node, kept)), discarded, calls.usage)

    async def extract_facts(
        self, source: ExtractionInput, entities: Sequence[Entity], config: PromptConfig
    ) -> ChunkFacts:
        """Return the facts of the chunk about its entities, each once.

        Raises:
            BadTurn: the chunk cannot be extracted; carries the usage up to the error.
        """
        calls = self._calls(config)
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
        endpoints, discarded = apply_stoplist(
            not_extracted(endpoints, entities), is_enabled=config.instructions is not None
        )
        kept = reattach(edges, [*map(convert.to_node, entities), *endpoints])
        facts = {fact.uuid: fact for fact in (_keyed(source, edge) for edge in kept)}
        return ChunkFacts(
            facts=tuple(facts.values()),
            endpoints=tuple(map(convert.from_node, endpoints)),
            discarded=discarded,
            discarded_facts=len(edges) - len(kept),
            usage=calls.usage,
        )

    def _calls(self, config: PromptConfig) -> GraphitiCalls:
        return GraphitiCalls(
            self._model, self._embedder, self._ontology, is_compact=config.is_compact
        )

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
            pieces = self._split_text(text) if self._split_text and is_long else ()
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
