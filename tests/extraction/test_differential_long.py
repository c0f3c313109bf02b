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
from tests.extraction.upstream_comparison import UNSIGNED, ComparableGraph, turn_numbers
from tests.servers.neo4j_server import Neo4jServer
from tests.servers.provider import FakeProvider
from tests.servers.summary_responses import RESPONDERS
from turnetl.base.graph_model import GroupContents
from turnetl.base.model import Episode
from turnetl.base.text import one_line
from turnetl.extraction.llm import LlmExtractor
from turnetl.graph.port import GraphStore
from turnetl.ingestion.turn_summaries import SummaryRules
from turnetl.llm.chat import ChatModel
from turnetl.llm.embedders.static_model import WordLlamaEmbedder
from turnetl.summaries.gate import GateLimits
from turnetl.summaries.model_summariser import ModelSummariser

MAX_INVALIDATED_DIFFERENTLY = 0.04
"""Of 357 requests about a fact, 63 list candidates of equal score differently: 11 facts of 341. One
more is what `without_late_starts` is about: a fact without a start ends no other."""
SUMMARY_LINE_CHARS = 150
"""Of a fact, in a summary of turnetl."""
EVERY_TURN = GateLimits(min_similarity=2, burst_turns=1_000_000)
"""Each turn that changes the facts of an entity refreshes its summary."""


@pytest.mark.full
async def test_duplicates_resolved_by_name_make_the_same_graph(
    model: ChatModel, provider: FakeProvider, long_sample: list[Episode], tmp_path: Path
) -> None:
    provider.responders = {**RESPONDERS, **upstream_results.MODELS["resolves_by_name"]}
    async with long_sample_turns.open_store(f"ladybug://{tmp_path / 'graph.lbug'}") as store:
        _, ours = await ingest(store, model, long_sample, tmp_path)
    theirs = upstream_results.load("resolves_by_name", long_sample).without_late_starts
    assert ours.without_summaries == theirs.without_summaries
    assert_facts_of_summaries_are_those_of_upstream(ours, theirs)
    assert ours.facts.total() > 5 * len(long_sample)


@pytest.mark.neo4j
async def test_responses_that_depend_on_every_candidate_change_only_some_invalidations(
    neo4j: Neo4jServer,
    model: ChatModel,
    provider: FakeProvider,
    long_sample: list[Episode],
    tmp_path: Path,
) -> None:
    provider.responders = {**RESPONDERS, **upstream_results.MODELS["depends_on_candidates"]}
    async with long_sample_turns.open_store(neo4j.url) as store:
        server, ours = await ingest(store, model, long_sample, tmp_path / "server")
    async with long_sample_turns.open_store(f"ladybug://{tmp_path / 'graph.lbug'}") as store:
        embedded, _ = await ingest(store, model, long_sample, tmp_path / "embedded")
    assert (server.entities, server.facts) == (embedded.entities, embedded.facts)
    theirs = upstream_results.load("depends_on_candidates", long_sample)
    assert_same_except_some_invalidations(ours, theirs.without_late_starts)
    assert sum(fact.expired for fact in ours.facts) > len(long_sample)


def assert_same_except_some_invalidations(ours: ComparableGraph, theirs: ComparableGraph) -> None:
    assert ours.without_summaries.entities == theirs.without_summaries.entities
    assert ours.mentions == theirs.mentions
    assert ours.facts_as_first_stated == theirs.facts_as_first_stated
    assert ours.confirmed_differently(theirs) == 0
    different = ours.invalidated_differently(theirs)
    share = different / ours.facts.total()
    assert share <= MAX_INVALIDATED_DIFFERENTLY, f"{different} of {ours.facts.total()} facts"


def assert_facts_of_summaries_are_those_of_upstream(
    ours: ComparableGraph, theirs: ComparableGraph
) -> None:
    """As long as facts are few, both make the summary of them; only turnetl omits ended ones.

    Only turnetl cuts long ones.
    """
    ended = {one_line(fact.text, SUMMARY_LINE_CHARS) for fact in ours.facts if fact.invalid_at}
    mine, upstream = summary_lines(ours), summary_lines(theirs)
    upstream = {
        name: {one_line(line, SUMMARY_LINE_CHARS) for line in lines}
        for name, lines in upstream.items()
    }
    compared = [name for name, lines in upstream.items() if f"About {name}." not in lines]
    assert len(compared) > len(upstream) / 2
    for name in compared:
        assert mine[name] <= upstream[name]
        assert upstream[name] - mine[name] <= ended


def summary_lines(graph: ComparableGraph) -> dict[str, set[str]]:
    """Return the lines of the summary of each entity, by name."""
    lines: dict[str, set[str]] = {}
    for name, _, summary in graph.entities:
        found = {" ".join(line.split()) for line in summary.splitlines()}
        lines.setdefault(name, set()).update(found)
    return lines


async def ingest(
    store: GraphStore, model: ChatModel, turns: Sequence[Episode], folder: Path
) -> tuple[GroupContents, ComparableGraph]:
    embedder = WordLlamaEmbedder()
    extractor = long_sample_turns.RecordingExtractor(
        LlmExtractor(model, embedder, prompts=fixed_prompt(None), ontology=UNSIGNED)
    )
    rules = SummaryRules(ModelSummariser(model), EVERY_TURN)
    contents = await long_sample_turns.ingest(
        store, extractor, embedder, turns, folder, summaries=rules
    )
    assert not any(resolved.discarded for resolved in extractor.resolved.values())
    numbers = turn_numbers(turns)
    graph = upstream_comparison.comparable(
        contents.entities, contents.facts, extractor.mentions, numbers
    )
    return contents, graph
