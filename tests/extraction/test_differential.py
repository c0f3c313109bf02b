"""The same turns through Graphiti's `add_episode` on Neo4j, and through turnetl's extractor."""

from collections.abc import AsyncIterator, Sequence

import pytest
from graphiti_core import Graphiti

from tests.extraction import sample_turns, upstream_comparison
from tests.extraction.fixed_prompt import fixed_prompt
from tests.extraction.upstream_comparison import (
    UNSIGNED,
    ComparableGraph,
    add_episodes,
    open_graphiti,
    request_bodies,
    response_fields,
)
from tests.servers.neo4j_server import Neo4jServer
from tests.servers.provider import FakeProvider
from tests.servers.toy_embedder import ToyEmbedder
from turnetl.base.model import Episode
from turnetl.extraction import ontology
from turnetl.extraction.llm import LlmExtractor
from turnetl.llm.chat import ChatModel

pytestmark = pytest.mark.neo4j


@pytest.fixture
async def graphiti(
    neo4j: Neo4jServer, provider: FakeProvider, embedder: ToyEmbedder
) -> AsyncIterator[Graphiti]:
    async with open_graphiti(neo4j, provider, embedder) as graphiti:
        yield graphiti


async def test_the_same_responses_make_the_same_graph(
    graphiti: Graphiti, neo4j: Neo4jServer, model: ChatModel, embedder: ToyEmbedder
) -> None:
    turns = sample_turns.episodes()
    numbers = await add_episodes(graphiti, turns, UNSIGNED, "Look closely.")
    extractor = LlmExtractor(
        model, embedder, prompts=fixed_prompt("Look closely."), ontology=UNSIGNED
    )
    ours = await ingest(extractor, embedder)
    upstream = await upstream_comparison.read_graph(graphiti, neo4j, numbers)
    assert ours.without_summaries == upstream.without_summaries
    assert any(fact.expired for fact in ours.facts)


async def test_without_preprocessing_every_request_is_graphitis_own(
    graphiti: Graphiti, model: ChatModel, embedder: ToyEmbedder, provider: FakeProvider
) -> None:
    """But for the dates of a fact, the turn's, for summaries, and for limits of a response."""
    turns = sample_turns.episodes()
    await add_episodes(graphiti, turns, ontology.NO_ONTOLOGY, None)
    own = ({"valid_at", "invalid_at"}, {"summaries"})
    upstream = [request for request in provider.requests if response_fields(request) not in own]
    provider.requests.clear()
    extractor = LlmExtractor(
        model, embedder, prompts=fixed_prompt(None), ontology=ontology.NO_ONTOLOGY
    )
    await ingest(extractor, embedder, turns)
    assert request_bodies(provider.requests) == request_bodies(upstream)
    assert {field for request in upstream for field in response_fields(request)} == {
        "extracted_entities",
        "edges",
        "entity_resolutions",
        "duplicate_facts",
        "contradicted_facts",
    }


async def test_a_turn_costs_no_more_requests_than_with_graphiti(
    graphiti: Graphiti, model: ChatModel, embedder: ToyEmbedder, provider: FakeProvider
) -> None:
    await add_episodes(graphiti, sample_turns.episodes(), UNSIGNED, None)
    upstream = len(provider.requests)
    provider.requests.clear()
    await ingest(LlmExtractor(model, embedder, prompts=fixed_prompt(None)), embedder)
    assert len(provider.requests) < upstream


async def ingest(
    extractor: LlmExtractor, embedder: ToyEmbedder, episodes: Sequence[Episode] = ()
) -> ComparableGraph:
    """Put the turns, by default the sample turns, through turnetl's extractor."""
    turns, group = list(episodes) or sample_turns.episodes(), sample_turns.empty_group()
    results = await sample_turns.ingest(extractor, turns, group, embedder)
    mentions = [
        (turn.turn_id, entity)
        for turn, result in zip(turns, results, strict=True)
        for entity in result.mentions
    ]
    assert not any(result.discarded for result in results)
    return upstream_comparison.comparable(
        group.entities, group.facts, mentions, upstream_comparison.turn_numbers(turns)
    )
