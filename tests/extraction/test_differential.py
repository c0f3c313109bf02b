"""The same turns through Graphiti's `add_episode` on a real Neo4j, and through our extractor."""

import logging
from collections.abc import AsyncIterator, Sequence

import pytest
from graphiti_core import Graphiti

from tests.extraction import sample_turns, upstream_comparison
from tests.extraction.upstream_comparison import Told, add_episodes, bodies, fields_of, upstream
from tests.servers.neo4j_server import Neo4jServer
from tests.servers.provider import Provider
from tests.servers.toy_embedder import ToyEmbedder
from turnetl.extraction import ontology
from turnetl.extraction.llm import LlmExtractor
from turnetl.extraction.prompt_config import always
from turnetl.llm.chat import ChatModel
from turnetl.model import Episode

pytestmark = pytest.mark.neo4j


@pytest.fixture
async def graphiti(
    neo4j: Neo4jServer, provider: Provider, embedder: ToyEmbedder
) -> AsyncIterator[Graphiti]:
    async with upstream(neo4j, provider, embedder) as theirs:
        yield theirs


async def test_the_same_answers_make_the_same_graph(
    graphiti: Graphiti, neo4j: Neo4jServer, model: ChatModel, embedder: ToyEmbedder
) -> None:
    turns = sample_turns.episodes()
    keys = await add_episodes(graphiti, turns, ontology.CODING, "Look closely.")
    asks = LlmExtractor(model, embedder, steering=always("Look closely."))
    ours = await told(asks, embedder)
    assert ours == await upstream_comparison.of_graphiti(graphiti, neo4j, keys)
    assert any(fact.expired for fact in ours.facts)


async def test_without_preprocessing_every_request_is_graphitis_own(
    graphiti: Graphiti, model: ChatModel, embedder: ToyEmbedder, provider: Provider
) -> None:
    """All but the one that asks when a fact was true: ours has the turn's time."""
    turns = sample_turns.episodes([*sample_turns.SAID, *much_of_one_thing()])
    await add_episodes(graphiti, turns, ontology.NONE, None)
    dating = {"valid_at", "invalid_at"}
    upstream = [asked for asked in provider.asked if fields_of(asked) != dating]
    provider.asked.clear()
    asks = LlmExtractor(model, embedder, steering=always(None), ontology=ontology.NONE)
    await told(asks, embedder, turns)
    assert bodies(provider.asked) == bodies(upstream)
    assert {field for asked in upstream for field in fields_of(asked)} == {
        "extracted_entities",
        "edges",
        "entity_resolutions",
        "duplicate_facts",
        "contradicted_facts",
        "summaries",
    }


def much_of_one_thing() -> list[str]:
    """Turns that say so much of a thing that it must be summarised; each as long as no other."""
    names = (
        " ".join(f"piece{number}of{place}" for place in range(18 + number)) for number in range(9)
    )
    return [f"`cart.py` uses `{name}`." for name in names]


async def test_a_turn_costs_no_more_calls_than_with_graphiti(
    graphiti: Graphiti, model: ChatModel, embedder: ToyEmbedder, provider: Provider
) -> None:
    await add_episodes(graphiti, sample_turns.episodes(), ontology.CODING, None)
    upstream = len(provider.asked)
    provider.asked.clear()
    await told(LlmExtractor(model, embedder, steering=always(None)), embedder)
    assert len(provider.asked) < upstream


async def told(asks: LlmExtractor, embedder: ToyEmbedder, episodes: Sequence[Episode] = ()) -> Told:
    """Put the story through ours."""
    turns, group = list(episodes) or sample_turns.episodes(), sample_turns.empty_group()
    results = await sample_turns.take_in(asks, turns, group, embedder)
    pairs = [
        (turn.turn_id, thing)
        for turn, result in zip(turns, results, strict=True)
        for thing in result.mentions
    ]
    assert not any(result.discarded for result in results)
    return upstream_comparison.told(
        group.entities, group.facts, pairs, upstream_comparison.numbered(turns)
    )


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> None:
    """Neo4j's driver warns about labels that an empty graph does not have yet."""
    caplog.set_level(logging.ERROR, logger="neo4j")
