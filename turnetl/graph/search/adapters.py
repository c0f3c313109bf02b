"""Graphiti's search interface, answered from the groups in memory: no read from a database.

The results are those of Graphiti's queries to a Neo4j, except where these are arbitrary: a
breadth-first search returns each entity once, nearest first, where Cypher returns one row per path
in the order of the store; equal scores are ordered by creation; a query word that is the name of
a group does not match everything in the group; and a search in several groups finds in all of
them, where Graphiti's full-text query requires the last one.
"""

from collections.abc import Sequence
from typing import Any

from graphiti_core.driver.graph_operations.graph_operations import GraphOperationsInterface
from graphiti_core.driver.search_interface.search_interface import SearchInterface
from graphiti_core.edges import EntityEdge
from graphiti_core.nodes import CommunityNode, EntityNode, EpisodicNode
from graphiti_core.search.search_filters import SearchFilters
from graphiti_core.search.search_utils import rrf
from pydantic import ConfigDict, PrivateAttr
from typing_extensions import override

from turnetl.graph.mirror import convert
from turnetl.graph.mirror.query_limits import is_too_long, require_filters
from turnetl.graph.search.index import (
    TextSearch,
    VectorSearch,
    community_texts,
    entity_texts,
    episode_texts,
    fact_texts,
)
from turnetl.graph.search.neighbourhood import Neighbourhood
from turnetl.graph.search.searched_graph import SearchedGraph


class SearchIndexes:
    """All indexes of a searched graph."""

    def __init__(self, graph: SearchedGraph) -> None:
        """Index a graph whose values have vectors wherever they are searched by them."""
        self.entities = TextSearch(graph.entities, entity_texts)
        self.facts = TextSearch(graph.facts, fact_texts)
        self.episodes = TextSearch(graph.episodes, episode_texts)
        self.communities = TextSearch(graph.communities, community_texts)
        self.entity_vectors = VectorSearch(graph.entities)
        self.fact_vectors = VectorSearch(graph.facts)
        self.community_vectors = VectorSearch(graph.communities)
        self.neighbourhood = Neighbourhood(graph.facts, graph.mentions)


class GroupSearch(SearchInterface):
    """Every search and reranker that one of Graphiti's recipes uses. No filter is supported."""

    model_config = ConfigDict(arbitrary_types_allowed=True)
    _indexes: SearchIndexes = PrivateAttr()

    def __init__(self, indexes: SearchIndexes) -> None:
        super().__init__()
        self._indexes = indexes

    @override
    async def edge_fulltext_search(
        self,
        driver: Any,
        query: str,
        search_filter: SearchFilters,
        group_ids: list[str] | None = None,
        limit: int = 100,
    ) -> list[EntityEdge]:
        require_filters(search_filter, ())
        if is_too_long(query, group_ids):
            return []
        return [convert.to_edge(fact) for fact in self._indexes.facts.matching(query, limit)]

    @override
    async def edge_similarity_search(
        self,
        driver: Any,
        search_vector: list[float],
        source_node_uuid: str | None,
        target_node_uuid: str | None,
        search_filter: SearchFilters,
        group_ids: list[str] | None = None,
        limit: int = 100,
        min_score: float = 0.7,
    ) -> list[EntityEdge]:
        require_filters(search_filter, ())
        if source_node_uuid is not None or target_node_uuid is not None:
            raise NotImplementedError("a search for facts by an endpoint")
        nearest = self._indexes.fact_vectors.nearest(search_vector, limit, min_score)
        return [convert.to_edge(fact) for fact in nearest]

    @override
    async def node_fulltext_search(
        self,
        driver: Any,
        query: str,
        search_filter: SearchFilters,
        group_ids: list[str] | None = None,
        limit: int = 100,
    ) -> list[EntityNode]:
        require_filters(search_filter, ())
        if is_too_long(query, group_ids):
            return []
        return [convert.to_node(entity) for entity in self._indexes.entities.matching(query, limit)]

    @override
    async def node_similarity_search(
        self,
        driver: Any,
        search_vector: list[float],
        search_filter: SearchFilters,
        group_ids: list[str] | None = None,
        limit: int = 100,
        min_score: float = 0.7,
    ) -> list[EntityNode]:
        require_filters(search_filter, ())
        nearest = self._indexes.entity_vectors.nearest(search_vector, limit, min_score)
        return [convert.to_node(entity) for entity in nearest]

    @override
    async def episode_fulltext_search(
        self,
        driver: Any,
        query: str,
        search_filter: SearchFilters,
        group_ids: list[str] | None = None,
        limit: int = 100,
    ) -> list[EpisodicNode]:
        require_filters(search_filter, ())
        if is_too_long(query, group_ids):
            return []
        return [
            convert.to_searched_episode(node)
            for node in self._indexes.episodes.matching(query, limit)
        ]

    @override
    async def edge_bfs_search(
        self,
        driver: Any,
        bfs_origin_node_uuids: list[str] | None,
        bfs_max_depth: int,
        search_filter: SearchFilters,
        group_ids: list[str] | None = None,
        limit: int = 100,
    ) -> list[EntityEdge]:
        require_filters(search_filter, ())
        origins = bfs_origin_node_uuids or ()
        facts = self._indexes.neighbourhood.facts_within(bfs_max_depth, origins)
        return [convert.to_edge(fact) for fact in facts[:limit]]

    @override
    async def node_bfs_search(
        self,
        driver: Any,
        bfs_origin_node_uuids: list[str] | None,
        search_filter: SearchFilters,
        bfs_max_depth: int,
        group_ids: list[str] | None = None,
        limit: int = 100,
    ) -> list[EntityNode]:
        require_filters(search_filter, ())
        origins = bfs_origin_node_uuids or ()
        uuids = self._indexes.neighbourhood.entities_within(bfs_max_depth, origins)
        entities = self._indexes.entities.by_uuid
        found = [entities[uuid] for uuid in uuids if uuid in entities]
        return [convert.to_node(entity) for entity in found[:limit]]

    @override
    async def community_fulltext_search(
        self, driver: Any, query: str, group_ids: list[str] | None = None, limit: int = 100
    ) -> list[CommunityNode]:
        if is_too_long(query, group_ids):
            return []
        matching = self._indexes.communities.matching(query, limit)
        return [convert.to_community(community) for community in matching]

    @override
    async def community_similarity_search(
        self,
        driver: Any,
        search_vector: list[float],
        group_ids: list[str] | None = None,
        limit: int = 100,
        min_score: float = 0.6,
    ) -> list[CommunityNode]:
        nearest = self._indexes.community_vectors.nearest(search_vector, limit, min_score)
        return [convert.to_community(community) for community in nearest]

    @override
    async def get_embeddings_for_communities(
        self, driver: Any, communities: list[CommunityNode]
    ) -> dict[str, list[float]]:
        return self._indexes.community_vectors.vectors(node.uuid for node in communities)

    @override
    async def node_distance_reranker(
        self, driver: Any, node_uuids: list[str], center_node_uuid: str, min_score: float = 0
    ) -> tuple[list[str], list[float]]:
        """Order by distance: the center, its neighbours, then the others as they are."""
        closeness = self._indexes.neighbourhood.closeness
        scored = [(uuid, closeness(uuid, center_node_uuid)) for uuid in node_uuids]
        return _best_first(scored, min_score)

    @override
    async def episode_mentions_reranker(
        self, driver: Any, node_uuids: list[list[str]], min_score: float = 0
    ) -> tuple[list[str], list[float]]:
        """Order by the number of episodes that mention an entity, then by rank fusion."""
        fused, _ = rrf(node_uuids)
        mentions = self._indexes.neighbourhood.mentions
        return _best_first([(uuid, float(mentions(uuid))) for uuid in fused], min_score)


class GroupVectors(GraphOperationsInterface):
    """Reads of the vectors of search results."""

    model_config = ConfigDict(arbitrary_types_allowed=True)
    _indexes: SearchIndexes = PrivateAttr()

    def __init__(self, indexes: SearchIndexes) -> None:
        super().__init__()
        self._indexes = indexes

    @override
    async def node_load_embeddings_bulk(
        self, driver: Any, nodes: list[EntityNode], batch_size: int = 100
    ) -> dict[str, list[float]]:
        return self._indexes.entity_vectors.vectors(node.uuid for node in nodes)

    @override
    async def edge_load_embeddings_bulk(
        self, driver: Any, edges: list[EntityEdge], batch_size: int = 100
    ) -> dict[str, list[float]]:
        return self._indexes.fact_vectors.vectors(edge.uuid for edge in edges)


def _best_first(
    scored: Sequence[tuple[str, float]], min_score: float
) -> tuple[list[str], list[float]]:
    """Return the uuids and the scores from `min_score` on, best first; equal ones as given."""
    kept = sorted((pair for pair in scored if pair[1] >= min_score), key=lambda pair: -pair[1])
    return [uuid for uuid, _ in kept], [score for _, score in kept]
