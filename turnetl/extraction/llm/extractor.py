"""The extractor that sends turns to a language model, through Graphiti's building blocks.

It takes the steps of Graphiti's `add_episode` in their order, with these differences:

- The steps that depend on the turn alone run ahead (`extract`); the requests for facts may still
  run while the entities are resolved.
- Every read is served from the group in memory (`resolve`).
- A fact without a date is dated from its turn, which saves a request.
- If there are instructions, the stoplist discards meaningless names.
- Keys are digests of the turn and of the names it contains, so that a repeated turn gives the same
  result.
"""

import asyncio
from asyncio import Task
from collections import Counter
from collections.abc import Coroutine, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from turnetl.base import ids
from turnetl.base.ids import RecipeParts
from turnetl.base.model import Episode, GroupId, Usage, Vector
from turnetl.extraction.config import PromptConfig, PromptConfigs
from turnetl.extraction.llm import graphiti_calls, llm_recipe
from turnetl.extraction.llm.clients import CheckedClients
from turnetl.extraction.llm.extract import ChunkEntities, ChunkExtractor, ChunkFacts, SplitText
from turnetl.extraction.llm.graphiti_calls import ExtractionInput
from turnetl.extraction.llm.resolve import (
    ChunkResolver,
    changes_of_chunk,
    changes_of_turn,
    held_back,
)
from turnetl.extraction.ontology import CODING, Ontology
from turnetl.extraction.port import DiscardReason, Resolved
from turnetl.graph.mirror.graphiti_adapters import MirrorDriver
from turnetl.graph.mirror.group import GroupView
from turnetl.graph.mirror.overlay import CandidateIndex, Overlay, OverlayCandidates
from turnetl.llm.chat import ChatModel
from turnetl.llm.embedders import Embedder
from turnetl.llm.graphiti import GraphitiEmbedder


@dataclass(frozen=True, slots=True)
class ExtractedChunk:
    """The extracted content of one chunk of a turn. Does not depend on the group."""

    source: ExtractionInput
    entities: ChunkEntities
    vectors: Mapping[str, Vector]
    """Embeddings of the entity names."""
    facts: Task[tuple[ChunkFacts, Mapping[str, Vector]]]
    """The facts about the entities with their embeddings; the task may still be running."""


@dataclass(frozen=True, slots=True)
class ExtractedTurn:
    chunks: tuple[ExtractedChunk, ...]


class LlmExtractor:
    """Extracts entities and facts with a language model and resolves them in the group."""

    name = "llm"

    def __init__(
        self,
        model: ChatModel,
        embedder: Embedder,
        *,
        prompts: PromptConfigs,
        ontology: Ontology = CODING,
        split_text: SplitText | None = None,
        parameters: str = "",
        most_ended: int | None = None,
    ) -> None:
        """Make an extractor for any number of groups, whose vectors are those of the embedder.

        Args:
            split_text: splits a chunk that is too long for the model; None quarantines its turn.
            most_ended: facts that a turn may end; of one that would end more, they are held. None:
                any number.
        """
        self._model = model
        self._embedder = embedder
        self._prompts = prompts
        self._ontology = ontology
        self._parameters = parameters
        self._most_ended = most_ended
        graphiti_calls.cache_forms_of_names()
        graphiti_calls.route_graphiti_log()
        self._chunk_extractor = ChunkExtractor(
            model, GraphitiEmbedder(embedder), ontology, split_text
        )
        self._background = BackgroundTasks()
        self._candidates: WeakKeyDictionary[GroupView, CandidateIndex] = WeakKeyDictionary()

    @property
    def model(self) -> str:
        return self._model.name

    def recipe_parts(self, group: GroupId, kind: str = "") -> RecipeParts:
        prompts = self._prompts.for_turn(group, kind)
        return llm_recipe(self._model.name, self._parameters, prompts, self._ontology)

    async def close(self) -> None:
        """Cancel background tasks and close the model's connections. Safe to repeat."""
        await self._background.cancel()
        await self._model.close()

    async def extract(
        self,
        episode: Episode,
        context: Sequence[Episode],
        known: Sequence[str] | None = None,
    ) -> ExtractedTurn:
        """Return the entities of the turn; the requests for its facts may still be running.

        `known` facts of the turn are shown to the model, so that it adds others.
        """
        config = self._prompts.for_turn(episode.turn.group_id, episode.kind)
        inputs = _inputs(episode, context, known, full_context=config.instructions is None)
        with graphiti_calls.logged_by_turnetl():
            chunks = [await self._extract_chunk(source, config) for source in inputs]
        return ExtractedTurn(tuple(chunks))

    async def resolve(
        self,
        episode: Episode,
        extracted: ExtractedTurn,
        group: GroupView,
        *,
        now: datetime,
    ) -> Resolved:
        config = self._prompts.for_turn(episode.turn.group_id, episode.kind)
        with graphiti_calls.logged_by_turnetl():
            resolved = await self._resolve(extracted, group, now, is_compact=config.is_compact)
        if self._most_ended is None:
            return resolved
        return held_back(resolved, group, self._most_ended)

    async def _resolve(
        self, extracted: ExtractedTurn, group: GroupView, now: datetime, *, is_compact: bool
    ) -> Resolved:
        embedder = GraphitiEmbedder(self._embedder)
        overlay = Overlay(group)
        candidates = OverlayCandidates(overlay, self._candidates_of)
        mentions, contents = [], []
        usage, discarded = Usage(), Counter[DiscardReason]()
        for chunk in extracted.chunks:
            driver = MirrorDriver.for_group(overlay, candidates, embedder.remember)
            clients = partial(CheckedClients, self._model, embedder, driver, is_compact=is_compact)
            resolver = ChunkResolver(clients, self._ontology, chunk.source, is_compact)
            try:
                _remember(embedder, chunk.vectors)
                nodes, keys = await resolver.resolve_entities(chunk.entities.entities)
                # Shielded: a resolution that is given up must not end what the next one needs.
                facts, vectors = await asyncio.shield(chunk.facts)
                _remember(embedder, vectors)
                nodes, edges = await resolver.resolve_facts(facts, nodes, keys)
            finally:
                driver.release()
            resolved = changes_of_chunk(nodes, edges, overlay, known=embedder.known, now=now)
            await _apply(overlay, resolved, embedder)
            mentions.append(resolved.mentions)
            contents.append((chunk.entities, facts))
            usage += chunk.entities.usage + facts.usage + resolver.usage
            discarded += resolver.discarded
        discarded += _discarded(contents)
        return replace(changes_of_turn(overlay, mentions), usage=usage, discarded=discarded)

    async def _extract_chunk(self, source: ExtractionInput, config: PromptConfig) -> ExtractedChunk:
        entities = await self._chunk_extractor.extract_entities(source, config)
        facts = self._background.start(self._extract_facts(source, entities, config))
        vectors = await self._vectors(entity.name for entity in entities.entities)
        return ExtractedChunk(source, entities, vectors, facts)

    async def _extract_facts(
        self, source: ExtractionInput, entities: ChunkEntities, config: PromptConfig
    ) -> tuple[ChunkFacts, Mapping[str, Vector]]:
        facts = await self._chunk_extractor.extract_facts(source, entities.entities, config)
        names = [endpoint.name for endpoint in facts.endpoints]
        texts = [*names, *(fact.text for fact in facts.facts)]
        return facts, await self._vectors(texts)

    async def _vectors(self, texts: Iterable[str]) -> Mapping[str, Vector]:
        unique = list(dict.fromkeys(texts))
        vectors = await self._embedder.embed(unique) if unique else ()
        return dict(zip(unique, vectors, strict=True))

    def _candidates_of(self, group: GroupView) -> CandidateIndex:
        found = self._candidates.get(group)
        if found is None:
            found = self._candidates[group] = (
                OverlayCandidates(group, self._candidates_of)
                if isinstance(group, Overlay)
                else CandidateIndex(group)
            )
        return found


def _inputs(
    episode: Episode,
    context: Sequence[Episode],
    known: Sequence[str] | None,
    *,
    full_context: bool,
) -> Iterator[ExtractionInput]:
    for number, node in enumerate(graphiti_calls.chunk_nodes(episode)):
        previous = graphiti_calls.previous_turns(episode, number, context, full=full_context)
        yield ExtractionInput(node, previous, ids.chunk_id(episode.turn_id, number), known)


def _remember(embedder: GraphitiEmbedder, vectors: Mapping[str, Vector]) -> None:
    for text, vector in vectors.items():
        embedder.remember(text, vector)


def _discarded(contents: Iterable[tuple[ChunkEntities, ChunkFacts]]) -> Counter[DiscardReason]:
    """Return the number of discarded names, each counted once, and of facts, by reason."""
    reasons: dict[str, DiscardReason] = {}
    fact_count = 0
    for entities, facts in contents:
        reasons |= {**entities.discarded, **facts.discarded}
        fact_count += facts.discarded_facts
    return Counter(reasons.values()) + Counter({DiscardReason.FACTS: fact_count})


async def _apply(overlay: Overlay, resolved: Resolved, embedder: GraphitiEmbedder) -> None:
    """Apply the result of a chunk to the overlay; embed the texts that have no vector yet."""
    names = [entity.name for entity in resolved.entities if entity.embedding is None]
    texts = [fact.text for fact in resolved.facts if fact.embedding is None]
    if names or texts:
        await embedder.create_batch([*names, *texts])
    overlay.add(
        (
            replace(entity, embedding=entity.embedding or embedder.known(entity.name))
            for entity in resolved.entities
        ),
        (
            replace(fact, embedding=fact.embedding or embedder.known(fact.text))
            for fact in resolved.facts
        ),
    )


Result = TypeVar("Result")


class BackgroundTasks:
    """Tasks of an extractor that start early and are awaited where their result is needed.

    One whose result is no longer needed runs on: it is paid for, and the journal stores its
    response.
    """

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    def start(self, work: Coroutine[Any, Any, Result]) -> asyncio.Task[Result]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    async def cancel(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        # Reads the exception, because asyncio logs one that is never retrieved.
        if not task.cancelled():
            task.exception()
