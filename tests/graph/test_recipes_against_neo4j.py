"""Graphiti's recipes over groups in memory find what `Graphiti.search_` finds in a Neo4j."""

import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from itertools import pairwise

import pytest
from graphiti_core import Graphiti
from graphiti_core.cross_encoder.client import CrossEncoderClient
from graphiti_core.search.search_config import SearchResults
from graphiti_core.search.search_filters import SearchFilters
from graphiti_core.search.search_utils import edge_bfs_search, edge_fulltext_search, node_bfs_search
from typing_extensions import override

from tests.builders import GROUP
from tests.graph import searched_project
from tests.graph.searched_project import EMBEDDER, QUERIES, entity_id
from tests.servers.neo4j_server import Neo4jServer
from turnetl.base import ids
from turnetl.base.model import GroupId
from turnetl.graph.mirror.similarity import ScoredUuid
from turnetl.graph.open import open_graph
from turnetl.graph.search import (
    ScoredResults,
    SearchedGraph,
    SearchedGroup,
    SearchIndexes,
    run_recipe,
    search_config,
)
from turnetl.llm.embedders import floats
from turnetl.llm.graphiti import GraphitiEmbedder, NoModel
from turnetl.retrieval.recipes import Recipe

pytestmark = pytest.mark.neo4j

CENTER = "cart.py"
ALL_RESULTS = 1_000
TOLERANCE = 1e-5
"""Scores that differ by less are equal: Neo4j computes some in another precision."""

WITH_SCORES_OF_ANOTHER_ORDER = (
    Recipe.EDGE_HYBRID_SEARCH_NODE_DISTANCE,
    Recipe.EDGE_HYBRID_SEARCH_EPISODE_MENTIONS,
)
"""Recipes with which Graphiti's scores are not those of the facts in their order."""


class DigestReranker(CrossEncoderClient):
    """Scores that depend on query and passage alone, and are never equal."""

    @override
    async def rank(self, query: str, passages: list[str]) -> list[tuple[str, float]]:
        scored = [(text, int(ids.digest(query, text)[:8], 16) / 2**32) for text in passages]
        return sorted(scored, key=lambda pair: -pair[1])


@dataclass(frozen=True)
class Both:
    """The same graph in a Neo4j and in memory."""

    graphiti: Graphiti
    graph: SearchedGraph

    async def search(
        self, query: str, recipe: Recipe, *, bfs_depth: int | None = None, center: str | None = None
    ) -> tuple[SearchResults, ScoredResults]:
        config = search_config(recipe, limit=ALL_RESULTS, bfs_depth=bfs_depth)
        theirs = await self.graphiti.search_(
            query,
            config,
            list(self.graph.groups),
            center_node_uuid=center,
            bfs_origin_node_uuids=[center] if center is not None else None,
        )
        ours = await run_recipe(
            self.graph,
            query,
            config,
            embedder=EMBEDDER,
            reranker=DigestReranker(),
            center=center,
        )
        return theirs, ours


@pytest.fixture
async def both(neo4j: Neo4jServer) -> AsyncIterator[Both]:
    store = await open_graph(neo4j.url, user="", password="")
    await store.prepare()
    group = await searched_project.fill(store)
    async with graphiti_on(neo4j) as graphiti:
        for community in searched_project.communities():
            neo4j.run(
                "CREATE (c:Community) SET c = $properties "
                "WITH c CALL db.create.setNodeVectorProperty(c, 'name_embedding', $vector)",
                properties={
                    "uuid": community.uuid,
                    "group_id": community.group_id,
                    "name": community.name,
                    "summary": community.summary,
                    "created_at": community.created_at,
                },
                vector=floats(await searched_project.embed(community.name)),
            )
        group = replace(group, subgraphs=await store.load_subgraphs(GROUP))
        await store.close()
        yield Both(graphiti, SearchedGraph.of([group], EMBEDDER))


@asynccontextmanager
async def graphiti_on(neo4j: Neo4jServer) -> AsyncIterator[Graphiti]:
    """Open a Graphiti, with all its indexes."""
    graphiti = Graphiti(
        neo4j.address,
        neo4j.user,
        neo4j.password,
        llm_client=NoModel(),
        embedder=GraphitiEmbedder(EMBEDDER),
        cross_encoder=DigestReranker(),
    )
    await graphiti.build_indices_and_constraints()
    neo4j.run("CALL db.awaitIndexes(300)")
    yield graphiti
    await graphiti.close()  # type: ignore[no-untyped-call]  # Graphiti does not annotate it


async def test_every_recipe_finds_the_same_in_the_same_order(both: Both) -> None:
    assert len(both.graph.communities) == 2
    await assert_no_scores_are_equal(both.graph)
    found = dict.fromkeys(Recipe, 0)
    for recipe in Recipe:
        center = entity_id(CENTER) if recipe.has_distance else None
        for query in QUERIES:
            theirs, ours = await both.search(query, recipe, center=center)
            assert uuids(ours) == their_uuids(theirs), (recipe, query)
            if recipe not in WITH_SCORES_OF_ANOTHER_ORDER:
                assert scores(ours) == pytest.approx(their_scores(theirs), abs=TOLERANCE)
            found[recipe] += len(scores(ours))
    assert [recipe for recipe, results in found.items() if not results] == []


async def test_a_breadth_first_search_finds_the_same_from_every_node_and_at_every_depth(
    both: Both,
) -> None:
    driver, everything = both.graphiti.driver, SearchFilters()
    near = SearchIndexes(both.graph).neighbourhood
    entities = [entity.uuid for entity in both.graph.entities]
    nodes = [*entities, *(episode.uuid for episode in both.graph.episodes)]
    for depth in (1, 2, 3):
        for origins in ([node] for node in nodes):
            their_nodes = await node_bfs_search(
                driver, origins, everything, depth, [GROUP], ALL_RESULTS
            )
            assert {node.uuid for node in their_nodes} == set(near.entities_within(depth, origins))
            their_edges = await edge_bfs_search(
                driver, origins, depth, everything, [GROUP], ALL_RESULTS
            )
            our_facts = near.facts_within(depth, origins)
            assert {edge.uuid for edge in their_edges} == {fact.uuid for fact in our_facts}


@pytest.mark.parametrize("center", [None, CENTER])
async def test_a_recipe_with_a_breadth_first_search_finds_the_same(
    both: Both, center: str | None
) -> None:
    for recipe in (Recipe.EDGE_HYBRID_SEARCH_RRF, Recipe.NODE_HYBRID_SEARCH_RRF):
        for query, depth in zip(QUERIES, (1, 2, 3, 1), strict=True):
            uuid = entity_id(center) if center is not None else None
            theirs, ours = await both.search(query, recipe, bfs_depth=depth, center=uuid)
            assert [set(kind) for kind in uuids(ours)] == [
                set(kind) for kind in their_uuids(theirs)
            ]
            assert scores(ours)


async def test_a_query_word_that_names_the_group_matches_everything_only_in_neo4j(
    both: Both,
) -> None:
    driver, limit = both.graphiti.driver, ALL_RESULTS
    theirs = await edge_fulltext_search(driver, GROUP, SearchFilters(), [GROUP], limit)
    assert len(theirs) == len(both.graph.facts)
    assert SearchIndexes(both.graph).facts.matching(GROUP, None, limit) == []


async def test_a_full_text_query_to_neo4j_in_several_groups_finds_in_the_last_one_only(
    both: Both, neo4j: Neo4jServer
) -> None:
    store = await open_graph(neo4j.url, user="", password="")
    other = await searched_project.fill(store, GroupId("other"))
    shop = SearchedGroup(await store.load(GROUP), await store.load_subgraphs(GROUP))
    await store.close()
    theirs = await edge_fulltext_search(
        both.graphiti.driver, "postgres", SearchFilters(), ["other", GROUP], ALL_RESULTS
    )
    assert {edge.group_id for edge in theirs} == {GROUP}
    indexes = SearchIndexes(SearchedGraph.of([other, shop], EMBEDDER))
    ours = indexes.facts.matching("postgres", None, ALL_RESULTS)
    assert {fact.group_id for fact in ours} == {"other", GROUP}


async def assert_no_scores_are_equal(graph: SearchedGraph) -> None:
    """Equal scores would come in another order from Neo4j."""
    complete = await graph.with_vectors(EMBEDDER, entities=True, facts=True, communities=True)
    indexes = SearchIndexes(complete)
    for query in QUERIES:
        vector = floats(await searched_project.embed(query))
        for scored in (
            indexes.facts.scored(query, ALL_RESULTS),
            indexes.entities.scored(query, ALL_RESULTS),
            indexes.episodes.scored(query, ALL_RESULTS),
            indexes.communities.scored(query, ALL_RESULTS),
            indexes.fact_vectors.scored(vector, ALL_RESULTS, 0.6),
            indexes.entity_vectors.scored(vector, ALL_RESULTS, 0.6),
            indexes.community_vectors.scored(vector, ALL_RESULTS, 0.6),
        ):
            assert all(one - other > TOLERANCE for (_, one), (_, other) in pairwise(scored))


def uuids(results: ScoredResults) -> list[list[str]]:
    return [[uuid for uuid, _ in scored] for scored in kinds(results)]


def scores(results: ScoredResults) -> list[float]:
    return [score for scored in kinds(results) for _, score in scored]


def kinds(results: ScoredResults) -> tuple[Sequence[ScoredUuid], ...]:
    return results.facts, results.entities, results.episodes, results.communities


def their_uuids(results: SearchResults) -> list[list[str]]:
    return [
        [edge.uuid for edge in results.edges],
        [node.uuid for node in results.nodes],
        [episode.uuid for episode in results.episodes],
        [community.uuid for community in results.communities],
    ]


def their_scores(results: SearchResults) -> list[float]:
    return [
        *results.edge_reranker_scores,
        *results.node_reranker_scores,
        *results.episode_reranker_scores,
        *results.community_reranker_scores,
    ]


@pytest.fixture(autouse=True)
def quiet_driver_logs(caplog: pytest.LogCaptureFixture) -> None:
    """Graphiti's driver creates its indexes twice concurrently, and logs that."""
    caplog.set_level(logging.CRITICAL, logger="neo4j")
    caplog.set_level(logging.CRITICAL, logger="graphiti_core")
