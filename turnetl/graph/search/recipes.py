"""One of Graphiti's search recipes, run by Graphiti's own `search` over groups in memory."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from graphiti_core.cross_encoder.client import CrossEncoderClient
from graphiti_core.edges import Edge
from graphiti_core.graphiti_types import GraphitiClients
from graphiti_core.nodes import Node
from graphiti_core.search import search_config_recipes
from graphiti_core.search.search import search
from graphiti_core.search.search_config import (
    EdgeReranker,
    EdgeSearchMethod,
    NodeSearchMethod,
    SearchConfig,
    SearchResults,
)
from graphiti_core.search.search_filters import SearchFilters
from graphiti_core.tracer import NoOpTracer

from turnetl.graph.mirror.graphiti_adapters import MirrorDriver
from turnetl.graph.mirror.similarity import ScoredUuid
from turnetl.graph.search.adapters import GroupSearch, GroupVectors, SearchedGraph, SearchIndexes
from turnetl.llm.embedders.port import Embedder
from turnetl.llm.graphiti import GraphitiEmbedder, NoModel


@dataclass(frozen=True, slots=True)
class ScoredResults:
    """Uuids with the scores that order them, best first. Scores of other recipes differ."""

    facts: Sequence[ScoredUuid]
    entities: Sequence[ScoredUuid]
    episodes: Sequence[ScoredUuid]
    communities: Sequence[ScoredUuid]


def search_config(name: str, *, limit: int | None, bfs_depth: int | None) -> SearchConfig:
    """Return a recipe of `graphiti_core.search.search_config_recipes` with another `limit`.

    With `bfs_depth`, it searches breadth first for entities and facts, down to this depth.
    """
    recipe: SearchConfig = getattr(search_config_recipes, name)
    config = recipe.model_copy(deep=True)
    config.limit = limit or config.limit
    if bfs_depth is None:
        return config
    if (edges := config.edge_config) is not None:
        edges.bfs_max_depth = bfs_depth
        if EdgeSearchMethod.bfs not in edges.search_methods:
            edges.search_methods.append(EdgeSearchMethod.bfs)
    if (nodes := config.node_config) is not None:
        nodes.bfs_max_depth = bfs_depth
        if NodeSearchMethod.bfs not in nodes.search_methods:
            nodes.search_methods.append(NodeSearchMethod.bfs)
    return config


async def run_recipe(
    graph: SearchedGraph,
    query: str,
    config: SearchConfig,
    *,
    embedder: Embedder,
    reranker: CrossEncoderClient,
    center: str | None,
) -> ScoredResults:
    """Run the recipe; the embedder embeds the query and what has no comparable vector.

    `center` is the uuid of the entity that distances are measured from, and where a breadth-first
    search starts; without it, that starts at the results of the other searches.
    """
    complete = await graph.with_vectors(
        embedder,
        entities=config.node_config is not None,
        facts=config.edge_config is not None,
        communities=config.community_config is not None,
    )
    indexes = SearchIndexes(complete)
    driver = MirrorDriver()
    driver.search_interface = GroupSearch(indexes)
    driver.graph_operations_interface = GroupVectors(indexes)
    clients = GraphitiClients(
        driver=driver,
        llm_client=NoModel(),
        embedder=GraphitiEmbedder(embedder),
        cross_encoder=reranker,
        tracer=NoOpTracer(),
    )
    results = await search(
        clients,
        query,
        list(graph.groups),
        config,
        SearchFilters(),
        center_node_uuid=center,
        bfs_origin_node_uuids=None if center is None else [center],
    )
    driver.check()
    return _scored(results, _fact_scores(results, config, indexes, center))


def _fact_scores(
    results: SearchResults, config: SearchConfig, indexes: SearchIndexes, center: str | None
) -> Sequence[float]:
    """Return the score of each fact.

    Two rerankers leave scores that do not belong to the facts in their order: node distance those
    of their source entities, each once, and episode mentions those of the order before.
    """
    reranker = config.edge_config.reranker if config.edge_config is not None else None
    if reranker is EdgeReranker.node_distance and center is not None:
        closeness = indexes.neighbourhood.closeness
        return [closeness(edge.source_node_uuid, center) for edge in results.edges]
    if reranker is EdgeReranker.episode_mentions:
        return [float(len(edge.episodes)) for edge in results.edges]
    return results.edge_reranker_scores


def _scored(results: SearchResults, fact_scores: Sequence[float]) -> ScoredResults:
    return ScoredResults(
        facts=_pairs(results.edges, fact_scores),
        entities=_pairs(results.nodes, results.node_reranker_scores),
        episodes=_pairs(results.episodes, results.episode_reranker_scores),
        communities=_pairs(results.communities, results.community_reranker_scores),
    )


def _pairs(values: Iterable[Node | Edge], scores: Iterable[float]) -> list[ScoredUuid]:
    return [(value.uuid, float(score)) for value, score in zip(values, scores, strict=True)]
