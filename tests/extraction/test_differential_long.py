"""Sixty turns through Graphiti's `add_episode` on a real Neo4j, and through our whole pipeline.

Once with a model that knows doubles by their letters, once with one whose answers hang on every
candidate and on its place. Then the order of equally good candidates, which in Lucene is that of a
heap, may show: in which facts are retired, and in nothing else.
"""

import logging
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.extraction import long_sample_turns, upstream_comparison
from tests.extraction.upstream_comparison import Told, add_episodes, numbered, of_graphiti, upstream
from tests.real import SAMPLES
from tests.servers import canned_responses, order_sensitive_responses
from tests.servers.neo4j_server import Neo4jServer
from tests.servers.provider import Provider
from turnetl.extraction import ontology
from turnetl.extraction.llm import LlmExtractor
from turnetl.extraction.prompt_config import always
from turnetl.graph.port import GraphStore
from turnetl.llm.chat import ChatModel
from turnetl.llm.embedders import WordLlamaEmbedder
from turnetl.model import Episode, GroupContents

pytestmark = pytest.mark.neo4j

TURNS = 60
MOST_RETIRED_OTHERWISE = 0.03


@pytest.fixture(scope="module")
def turns(tmp_path_factory: pytest.TempPathFactory) -> list[Episode]:
    return long_sample_turns.turns(SAMPLES, tmp_path_factory.mktemp("lake"), TURNS)


async def test_doubles_known_by_their_letters_make_the_same_graph(
    neo4j: Neo4jServer, model: ChatModel, provider: Provider, turns: list[Episode], tmp_path: Path
) -> None:
    provider.answers = {**canned_responses.ANSWERS, **order_sensitive_responses.FINDING}
    theirs = await through_add_episode(neo4j, provider, turns)
    async with long_sample_turns.opened(f"ladybug://{tmp_path / 'graph.lbug'}") as store:
        _, ours = await through_ours(store, model, turns, tmp_path)
    assert ours == theirs
    assert ours.facts.total() > 5 * TURNS


async def test_a_model_that_minds_every_candidate_makes_the_same_graph_but_for_some_retirements(
    neo4j: Neo4jServer, model: ChatModel, provider: Provider, turns: list[Episode], tmp_path: Path
) -> None:
    provider.answers = order_sensitive_responses.ANSWERS
    theirs = await through_add_episode(neo4j, provider, turns)
    neo4j.clear()
    async with long_sample_turns.opened(neo4j.url) as store:
        served, ours = await through_ours(store, model, turns, tmp_path / "served")
    async with long_sample_turns.opened(f"ladybug://{tmp_path / 'graph.lbug'}") as store:
        embedded, _ = await through_ours(store, model, turns, tmp_path / "embedded")
    assert (served.entities, served.facts) == (embedded.entities, embedded.facts)
    assert ours.things == theirs.things
    assert ours.mentions == theirs.mentions
    assert ours.standing == theirs.standing
    assert ours.confirmed_otherwise(theirs) == 0
    otherwise = ours.retired_otherwise(theirs)
    share = otherwise / ours.facts.total()
    assert share <= MOST_RETIRED_OTHERWISE, f"{otherwise} of {ours.facts.total()} facts"
    assert sum(fact.expired for fact in ours.facts) > TURNS


async def through_add_episode(
    neo4j: Neo4jServer, provider: Provider, turns: Sequence[Episode]
) -> Told:
    async with upstream(neo4j, provider, WordLlamaEmbedder()) as graphiti:
        keys = await add_episodes(graphiti, turns, ontology.CODING, None)
        return await of_graphiti(graphiti, neo4j, keys)


async def through_ours(
    store: GraphStore, model: ChatModel, turns: Sequence[Episode], folder: Path
) -> tuple[GroupContents, Told]:
    embedder = WordLlamaEmbedder()
    asks = long_sample_turns.Watched(LlmExtractor(model, embedder, steering=always(None)))
    contents = await long_sample_turns.ingested(store, asks, embedder, turns, folder)
    assert not any(one.discarded for one in asks.resolved.values())
    facts, keys = contents.facts, numbered(turns)
    return contents, upstream_comparison.told(contents.entities, facts, asks.mentions, keys)


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> None:
    """Neo4j's driver warns about labels that an empty graph does not have yet."""
    caplog.set_level(logging.ERROR, logger="neo4j")
