"""Vectors and what lies near them: one float32 matrix that grows, searched by cosine."""

from collections.abc import Iterable

import numpy as np

from turnetl.llm.vectors import Matrix, unpack
from turnetl.model import Vector

_FIRST_ROWS = 64


class Vectors:
    """Keyed vectors of unit length. Adding one is O(1) but for a doubling now and then."""

    def __init__(self, dimensions: int, vectors: Iterable[tuple[str, Vector]] = ()) -> None:
        self.dimensions = dimensions
        self._rows = np.zeros((_FIRST_ROWS, dimensions), dtype=np.float32)
        self._keys: list[str] = []
        self._places: dict[str, int] = {}
        for key, vector in vectors:
            self.add(key, vector)

    def add(self, key: str, vector: Vector) -> None:
        """Add a vector; one that is there under the same key is replaced.

        Raises:
            ValueError: the vector has another length than the matrix.
        """
        row = unpack(vector)
        if len(row) != self.dimensions:
            raise ValueError(f"a vector of {len(row)} dimensions among {self.dimensions}")
        place = self._places.get(key)
        if place is None:
            place = self._places[key] = len(self._keys)
            self._keys.append(key)
            self._make_room()
        self._rows[place] = row

    def similarities(self, queries: Matrix) -> Matrix:
        """Return the cosine of each query with each key: one row a query, one product for all."""
        product: Matrix = queries @ self._rows[: len(self._keys)].T
        return product

    def nearest(self, queries: Matrix, limit: int) -> list[list[tuple[str, float]]]:
        """Return for each query the best keys with their cosines, best first, ties by row."""
        # Not as a product of matrices: threads that wait for one another busily do that, at ten
        # times the CPU where others work too.
        rows = self._rows[: len(self._keys)]
        return [self._best(np.einsum("ij,j->i", rows, query), limit) for query in queries]

    def _best(self, cosines: Matrix, limit: int) -> list[tuple[str, float]]:
        found = np.arange(len(cosines))
        if len(found) > 2 * limit > 0:
            found = np.flatnonzero(cosines >= np.partition(cosines, -limit)[-limit])
        order = found[np.argsort(-cosines[found], kind="stable")][:limit]
        return [(self._keys[place], float(cosines[place])) for place in order]

    def _make_room(self) -> None:
        if len(self._keys) > len(self._rows):
            self._rows = np.concatenate([self._rows, np.zeros_like(self._rows)])
