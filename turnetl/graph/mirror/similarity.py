"""Similarity to a query's vector, as Neo4j scores it: (1 + cosine) / 2 in float32.

A minimum score is compared as Java does it: the float32 score with a double.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Protocol

import numpy as np

from turnetl.base.model import Vector
from turnetl.graph.mirror.vectors import Nearest, VectorIndex, best, exact_cosines, finite
from turnetl.llm.vectors import Matrix, unpack

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

    def nearest(self, queries: Matrix, limit: int, min_score: float) -> list[list[ScoredUuid]]:
        """Return those nearest to each query, best first, with a score above `min_score`.

        The queries are rows, as of `query_matrix`.
        """
        if self._index is None:
            return [[] for _ in queries]
        nearest = self._index.nearest(queries, limit, 2 * min_score - 1 - _ROUNDING)
        return _above(nearest, min_score)


def query_matrix(vectors: Sequence[QueryVector]) -> Matrix:
    """Return the embeddings of queries as rows."""
    queries: Matrix = np.asarray(vectors, dtype=np.float32)
    return queries


def nearest_of(
    values: Iterable[_Embedded], vector: QueryVector, limit: int, min_score: float
) -> list[ScoredUuid]:
    """Return the nearest of a few values, as an index of them returns them."""
    keyed = list(_vectors(values))
    (query,) = finite(query_matrix([vector]))
    found = exact_cosines([embedding for _, embedding in keyed], query)
    (above,) = _above([best([key for key, _ in keyed], found, limit)], min_score)
    return above


def _vectors(values: Iterable[_Embedded]) -> Iterator[tuple[str, Vector]]:
    return ((value.uuid, value.embedding) for value in values if value.embedding is not None)


def _above(nearest: Sequence[Sequence[Nearest]], min_score: float) -> list[list[ScoredUuid]]:
    """Return for each query what has a score above the minimum."""
    cosines = np.array([cosine for of_query in nearest for _, cosine in of_query], np.float32)
    scores = iter(((np.float32(1) + cosines) / np.float32(2)).tolist())
    scored = [[(uuid, next(scores)) for uuid, _ in of_query] for of_query in nearest]
    return [[one for one in of_query if one[1] > min_score] for of_query in scored]
