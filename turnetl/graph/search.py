"""Graphiti's search recipes, run by its own `search` over groups in memory.

No search reads a database, so that every store returns the same results: those of Graphiti's
queries to a Neo4j, except where these are arbitrary. A breadth-first search returns each entity
once, nearest first, where Cypher returns one row per path in the order of the store; equal scores
are ordered by creation; a query word that is the name of a group does not match everything in the
group; and a search in several groups finds in all of them, where Graphiti's full-text query
requires the last one.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from operator import attrgetter
from typing import Any, Generic, TypeVar

from graphiti_core.cross_encoder.client import CrossEncoderClient
from graphiti_core.driver.graph_operations.graph_operations import GraphOperationsInterface
from graphiti_core.driver.search_interface.search_interface import SearchInterface
from graphiti_core.edges import Edge, EntityEdge
from graphiti_core.graphiti_types import GraphitiClients
from graphiti_core.nodes import CommunityNode, EntityNode, EpisodicNode, Node
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
from graphiti_core.search.search_utils import rrf
from graphiti_core.tracer import NoOpTracer
from pydantic import PrivateAttr
from typing_extensions import override

from turnetl.base.graph_model import (
    Community,
    EpisodeNode,
    GroupContents,
    GroupProfile,
    Mention,
    Subgraphs,
)
from turnetl.base.model import Entity, Fact, GroupId
from turnetl.graph.mirror import convert
from turnetl.graph.mirror.fulltext import FullTextIndex
from turnetl.graph.mirror.graphiti_adapters import MirrorDriver, is_too_long, require_filters
from turnetl.graph.mirror.similarity import ScoredUuid, SimilarityIndex, query_matrix
from turnetl.llm.embedders import Embedder, floats
from turnetl.llm.graphiti import GraphitiEmbedder, NoModel

Embedded = TypeVar("Embedded", Entity, Fact, Community)

_BYTES = 4
"""Of a float32."""


@dataclass(frozen=True, slots=True)
class SearchedGroup:
    contents: GroupContents
    subgraphs: Subgraphs


@dataclass(frozen=True, slots=True)
class SearchedGraph:
    """Nodes and edges of all searched groups, by group, then in order of creation."""

    groups: tuple[GroupId, ...]
    entities: tuple[Entity, ...]
    facts: tuple[Fact, ...]
    episodes: tuple[EpisodeNode, ...]
    mentions: tuple[Mention, ...]
    communities: tuple[Community, ...]

    @classmethod
    def of(cls, groups: Sequence[SearchedGroup], embedder: Embedder) -> "SearchedGraph":
        """Merge the groups. A vector that is not one of this embedder is dropped."""
        ordered = sorted(groups, key=lambda group: group.contents.group_id)
        return cls(
            groups=tuple(group.contents.group_id for group in ordered),
            entities=tuple(
                _comparable(entity, group.contents.profile, embedder)
                for group in ordered
                for entity in group.contents.entities
            ),
            facts=tuple(
                _comparable(fact, group.contents.profile, embedder)
                for group in ordered
                for fact in group.contents.facts
            ),
            episodes=tuple(node for group in ordered for node in group.subgraphs.episodes),
            mentions=tuple(edge for group in ordered for edge in group.subgraphs.mentions),
            communities=tuple(node for group in ordered for node in group.subgraphs.communities),
        )

    async def with_vectors(
        self, embedder: Embedder, *, entities: bool, facts: bool, communities: bool
    ) -> "SearchedGraph":
        """Return the graph with a vector for each value of these kinds; missing ones are made."""
        graph = self
        if entities:
            graph = replace(graph, entities=await _embedded(graph.entities, embedder))
        if facts:
            graph = replace(graph, facts=await _embedded(graph.facts, embedder))
        if communities:
            graph = replace(graph, communities=await _embedded(graph.communities, embedder))
        return graph


def _comparable(value: Embedded, profile: GroupProfile | None, embedder: Embedder) -> Embedded:
    """Return the value, without its vector if that cannot be compared with the query's."""
    is_comparable = (
        profile is not None
        and profile.embedder == embedder.name
        and profile.dimensions == embedder.dimensions
        and value.embedding is not None
        # Another program may have written to the group.
        and len(value.embedding) == embedder.dimensions * _BYTES
    )
    return value if is_comparable else replace(value, embedding=None)


async def _embedded(values: tuple[Embedded, ...], embedder: Embedder) -> tuple[Embedded, ...]:
    missing = [
        value.text if isinstance(value, Fact) else value.name
        for value in values
        if value.embedding is None
    ]
    if not missing:
        return values
    vectors = iter(await embedder.embed(missing))
    return tuple(
        value if value.embedding is not None else replace(value, embedding=next(vectors))
        for value in values
    )


class SearchIndexes:
    """All indexes of a graph whose values have vectors wherever they are searched by them."""

    def __init__(self, graph: SearchedGraph) -> None:
        self.entities = TextSearch(graph.entities, attrgetter("name", "summary"))
        self.facts = TextSearch(graph.facts, attrgetter("relation", "text"))
        self.episodes = TextSearch(
            graph.episodes, attrgetter("text", "source", "source_description")
        )
        self.communities = TextSearch(graph.communities, lambda community: (community.name,))
        self.entity_vectors = VectorSearch(graph.entities)
        self.fact_vectors = VectorSearch(graph.facts)
        self.community_vectors = VectorSearch(graph.communities)
        self.neighbourhood = Neighbourhood(graph.facts, graph.mentions)


class GroupSearch(SearchInterface, GraphOperationsInterface):
    """Every search and read that one of Graphiti's recipes uses. No filter is supported."""

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
        facts = self._indexes.facts.matching(query, group_ids, limit)
        return [convert.to_edge(fact) for fact in facts]

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
        entities = self._indexes.entities.matching(query, group_ids, limit)
        return [convert.to_node(entity) for entity in entities]

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
        nodes = self._indexes.episodes.matching(query, group_ids, limit)
        return [convert.to_searched_episode(node) for node in nodes]

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
        communities = self._indexes.communities.matching(query, group_ids, limit)
        return [convert.to_community(community) for community in communities]

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


Indexed = TypeVar("Indexed", Entity, Fact, EpisodeNode, Community)


class TextSearch(Generic[Indexed]):
    """Values by the terms of their texts, as Neo4j's full-text index finds them."""

    def __init__(
        self, values: Iterable[Indexed], texts: Callable[[Indexed], tuple[str, ...]]
    ) -> None:
        """Index the values, in the order that decides between equal scores.

        `texts` returns the fields of a value, as many for each: those of Graphiti's full-text
        index, without the group's name. Graphiti's index of a Neo4j has that name as a further
        field, so that a query that contains it matches everything in the group. Its index of an
        embedded graph has not.
        """
        self.by_uuid: dict[str, Indexed] = {value.uuid: value for value in values}
        self._texts: Callable[[Indexed], tuple[str, ...]] = texts

    def matching(self, query: str, group_ids: Sequence[str] | None, limit: int) -> list[Indexed]:
        """Return the values that share terms with the query, best first; as Graphiti, of groups."""
        if is_too_long(query, group_ids):
            return []
        return [self.by_uuid[uuid] for uuid, _ in self.scored(query, limit)]

    def scored(self, query: str, limit: int) -> list[ScoredUuid]:
        """Return the uuids of the same values with their scores."""
        return self._fulltext.search(query, limit) if self._fulltext is not None else []

    @cached_property
    def _fulltext(self) -> FullTextIndex | None:
        """None without values."""
        index: FullTextIndex | None = None
        for uuid, value in self.by_uuid.items():
            texts = self._texts(value)
            index = index or FullTextIndex(len(texts))
            index.add(uuid, *texts)
        return index


class VectorSearch(Generic[Embedded]):
    """Values by the similarity of their vectors."""

    def __init__(self, values: Iterable[Embedded]) -> None:
        self._by_uuid: dict[str, Embedded] = {value.uuid: value for value in values}

    def nearest(self, vector: Sequence[float], limit: int, min_score: float) -> list[Embedded]:
        """Return the values nearest to the vector, best first, with a score above `min_score`."""
        return [self._by_uuid[uuid] for uuid, _ in self.scored(vector, limit, min_score)]

    def scored(self, vector: Sequence[float], limit: int, min_score: float) -> list[ScoredUuid]:
        """Return the uuids of the same values with their scores."""
        return self._similarity.nearest(query_matrix([vector]), limit, min_score)[0]

    def vectors(self, uuids: Iterable[str]) -> dict[str, list[float]]:
        """Return the vectors of these values, in the same order, without those that have none."""
        values = (self._by_uuid[uuid] for uuid in uuids)
        return {value.uuid: floats(value.embedding) for value in values if value.embedding}

    @cached_property
    def _similarity(self) -> SimilarityIndex:
        index = SimilarityIndex()
        index.extend(self._by_uuid.values())
        return index


_CENTER, _ADJACENT, _ELSEWHERE = 10.0, 1.0, 0.0
"""Graphiti's scores of the center itself, of an entity with a fact about both, and of others."""


class Neighbourhood:
    """The edges of a graph, by where they start: facts, and mentions of entities in episodes."""

    def __init__(self, facts: Iterable[Fact], mentions: Iterable[Mention]) -> None:
        """Keep edges, in the order in which a search follows them.

        Two edges between the same nodes count twice.
        """
        self._facts: dict[str, list[Fact]] = defaultdict(list)
        self._mentioned: dict[str, list[str]] = defaultdict(list)
        self._mentions: Counter[str] = Counter()
        for fact in facts:
            self._facts[fact.source].append(fact)
        for mention in mentions:
            self._mentioned[mention.episode].append(mention.entity)
            self._mentions[mention.entity] += 1

    def entities_within(self, depth: int, origins: Iterable[str]) -> list[str]:
        """Return the entities that 1 to `depth` edges lead to, nearest first, each once.

        Edges are followed in their direction. An origin, the uuid of an entity or episode, is
        among them if edges lead to it.
        """
        passed = self._nodes_within(depth - 1, origins)
        return list(dict.fromkeys(entity for node in passed for entity in self._targets(node)))

    def facts_within(self, depth: int, origins: Iterable[str]) -> list[Fact]:
        """Return the facts that are the 1st to `depth`-th edge from an origin, nearest first."""
        passed = self._nodes_within(depth - 1, origins)
        return [fact for node in passed for fact in self._facts.get(node, ())]

    def closeness(self, entity: str, center: str) -> float:
        """Return Graphiti's score of an entity by its distance to the center."""
        if entity == center:
            return _CENTER
        one_way = any(fact.target == center for fact in self._facts.get(entity, ()))
        other_way = any(fact.target == entity for fact in self._facts.get(center, ()))
        return _ADJACENT if one_way or other_way else _ELSEWHERE

    def mentions(self, entity: str) -> int:
        return self._mentions[entity]

    def _nodes_within(self, depth: int, origins: Iterable[str]) -> Sequence[str]:
        """Return the origins and the nodes that at most `depth` edges lead to, nearest first."""
        frontier = list(dict.fromkeys(origins)) if depth >= 0 else []
        found = dict.fromkeys(frontier)
        for _ in range(depth):
            targets = dict.fromkeys(chain.from_iterable(map(self._targets, frontier)))
            frontier = [node for node in targets if node not in found]
            found |= dict.fromkeys(frontier)
        return list(found)

    def _targets(self, node: str) -> Iterator[str]:
        yield from self._mentioned.get(node, ())
        yield from (fact.target for fact in self._facts.get(node, ()))


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
    driver.search_interface = driver.graph_operations_interface = GroupSearch(indexes)
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
    fact_scores = _fact_scores(results, config, indexes, center)
    return ScoredResults(
        facts=_pairs(results.edges, fact_scores),
        entities=_pairs(results.nodes, results.node_reranker_scores),
        episodes=_pairs(results.episodes, results.episode_reranker_scores),
        communities=_pairs(results.communities, results.community_reranker_scores),
    )


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


def _pairs(values: Iterable[Node | Edge], scores: Iterable[float]) -> list[ScoredUuid]:
    return [(value.uuid, float(score)) for value, score in zip(values, scores, strict=True)]
