"""Candidate search: the entities and facts of a group that are most similar to a name or sentence.

`similarity` says how vectors are compared, `fulltext` how terms are.
"""

import weakref
from collections.abc import Collection, Iterable, Iterator, Reversible, Sequence
from itertools import islice
from typing import TypeVar

from turnetl.base.model import Entity, Fact
from turnetl.graph.mirror.fulltext import FullTextIndex
from turnetl.graph.mirror.group import GroupView
from turnetl.graph.mirror.similarity import (
    QueryVector,
    ScoredUuid,
    SimilarityIndex,
    nearest_of,
    query_matrix,
)
from turnetl.llm.vectors import Matrix

_Value = TypeVar("_Value", Entity, Fact)


class CandidateIndex:
    """Indexes over one group. Names and fact texts never change, so only new ones are added."""

    def __init__(self, group: GroupView) -> None:
        # A weak reference: the indexes must not keep a group in memory after its run.
        self.group: GroupView = weakref.proxy(group)
        self._entity_vectors = SimilarityIndex()
        self._fact_vectors = SimilarityIndex()
        self._fulltext = FullTextIndex()
        self._indexed_entities = self._indexed_facts = 0
        self._by_endpoints: dict[frozenset[str], list[str]] = {}

    def refresh(self) -> None:
        """Index the entities and facts that were added to the group since the last refresh.

        What one that fails does not index, the next one does.

        Raises:
            ValueError: a vector has other dimensions than those before it.
        """
        entities = _after(self.group.entities, self._indexed_entities)
        self._entity_vectors.extend(entities)
        self._indexed_entities += len(entities)
        facts = _after(self.group.facts, self._indexed_facts)
        self._fact_vectors.extend(facts)
        self._indexed_facts += len(facts)
        for fact in facts:
            self._fulltext.add(fact.uuid, fact.relation, fact.text)
            endpoints = frozenset((fact.source, fact.target))
            self._by_endpoints.setdefault(endpoints, []).append(fact.uuid)

    def entities_near(
        self, vectors: Sequence[QueryVector], limit: int, min_score: float
    ) -> list[list[Entity]]:
        """Return the entities nearest to each vector, best first."""
        nearest = self.nearest_entities(query_matrix(vectors), limit, min_score)
        return [
            [entity for uuid, _ in scored if (entity := self.group.entity(uuid))]
            for scored in nearest
        ]

    def facts_near(
        self, vectors: Sequence[QueryVector], limit: int, min_score: float
    ) -> list[list[Fact]]:
        """Return the facts nearest to each vector, best first."""
        nearest = self.nearest_facts(query_matrix(vectors), limit, min_score)
        return [self._facts(uuid for uuid, _ in scored) for scored in nearest]

    def facts_near_between(
        self, pair: frozenset[str], vector: QueryVector, limit: int, min_score: float
    ) -> list[Fact]:
        """Return the nearest of the facts whose two endpoints are in `pair`, loops included."""
        nearest = nearest_of(self._facts(self._between(pair)), vector, limit, min_score)
        return self._facts(uuid for uuid, _ in nearest)

    def facts_matching(
        self, query: str, limit: int, pair: frozenset[str] | None = None
    ) -> list[Fact]:
        """Return the facts that share terms with the query, best first.

        With a pair, only those of them whose two endpoints are in it, loops included.
        """
        uuids = self.fulltext_matches(query, limit)
        if pair is not None:
            between = set(self._between(pair))
            uuids = [uuid for uuid in uuids if uuid in between]
        return self._facts(uuids)

    def nearest_entities(
        self, queries: Matrix, limit: int, min_score: float
    ) -> list[list[ScoredUuid]]:
        """Return the entities nearest to each query, a row, best first, with their scores."""
        return self._entity_vectors.nearest(queries, limit, min_score)

    def nearest_facts(
        self, queries: Matrix, limit: int, min_score: float
    ) -> list[list[ScoredUuid]]:
        """Return the facts nearest to each query, a row, best first, with their scores."""
        return self._fact_vectors.nearest(queries, limit, min_score)

    def fact_uuids_between(self, endpoints: frozenset[str]) -> Sequence[str]:
        """Return the facts between two entities, or from one entity to itself."""
        return self._by_endpoints.get(endpoints, ())

    def fulltext_matches(self, query: str, limit: int, *more: FullTextIndex) -> list[str]:
        """Return the facts that share terms with the query, best first; `more` is searched too."""
        return [uuid for uuid, _ in self._fulltext.search(query, limit, *more)]

    @property
    def fulltext(self) -> FullTextIndex:
        """The full-text index of the facts."""
        return self._fulltext

    def _between(self, pair: frozenset[str]) -> Iterator[str]:
        """Yield the facts whose two endpoints are in the pair, loops last."""
        loops = (frozenset((entity,)) for entity in sorted(pair) if len(pair) > 1)
        return (uuid for key in (pair, *loops) for uuid in self.fact_uuids_between(key))

    def _facts(self, uuids: Iterable[str]) -> list[Fact]:
        return [fact for uuid in uuids if (fact := self.group.fact(uuid))]


def _after(values: Iterable[_Value], count: int) -> list[_Value]:
    """Return the values after the first ones; of a dict, without a pass over those."""
    if isinstance(values, Collection) and isinstance(values, Reversible):
        return list(islice(reversed(values), len(values) - count))[::-1]
    return list(islice(values, count, None))
