"""Which entities and facts of a group come near a name or a sentence, nearest first.

Scores are as Neo4j's: (1 + cosine) / 2 as float32, compared with a double.
"""

import weakref
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Protocol

import numpy as np

from turnetl.graph.mirror.fulltext import FullText
from turnetl.graph.mirror.group import Things
from turnetl.graph.mirror.vectors import Vectors
from turnetl.llm.vectors import unpack
from turnetl.model import Entity, Fact, Vector

Near = tuple[str, float]
"""What was found, and how near it is."""


class Candidates:
    """Indexes over one group. Names and sentences never change, so that only new ones are added."""

    def __init__(self, group: Things) -> None:
        # Weakly: its indexes shall not keep a group in memory after its run.
        self.group: Things = weakref.proxy(group)
        self._entities = _Nearest()
        self._facts = _Nearest()
        self._words = FullText()
        self._known = 0
        self._pairs: dict[frozenset[str], list[str]] = {}

    def refresh(self) -> None:
        """Take in what was applied to the group since the last time."""
        self._entities.take(self.group.entities)
        for fact in islice(self.group.facts, self._known, None):
            self._words.add(fact.uuid, fact.name, fact.text)
            self._pairs.setdefault(frozenset((fact.source, fact.target)), []).append(fact.uuid)
            self._known += 1
        self._facts.take(self.group.facts)

    def entities_near(self, vector: Sequence[float], limit: int, above: float) -> list[Entity]:
        near = self.nearest_entities(vector, limit, above)
        return [entity for uuid, _ in near if (entity := self.group.entity(uuid))]

    def facts_near(self, vector: Sequence[float], limit: int, above: float) -> list[Fact]:
        return self._of(uuid for uuid, _ in self.nearest_facts(vector, limit, above))

    def facts_near_among(
        self, pair: frozenset[str], vector: Sequence[float], limit: int, above: float
    ) -> list[Fact]:
        """Return the nearest of the facts that join two of `pair`, loops included."""
        sides = [pair, *(frozenset((one,)) for one in sorted(pair) if len(pair) > 1)]
        facts = self._of(uuid for side in sides for uuid in self.joining(side))
        near = _Nearest()
        near.take(facts)
        return self._of(uuid for uuid, _ in near.near(vector, limit, above))

    def facts_about(self, query: str, limit: int) -> list[Fact]:
        """Return the facts that share words with the query, best first."""
        return self._of(self.worded(query, limit))

    def nearest_entities(self, vector: Sequence[float], limit: int, above: float) -> list[Near]:
        return self._entities.near(vector, limit, above)

    def nearest_facts(self, vector: Sequence[float], limit: int, above: float) -> list[Near]:
        return self._facts.near(vector, limit, above)

    def joining(self, pair: frozenset[str]) -> Sequence[str]:
        """Return the facts that join these two, or this one with itself."""
        return self._pairs.get(pair, ())

    def worded(self, query: str, limit: int, *more: FullText) -> list[str]:
        """Return the facts that share words with the query, best first; those of `more` too."""
        return [uuid for uuid, _ in self._words.search(query, limit, *more)]

    @property
    def words(self) -> FullText:
        """The words of the facts."""
        return self._words

    def _of(self, uuids: Iterable[str]) -> list[Fact]:
        return [fact for uuid in uuids if (fact := self.group.fact(uuid))]


class _Held(Protocol):
    @property
    def uuid(self) -> str: ...

    @property
    def embedding(self) -> Vector | None: ...


class _Nearest:
    """Vectors of things, in the order in which they came."""

    def __init__(self) -> None:
        self._vectors: Vectors | None = None
        self._taken = 0

    def take(self, things: Iterable[_Held]) -> None:
        """Add those behind the ones that were taken before."""
        for thing in islice(things, self._taken, None):
            self._taken += 1
            if thing.embedding is not None:
                self._add(thing.uuid, thing.embedding)

    def near(self, vector: Sequence[float], limit: int, above: float) -> list[Near]:
        if self._vectors is None:
            return []
        query = np.asarray(vector, dtype=np.float32)[np.newaxis, :]
        found = self._vectors.nearest(query, limit)[0]
        scored = ((uuid, _score(cosine)) for uuid, cosine in found)
        return [(uuid, score) for uuid, score in scored if score > above]

    def _add(self, uuid: str, vector: Vector) -> None:
        if self._vectors is None:
            self._vectors = Vectors(len(unpack(vector)))
        self._vectors.add(uuid, vector)


def _score(cosine: float) -> float:
    return float((np.float32(1) + np.float32(cosine)) / np.float32(2))
