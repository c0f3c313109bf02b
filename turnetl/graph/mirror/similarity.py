"""Similarity to a query's vector, as Neo4j scores it: (1 + cosine) / 2 in float32.

A minimum score is compared as Java does it: the float32 score with a double.
"""

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Protocol

import numpy as np

from turnetl.graph.mirror.vectors import VectorIndex
from turnetl.llm.vectors import unpack
from turnetl.model import Vector

ScoredUuid = tuple[str, float]
"""A uuid and its score."""


class _Embedded(Protocol):
    @property
    def uuid(self) -> str: ...

    @property
    def embedding(self) -> Vector | None: ...


class SimilarityIndex:
    """Vectors of nodes or edges, in the order in which they were added."""

    def __init__(self) -> None:
        self._index: VectorIndex | None = None
        self._seen = 0

    def extend(self, values: Iterable[_Embedded]) -> None:
        """Add the values after those of the previous calls."""
        for value in islice(values, self._seen, None):
            self._seen += 1
            if value.embedding is not None:
                self._add(value.uuid, value.embedding)

    def nearest(self, vector: Sequence[float], limit: int, min_score: float) -> list[ScoredUuid]:
        """Return the nearest, best first, with a score above `min_score`."""
        if self._index is None:
            return []
        query = np.asarray(vector, dtype=np.float32)[np.newaxis, :]
        nearest = self._index.nearest(query, limit)[0]
        scored = ((uuid, _score(cosine)) for uuid, cosine in nearest)
        return [(uuid, score) for uuid, score in scored if score > min_score]

    def _add(self, uuid: str, vector: Vector) -> None:
        if self._index is None:
            self._index = VectorIndex(len(unpack(vector)))
        self._index.add(uuid, vector)


def _score(cosine: float) -> float:
    return float((np.float32(1) + np.float32(cosine)) / np.float32(2))
