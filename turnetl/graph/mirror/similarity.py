"""Similarity to a query's vector, as Neo4j scores it: (1 + cosine) / 2 in float32.

A minimum score is compared as Java does it: the float32 score with a double.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Protocol

import numpy as np

from turnetl.graph.mirror.vectors import Nearest, VectorIndex, best, exact_cosines, finite
from turnetl.llm.vectors import Matrix, unpack
from turnetl.model import Vector

QueryVector = Sequence[float]
"""The embedding of a query, as Graphiti passes it."""
ScoredUuid = tuple[str, float]
"""A uuid and its score."""

_ROUNDING = 1e-6
"""More than a score is rounded."""


class _Embedded(Protocol):
    @property
    def uuid(self) -> str: ...

    @property
    def embedding(self) -> Vector | None: ...


class SimilarityIndex:
    """Vectors of nodes or edges, in the order in which they were added."""

    def __init__(self) -> None:
        self._index: VectorIndex | None = None

    def extend(self, values: Iterable[_Embedded]) -> None:
        """Add values, whose uuids are new. Those without a vector are omitted."""
        keyed = _vectors(values)
        for first in islice(keyed, 1):
            self._index = self._index or VectorIndex(len(unpack(first[1])))
            self._index.extend(chain([first], keyed))

    def nearest(
        self, vectors: Sequence[QueryVector], limit: int, min_score: float
    ) -> list[list[ScoredUuid]]:
        """Return those nearest to each vector, best first, with a score above `min_score`."""
        if self._index is None:
            return [[] for _ in vectors]
        nearest = self._index.nearest(_queries(vectors), limit, 2 * min_score - 1 - _ROUNDING)
        return [_above(of_vector, min_score) for of_vector in nearest]


def nearest_of(
    values: Iterable[_Embedded], vector: QueryVector, limit: int, min_score: float
) -> list[ScoredUuid]:
    """Return the nearest of a few values, as an index of them returns them."""
    keyed = list(_vectors(values))
    (query,) = finite(_queries([vector]))
    found = exact_cosines([embedding for _, embedding in keyed], query)
    return _above(best([key for key, _ in keyed], found, limit), min_score)


def _vectors(values: Iterable[_Embedded]) -> Iterator[tuple[str, Vector]]:
    return ((value.uuid, value.embedding) for value in values if value.embedding is not None)


def _queries(vectors: Sequence[QueryVector]) -> Matrix:
    queries: Matrix = np.asarray(vectors, dtype=np.float32)
    return queries


def _above(nearest: Sequence[Nearest], min_score: float) -> list[ScoredUuid]:
    cosine = np.array([cosine for _, cosine in nearest], dtype=np.float32)
    scores: list[float] = ((np.float32(1) + cosine) / np.float32(2)).tolist()
    scored = zip(nearest, scores, strict=True)
    return [(uuid, score) for (uuid, _), score in scored if score > min_score]
