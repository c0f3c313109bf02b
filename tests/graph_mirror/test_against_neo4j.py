"""Graphiti's searches return the same from the group in memory as from a real Neo4j."""

import asyncio
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
from graphiti_core.nodes import EntityNode, EpisodicNode
from graphiti_core.search.search_filters import SearchFilters
from graphiti_core.search.search_utils import (
    edge_fulltext_search,
    edge_similarity_search,
    episode_fulltext_search,
    node_fulltext_search,
    node_similarity_search,
)

from tests.builders import GROUP
from tests.extraction import long_sample_turns
from tests.extraction.fixed_prompt import fixed_prompt
from tests.real_archives import SAMPLES
from tests.servers import order_sensitive_responses
from tests.servers.neo4j_server import Neo4jServer
from tests.servers.provider import FakeProvider
from turnetl.base.graph_model import GroupContents
from turnetl.base.model import Entity, Fact
from turnetl.extraction.llm import LlmExtractor
from turnetl.graph.mirror.graphiti_adapters import MirrorDriver
from turnetl.graph.mirror.group import MirrorGroup
from turnetl.graph.mirror.overlay import CandidateIndex
from turnetl.graph.mirror.similarity import ScoredUuid, query_matrix
from turnetl.graph.open import open_graph
from turnetl.graph.search import GroupSearch, SearchedGraph, SearchedGroup, SearchIndexes
from turnetl.llm.chat import ChatModel
from turnetl.llm.embedders import floats
from turnetl.llm.embedders.static_model import WordLlamaEmbedder

pytestmark = pytest.mark.neo4j

TURNS = 60
ALL = SearchFilters()
NODES = ("terms of entities", "terms of episodes")
MIN_AGREEMENT = 0.98
TOLERANCE = 1e-5
"""Scores that differ by less are ties: Neo4j sums in another order."""
ALL_RESULTS = 10_000
ENTITY_LIMIT, FACT_LIMIT, MIN_SCORE = 15, 20, 0.6
"""Graphiti's own limits and minimum score."""


@dataclass(frozen=True)
class ComparedSearch:
    """One search, with the results of both."""

    kind: str
    theirs: list[str]
    ours: list[str]
    scores: Mapping[str, float]
    """Of all candidates, as computed from the group in memory."""

    @property
    def agrees(self) -> bool:
        """Whether both return the same, except for ties."""
        database = [self.scores.get(uuid, -1.0) for uuid in self.theirs]
        mirror = [self.scores[uuid] for uuid in self.ours]
        return len(database) == len(mirror) and all(
            abs(one - other) < TOLERANCE for one, other in zip(database, mirror, strict=True)
        )


async def test_the_candidates_are_those_of_the_database(
    neo4j: Neo4jServer, model: ChatModel, provider: FakeProvider, tmp_path: Path
) -> None:
    provider.responders = order_sensitive_responses.RESPONDERS
    async with database(neo4j) as served:
        group = await ingest_samples(neo4j, model, tmp_path)
        contents = group.contents
        await rebuild_indexes(neo4j, served)
        searches = [search async for search in compare_searches(served, contents)]
        searches += [search async for search in compare_fulltext(served, group)]
    assert len(contents.facts) > 5 * TURNS
    counts = Counter(search.kind for search in searches)
    agreeing = Counter(search.kind for search in searches if search.agrees)
    not_empty = Counter(search.kind for search in searches if search.theirs)
    share = {kind: agreeing[kind] / number for kind, number in counts.items()}
    assert set(share) == {
        "entities",
        "facts",
        "facts of a pair",
        "terms",
        "terms of a pair",
        *NODES,
    }
    assert min(not_empty.values()) > 50
    assert min(share.values()) >= MIN_AGREEMENT, f"{share} of {counts}"


async def ingest_samples(neo4j: Neo4jServer, model: ChatModel, folder: Path) -> SearchedGroup:
    store = await open_graph(neo4j.url, user="", password="")
    await store.prepare()
    turns = long_sample_turns.turns(SAMPLES, folder / "lake", TURNS)
    embedder = WordLlamaEmbedder()
    asks = LlmExtractor(model, embedder, prompts=fixed_prompt(None))
    contents = await long_sample_turns.ingest(store, asks, embedder, turns, folder / "aside")
    group = SearchedGroup(contents, await store.load_subgraphs(GROUP))
    await store.close()
    return group


@asynccontextmanager
async def database(neo4j: Neo4jServer) -> AsyncIterator[GraphDriver]:
    """Open Graphiti's own driver, with all its indexes."""
    # In a thread without a loop: the driver would build them in the background, too.
    driver = await asyncio.to_thread(Neo4jDriver, neo4j.address, neo4j.user, neo4j.password)
    await driver.build_indices_and_constraints()
    neo4j.run("CALL db.awaitIndexes(300)")
    yield driver
    await driver.close()


async def compare_searches(
    served: GraphDriver, contents: GroupContents
) -> AsyncIterator[ComparedSearch]:
    """Search both for each entity, and for sentences that are no facts."""
    group = MirrorGroup(contents)
    candidates = CandidateIndex(group)
    mirror = MirrorDriver.for_group(group, candidates, lambda *_: None)
    embedder = WordLlamaEmbedder()
    for entity in contents.entities:
        assert entity.embedding is not None
        vector = floats(entity.embedding)
        nodes = [
            await node_similarity_search(driver, vector, ALL, [GROUP], ENTITY_LIMIT, MIN_SCORE)
            for driver in (served, mirror)
        ]
        (near,) = candidates.nearest(Entity, query_matrix([vector]), ALL_RESULTS, -1)
        yield compared("entities", nodes, near)
    for fact, other in list(pairwise(contents.facts))[::3]:
        text = f"{fact.text[:50]} {other.text[-50:]}"
        vector = floats((await embedder.embed([text]))[0])
        for of, pair in (("", ALL), (" of a pair", between(fact))):
            edges = [
                await edge_similarity_search(
                    driver, vector, None, None, pair, [GROUP], FACT_LIMIT, MIN_SCORE
                )
                for driver in (served, mirror)
            ]
            (near,) = candidates.nearest(Fact, query_matrix([vector]), ALL_RESULTS, -1)
            yield compared(f"facts{of}", edges, near)
            edges = [
                await edge_fulltext_search(driver, text, pair, [GROUP], FACT_LIMIT)
                for driver in (served, mirror)
            ]
            yield compared(f"terms{of}", edges, candidates.fulltext.search(text, ALL_RESULTS))


async def rebuild_indexes(neo4j: Neo4jServer, served: GraphDriver) -> None:
    """Create them again: until Lucene merges its segments, they count replaced summaries and facts.

    Those of facts only in Neo4j 2026.08.
    """
    neo4j.run("DROP INDEX node_name_and_summary")
    neo4j.run("DROP INDEX edge_name_and_fact")
    await served.build_indices_and_constraints()
    neo4j.run("CALL db.awaitIndexes(300)")


async def compare_fulltext(
    served: GraphDriver, group: SearchedGroup
) -> AsyncIterator[ComparedSearch]:
    """Search the terms of both in entities and episodes, which only a recipe searches."""
    indexes = SearchIndexes(SearchedGraph.of([group], WordLlamaEmbedder()))
    search = GroupSearch(indexes)
    for fact in group.contents.facts[::4]:
        # In Neo4j, the name of the group is a term of each of its entities.
        query, limit = fact.text[-60:].replace(GROUP, ""), FACT_LIMIT
        nodes = [
            await node_fulltext_search(served, query, ALL, [GROUP], limit),
            await search.node_fulltext_search(None, query, ALL, [GROUP], limit),
        ]
        yield compared(NODES[0], nodes, indexes.entities.scored(query, ALL_RESULTS))
        episodes = [
            await episode_fulltext_search(served, query, ALL, [GROUP], limit),
            await search.episode_fulltext_search(None, query, ALL, [GROUP], limit),
        ]
        yield compared(NODES[1], episodes, indexes.episodes.scored(query, ALL_RESULTS))


def compared(
    kind: str,
    answers: Sequence[Sequence[EntityNode | EntityEdge | EpisodicNode]],
    scores: Iterable[ScoredUuid],
) -> ComparedSearch:
    theirs, ours = [[match.uuid for match in answer] for answer in answers]
    return ComparedSearch(kind, theirs, ours, dict(scores))


def between(fact: Fact) -> SearchFilters:
    endpoints = [fact.source, fact.target]
    return SearchFilters(edge_source_node_uuids=endpoints, edge_target_node_uuids=endpoints)


@pytest.fixture(autouse=True)
def quiet_logs(caplog: pytest.LogCaptureFixture) -> None:
    """Graphiti's driver creates its indexes twice concurrently, and logs that."""
    caplog.set_level(logging.CRITICAL, logger="neo4j")
    caplog.set_level(logging.CRITICAL, logger="graphiti_core")
