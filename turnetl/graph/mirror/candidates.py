"""Candidate search: the entities and facts of a group that are most similar to a name or sentence.

`similarity` says how vectors are compared, `fulltext` how terms are.
"""

import weakref
from collections.abc import Iterable, Sequence
from itertools import islice

from turnetl.graph.mirror.fulltext import FullTextIndex
from turnetl.graph.mirror.group import GroupView
from turnetl.graph.mirror.similarity import ScoredUuid, SimilarityIndex
from turnetl.model import Entity, Fact


class CandidateIndex:
    """Indexes over one group. Names and fact texts never change, so only new ones are added."""

    def __init__(self, group: GroupView) -> None:
        # A weak reference: the indexes must not keep a group in memory after its run.
        self.group: GroupView = weakref.proxy(group)
        self._entity_vectors = SimilarityIndex()
        self._fact_vectors = SimilarityIndex()
        self._fulltext = FullTextIndex()
        self._indexed_facts = 0
        self._by_endpoints: dict[frozenset[str], list[str]] = {}

    def refresh(self) -> None:
        """Index the entities and facts that were added to the group since the last refresh."""
        self._entity_vectors.extend(self.group.entities)
        for fact in islice(self.group.facts, self._indexed_facts, None):
            self._fulltext.add(fact.uuid, fact.relation, fact.text)
            endpoints = frozenset((fact.source, fact.target))
            self._by_endpoints.setdefault(endpoints, []).append(fact.uuid)
            self._indexed_facts += 1
        self._fact_vectors.extend(self.group.facts)

    def entities_near(self, vector: Sequence[float], limit: int, min_score: float) -> list[Entity]:
        nearest = self.nearest_entities(vector, limit, min_score)
        return [entity for uuid, _ in nearest if (entity := self.group.entity(uuid))]

    def facts_near(self, vector: Sequence[float], limit: int, min_score: float) -> list[Fact]:
        return self._facts(uuid for uuid, _ in self.nearest_facts(vector, limit, min_score))

    def facts_near_between(
        self, pair: frozenset[str], vector: Sequence[float], limit: int, min_score: float
    ) -> list[Fact]:
        """Return the nearest of the facts whose two endpoints are in `pair`, loops included."""
        loops = (frozenset((entity,)) for entity in sorted(pair) if len(pair) > 1)
        uuids = (uuid for key in (pair, *loops) for uuid in self.fact_uuids_between(key))
        facts = self._facts(uuids)
        vectors = SimilarityIndex()
        vectors.extend(facts)
        return self._facts(uuid for uuid, _ in vectors.nearest(vector, limit, min_score))

    def facts_matching(self, query: str, limit: int) -> list[Fact]:
        """Return the facts that share terms with the query, best first."""
        return self._facts(self.fulltext_matches(query, limit))

    def nearest_entities(
        self, vector: Sequence[float], limit: int, min_score: float
    ) -> list[ScoredUuid]:
        return self._entity_vectors.nearest(vector, limit, min_score)

    def nearest_facts(
        self, vector: Sequence[float], limit: int, min_score: float
    ) -> list[ScoredUuid]:
        return self._fact_vectors.nearest(vector, limit, min_score)

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

    def _facts(self, uuids: Iterable[str]) -> list[Fact]:
        return [fact for uuid in uuids if (fact := self.group.fact(uuid))]
