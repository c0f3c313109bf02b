"""What the group in memory answers to Graphiti's searches, beside what a real Neo4j answers."""

import logging
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest
from graphiti_core.driver.driver import GraphDriver
from graphiti_core.driver.neo4j_driver import Neo4jDriver
from graphiti_core.edges import EntityEdge
from graphiti_core.nodes import EntityNode
from graphiti_core.search.search_filters import SearchFilters
from graphiti_core.search.search_utils import (
    edge_fulltext_search,
    edge_similarity_search,
    node_similarity_search,
)

from tests.builders import GROUP
from tests.extraction import long_sample_turns
from tests.real import SAMPLES
from tests.servers import order_sensitive_responses
from tests.servers.neo4j_server import Neo4jServer
from tests.servers.provider import FakeProvider
from turnetl.extraction.llm import LlmExtractor
from turnetl.extraction.prompt_config import fixed_prompt
from turnetl.graph.mirror.candidates import CandidateIndex, ScoredUuid
from turnetl.graph.mirror.graphiti_adapters import MirrorDriver
from turnetl.graph.mirror.group import MirrorGroup
from turnetl.graph.open import open_graph
from turnetl.llm.chat import ChatModel
from turnetl.llm.embedders import WordLlamaEmbedder
from turnetl.llm.vectors import floats
from turnetl.model import Fact, GroupContents

pytestmark = pytest.mark.neo4j

TURNS = 60
ALL = SearchFilters()
AGREE = 0.98
ALIKE = 1e-5
"""Scores that differ by less are ties: Neo4j sums up in another order."""
EVERYTHING = 10_000
THINGS, FACTS, LEAST = 15, 20, 0.6
"""As Graphiti asks: so many candidates, and how near they are at least."""


@dataclass(frozen=True)
class Asked:
    """One search, answered by both."""

    kind: str
    theirs: list[str]
    ours: list[str]
    scores: Mapping[str, float]
    """Of all that could be answered, by our reckoning."""

    @property
    def agrees(self) -> bool:
        """Whether both give the same, up to equally good ones."""
        given = [self.scores.get(uuid, -1.0) for uuid in self.theirs]
        best = [self.scores[uuid] for uuid in self.ours]
        return len(given) == len(best) and all(
            abs(one - other) < ALIKE for one, other in zip(given, best, strict=True)
        )


async def test_candidates_are_those_that_the_database_finds(
    neo4j: Neo4jServer, model: ChatModel, provider: FakeProvider, tmp_path: Path
) -> None:
    provider.responders = order_sensitive_responses.RESPONDERS
    async with database(neo4j) as served:
        contents = await committed(neo4j, model, tmp_path)
        asked = [one async for one in searches(served, contents)]
    assert len(contents.facts) > 5 * TURNS
    searched = Counter(one.kind for one in asked)
    agreed = Counter(one.kind for one in asked if one.agrees)
    found = Counter(one.kind for one in asked if one.theirs)
    share = {kind: agreed[kind] / number for kind, number in searched.items()}
    assert set(share) == {"things", "facts", "facts of a pair", "words", "words of a pair"}
    assert min(found.values()) > 50
    assert min(share.values()) >= AGREE, f"{share} of {searched}"


async def committed(neo4j: Neo4jServer, model: ChatModel, folder: Path) -> GroupContents:
    store = await open_graph(neo4j.url, user="", password="")
    await store.prepare()
    turns = long_sample_turns.turns(SAMPLES, folder / "lake", TURNS)
    embedder = WordLlamaEmbedder()
    asks = LlmExtractor(model, embedder, prompts=fixed_prompt(None))
    contents = await long_sample_turns.ingest(store, asks, embedder, turns, folder / "aside")
    await store.close()
    return contents


@asynccontextmanager
async def database(neo4j: Neo4jServer) -> AsyncIterator[GraphDriver]:
    """Give Graphiti's own driver, with all its indexes."""
    driver = Neo4jDriver(neo4j.address, neo4j.user, neo4j.password)
    await driver.build_indices_and_constraints()
    neo4j.run("CALL db.awaitIndexes(300)")
    yield driver
    await driver.close()


async def searches(served: GraphDriver, contents: GroupContents) -> AsyncIterator[Asked]:
    """Ask both for what comes near each thing and fact, and near what is no fact yet."""
    group = MirrorGroup(contents)
    candidates = CandidateIndex(group)
    mirror = MirrorDriver.for_group(group, candidates, lambda *_: None)
    embedder = WordLlamaEmbedder()
    for thing in contents.entities:
        assert thing.embedding is not None
        vector = floats(thing.embedding)
        nodes = [
            await node_similarity_search(driver, vector, ALL, [GROUP], THINGS, LEAST)
            for driver in (served, mirror)
        ]
        near = candidates.nearest_entities(vector, EVERYTHING, -1)
        yield asked("things", nodes, near)
    for fact, other in list(pairwise(contents.facts))[::3]:
        text = f"{fact.text[:50]} {other.text[-50:]}"
        vector = floats((await embedder.embed([text]))[0])
        for of, pair in (("", ALL), (" of a pair", between(fact))):
            edges = [
                await edge_similarity_search(
                    driver, vector, None, None, pair, [GROUP], FACTS, LEAST
                )
                for driver in (served, mirror)
            ]
            near = candidates.nearest_facts(vector, EVERYTHING, -1)
            yield asked(f"facts{of}", edges, near)
            edges = [
                await edge_fulltext_search(driver, text, pair, [GROUP], FACTS)
                for driver in (served, mirror)
            ]
            yield asked(f"words{of}", edges, candidates.fulltext.search(text, EVERYTHING))


def asked(
    kind: str, answers: Sequence[Sequence[EntityNode | EntityEdge]], scores: Iterable[ScoredUuid]
) -> Asked:
    theirs, ours = [[one.uuid for one in answer] for answer in answers]
    return Asked(kind, theirs, ours, dict(scores))


def between(fact: Fact) -> SearchFilters:
    ends = [fact.source, fact.target]
    return SearchFilters(edge_source_node_uuids=ends, edge_target_node_uuids=ends)


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> None:
    """Graphiti's driver makes its indexes twice at once, and says so."""
    caplog.set_level(logging.CRITICAL, logger="neo4j")
    caplog.set_level(logging.CRITICAL, logger="graphiti_core")
