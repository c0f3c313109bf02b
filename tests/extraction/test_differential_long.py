"""Sixty turns through Graphiti's `add_episode` on Neo4j, and through turnetl's whole pipeline.

Once with a model that resolves duplicates by name, once with one whose responses depend on every
candidate and its position. Only with the second model can the order of equally good candidates,
which in Lucene is that of a heap, have an effect: on the invalidated facts, and on nothing else.

What `add_episode` makes is stored; tests/extraction/test_upstream_results.py computes it again.
"""

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.extraction import long_sample_turns, upstream_comparison, upstream_results
from tests.extraction.fixed_prompt import fixed_prompt
from tests.extraction.upstream_comparison import ComparableGraph, turn_numbers
from tests.servers.neo4j_server import Neo4jServer
from tests.servers.provider import FakeProvider
from turnetl.extraction.llm import LlmExtractor
from turnetl.graph.port import GraphStore
from turnetl.graph_model import GroupContents
from turnetl.llm.chat import ChatModel
from turnetl.llm.embedders import WordLlamaEmbedder
from turnetl.model import Episode

MAX_INVALIDATED_DIFFERENTLY = 0.03


async def test_duplicates_resolved_by_name_make_the_same_graph(
    model: ChatModel, provider: FakeProvider, long_sample: list[Episode], tmp_path: Path
) -> None:
    provider.responders = upstream_results.MODELS["resolves_by_name"]
    async with long_sample_turns.open_store(f"ladybug://{tmp_path / 'graph.lbug'}") as store:
        _, ours = await ingest(store, model, long_sample, tmp_path)
    assert ours == upstream_results.load("resolves_by_name", long_sample)
    assert ours.facts.total() > 5 * len(long_sample)


@pytest.mark.neo4j
async def test_responses_that_depend_on_every_candidate_change_only_some_invalidations(
    neo4j: Neo4jServer,
    model: ChatModel,
    provider: FakeProvider,
    long_sample: list[Episode],
    tmp_path: Path,
) -> None:
    provider.responders = upstream_results.MODELS["depends_on_candidates"]
    async with long_sample_turns.open_store(neo4j.url) as store:
        server, ours = await ingest(store, model, long_sample, tmp_path / "server")
    async with long_sample_turns.open_store(f"ladybug://{tmp_path / 'graph.lbug'}") as store:
        embedded, _ = await ingest(store, model, long_sample, tmp_path / "embedded")
    assert (server.entities, server.facts) == (embedded.entities, embedded.facts)
    assert_same_except_some_invalidations(
        ours, upstream_results.load("depends_on_candidates", long_sample)
    )
    assert sum(fact.expired for fact in ours.facts) > len(long_sample)


def assert_same_except_some_invalidations(ours: ComparableGraph, theirs: ComparableGraph) -> None:
    assert ours.entities == theirs.entities
    assert ours.mentions == theirs.mentions
    assert ours.facts_as_first_stated == theirs.facts_as_first_stated
    assert ours.confirmed_differently(theirs) == 0
    different = ours.invalidated_differently(theirs)
    share = different / ours.facts.total()
    assert share <= MAX_INVALIDATED_DIFFERENTLY, f"{different} of {ours.facts.total()} facts"


async def ingest(
    store: GraphStore, model: ChatModel, turns: Sequence[Episode], folder: Path
) -> tuple[GroupContents, ComparableGraph]:
    embedder = WordLlamaEmbedder()
    extractor = long_sample_turns.RecordingExtractor(
        LlmExtractor(model, embedder, prompts=fixed_prompt(None))
    )
    contents = await long_sample_turns.ingest(store, extractor, embedder, turns, folder)
    assert not any(resolved.discarded for resolved in extractor.resolved.values())
    numbers = turn_numbers(turns)
    graph = upstream_comparison.comparable(
        contents.entities, contents.facts, extractor.mentions, numbers
    )
    return contents, graph
