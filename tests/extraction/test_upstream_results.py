"""The stored graphs of `add_episode` are what the pinned Graphiti makes. Only `make test-full`."""

import pytest

from tests.extraction import upstream_results
from tests.extraction.test_differential_long import assert_same_except_some_invalidations
from tests.extraction.upstream_comparison import UNSIGNED, add_episodes, open_graphiti, read_graph
from tests.servers.neo4j_server import Neo4jServer
from tests.servers.provider import FakeProvider
from turnetl.base.model import Episode
from turnetl.llm.embedders.static_model import WordLlamaEmbedder

pytestmark = [pytest.mark.full, pytest.mark.neo4j]


@pytest.mark.parametrize("name", upstream_results.MODELS)
async def test_add_episode_makes_the_stored_graph(
    name: str,
    neo4j: Neo4jServer,
    provider: FakeProvider,
    long_sample: list[Episode],
    request: pytest.FixtureRequest,
) -> None:
    provider.responders = upstream_results.MODELS[name]
    async with open_graphiti(neo4j, provider, WordLlamaEmbedder()) as graphiti:
        numbers = await add_episodes(graphiti, long_sample, UNSIGNED, None)
        computed = await read_graph(graphiti, neo4j, numbers)
    if request.config.getoption("rewrite_upstream"):
        upstream_results.save(name, long_sample, computed)
    stored = upstream_results.load(name, long_sample)
    if name == "depends_on_candidates":
        assert_same_except_some_invalidations(stored, computed)
    else:
        assert stored == computed
