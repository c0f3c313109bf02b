"""An index of vectors: one float32 matrix that grows, searched by cosine."""

from collections.abc import Iterable

import numpy as np

from turnetl.llm.vectors import Matrix, unpack
from turnetl.model import Vector

_INITIAL_ROWS = 64


class VectorIndex:
    """Keyed vectors of unit length. Adding one is O(1), amortised."""

    def __init__(self, dimensions: int, vectors: Iterable[tuple[str, Vector]] = ()) -> None:
        self.dimensions = dimensions
        self._rows = np.zeros((_INITIAL_ROWS, dimensions), dtype=np.float32)
        self._keys: list[str] = []
        self._positions: dict[str, int] = {}
        for key, vector in vectors:
            self.add(key, vector)

    def add(self, key: str, vector: Vector) -> None:
        """Add a vector; a vector with the same key is replaced.

        Raises:
            ValueError: the vector has other dimensions than the index.
        """
        row = unpack(vector)
        if len(row) != self.dimensions:
            raise ValueError(
                f"cannot add a vector of {len(row)} dimensions to an index of {self.dimensions}"
            )
        position = self._positions.get(key)
        if position is None:
            position = self._positions[key] = len(self._keys)
            self._keys.append(key)
            self._grow()
        self._rows[position] = row

    def nearest(self, queries: Matrix, limit: int) -> list[list[tuple[str, float]]]:
        """Return for each query the best keys with their cosines, best first, ties by position."""
        # Not a product of matrices: its threads wait actively for each other, which takes ten times
        # the CPU on a machine where other programs run.
        rows = self._rows[: len(self._keys)]
        return [self._best(np.einsum("ij,j->i", rows, query), limit) for query in queries]

    def _best(self, cosines: Matrix, limit: int) -> list[tuple[str, float]]:
        candidates = np.arange(len(cosines))
        if len(candidates) > 2 * limit > 0:
            candidates = np.flatnonzero(cosines >= np.partition(cosines, -limit)[-limit])
        order = candidates[np.argsort(-cosines[candidates], kind="stable")][:limit]
        return [(self._keys[position], float(cosines[position])) for position in order]

    def _grow(self) -> None:
        if len(self._keys) > len(self._rows):
            self._rows = np.concatenate([self._rows, np.zeros_like(self._rows)])
