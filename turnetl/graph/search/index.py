"""Nodes and edges of one kind: by uuid, by full text, and by vector. Each index is built once."""

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Generic, TypeVar

from turnetl.base.graph_model import Community, EpisodeNode
from turnetl.base.model import Entity, Fact
from turnetl.graph.mirror.fulltext import FullTextIndex
from turnetl.graph.mirror.similarity import ScoredUuid, SimilarityIndex, query_matrix
from turnetl.graph.search.searched_graph import Embedded
from turnetl.llm.float_lists import floats

Indexed = TypeVar("Indexed", Entity, Fact, EpisodeNode, Community)


class TextSearch(Generic[Indexed]):
    """Values by the terms of their texts, as Neo4j's full-text index finds them."""

    def __init__(
        self, values: Iterable[Indexed], texts: Callable[[Indexed], tuple[str, ...]]
    ) -> None:
        """Index the values.

        Args:
            values: in the order that decides between equal scores.
            texts: returns the fields of a value, as many for each.
        """
        self.by_uuid: dict[str, Indexed] = {value.uuid: value for value in values}
        self._texts: Callable[[Indexed], tuple[str, ...]] = texts

    def matching(self, query: str, limit: int) -> list[Indexed]:
        """Return the values that share terms with the query, best first."""
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


def fact_texts(fact: Fact) -> tuple[str, ...]:
    """Return the fields of Graphiti's full-text index of facts, without the group's name.

    Graphiti's index of a Neo4j has that name as a further field, so that a query that contains it
    matches everything in the group. Its index of an embedded graph has not.
    """
    return fact.relation, fact.text


def entity_texts(entity: Entity) -> tuple[str, ...]:
    """Return the fields of Graphiti's full-text index of entities, without the group's name."""
    return entity.name, entity.summary


def episode_texts(episode: EpisodeNode) -> tuple[str, ...]:
    """Return the fields of Graphiti's full-text index of episodes, without the group's name."""
    return episode.text, episode.source, episode.source_description


def community_texts(community: Community) -> tuple[str, ...]:
    """Return the fields of Graphiti's full-text index of communities, without the group's name."""
    return (community.name,)
