"""Similarity to a query's vector, as Neo4j scores it: (1 + cosine) / 2 in float32.

A minimum score is compared as Java does it: the float32 score with a double.

Vectors are searched roughly as integers, which take a quarter of the memory and time of float32.
How far a rough cosine can be from the exact one is known, and every vector that may be among the
nearest is compared again. Exact cosines of a vector do not depend on which others are compared, so
that a search of a part of the vectors gives the same ones.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from turnetl.base.model import Vector
from turnetl.llm.vectors import Int8s, Matrix, integer_products, pack, quantized, stack, unpack

_INITIAL_ROWS = 64
_BLOCK_ROWS = 1_024
"""Rows that are made integers together: few enough for the cache of a processor."""
_QUERIES = 32
"""Queries that are compared together, for the memory that this takes."""
_FEW = 4
"""A group with at most this many times the limit of a search is compared exactly, as a whole."""
_RECALLED_ROWS, _RECALLED_SEARCHES = 2_000, 500
"""From how many vectors on the latest searches are kept, and how many of them."""
_RECALLED_ADDED = 1_024
"""Vectors added since a search, beyond which its kept result is discarded."""
_SUM_ROUNDING = 2e-6
"""More than float32 rounds in a rough cosine, relative to the lengths of both vectors."""
_TINY = 1e-44
"""More than float32 rounds where numbers are almost zero."""
_MAX_LENGTH = 1e18
"""The products of longer vectors may exceed float32."""
_SHORT = 1e12
"""A vector without larger numbers is not as long."""

Number = TypeVar("Number", np.int8, np.float32)
Positions = NDArray[np.int64]
Nearest = tuple[str, float]
"""A key and its cosine."""
_Search = tuple[bytes, int, float]
"""The query, the limit and the minimum."""


class VectorIndex:
    """Keyed vectors of unit length. Adding one is O(1), amortised.

    A vector that is not finite, or whose products may not be, counts as zeros. The vectors
    themselves are those that were added, not copies.
    """

    def __init__(self, dimensions: int) -> None:
        self.dimensions = dimensions
        self._keys: list[str] = []
        self._vectors: list[Vector] = []
        self._integers: Int8s = np.zeros((0, dimensions), dtype=np.int8)
        self._scales: Matrix = np.zeros(0, dtype=np.float32)
        self._quantized = 0
        """How many vectors are also integers; few vectors are compared without."""
        self._longest = self._largest_error = 0.0
        """Of these: the greatest length, and the greatest distance from the integers."""
        self._recent: dict[_Search, tuple[int, Positions]] = {}
        """How many vectors were searched, and where the nearest of them are: a turn that ran ahead
        is searched for again when it is committed."""

    def extend(self, keyed: Iterable[tuple[str, Vector]]) -> None:
        """Add vectors with new keys; ValueError if one has other dimensions: none was added."""
        checked = iter([(key, self._checked(vector)) for key, vector in keyed])
        while block := list(islice(checked, _BLOCK_ROWS)):
            self._keys += [key for key, _ in block]
            self._vectors += _finite([vector for _, vector in block])
        if len(self._keys) >= _BLOCK_ROWS:
            self._quantize_added()

    def nearest(
        self, queries: Matrix, limit: int, min_cosine: float = -np.inf
    ) -> list[list[Nearest]]:
        """Return for each query the best keys with their cosines, best first.

        Equal ones come in order of insertion. Some with a cosine below the minimum may be missing.
        The cost is least if many queries are searched together; the results do not depend on it.
        """
        queries = finite(queries)
        if len(self._keys) <= _FEW * limit:
            exact = (exact_cosines(self._vectors, part) for part in _parts(queries))
            return [best_keys(self._keys, cosines, limit) for part in exact for cosines in part]
        searches = [(query.tobytes(), limit, min_cosine) for query in queries]
        recalled = [self._recalled(search) for search in searches]
        unknown = [number for number, positions in enumerate(recalled) if positions is None]
        found = iter(self._possible_all(queries[unknown], limit, min_cosine))
        return [
            self._best(query, search, next(found) if positions is None else positions)
            for query, search, positions in zip(queries, searches, recalled, strict=True)
        ]

    def _best(self, query: Matrix, search: _Search, positions: Positions) -> list[Nearest]:
        exact = self._exact(positions, query)
        _, limit, _ = search
        order = _order(exact, limit)
        nearest = positions[order]
        if len(self._keys) >= _RECALLED_ROWS:
            self._remember(search, np.sort(nearest))
        return _keyed(self._keys, nearest, exact[order])

    def _recalled(self, search: _Search) -> Positions | None:
        """Return where those nearest before are, and all that were added since, if it was made."""
        count, best = self._recent.get(search, (0, None))
        if best is None or len(self._keys) - count > _RECALLED_ADDED:
            return None
        return np.concatenate([best, np.arange(count, len(self._keys))])

    def _remember(self, search: _Search, best: Positions) -> None:
        self._recent.pop(search, None)
        self._recent[search] = len(self._keys), best
        if len(self._recent) > _RECALLED_SEARCHES:
            del self._recent[next(iter(self._recent))]

    def _possible_all(self, queries: Matrix, limit: int, min_cosine: float) -> Iterable[Positions]:
        if not limit:
            return [np.arange(0)] * len(queries)
        self._quantize_added()
        return chain.from_iterable(
            self._possible(part, limit, min_cosine) for part in _parts(queries)
        )

    def _possible(self, queries: Matrix, limit: int, min_cosine: float) -> Iterator[Positions]:
        """Yield where the vectors are that may be among the nearest, in order of insertion."""
        count = len(self._keys)
        integers, scales = quantized(queries)
        errors = self._greatest_errors(queries, queries - integers * scales[:, np.newaxis])
        products = integer_products(self._integers[:count], integers)
        for query, of_query, scale, error in zip(queries, products, scales, errors, strict=True):
            rough = of_query * self._scales[:count]
            rough *= scale
            positions = np.flatnonzero(rough >= min_cosine - error)
            positions = _at_least(rough, positions, _last(rough[positions], limit) - 2 * error)
            if len(positions) > _FEW * limit:
                first = positions[np.argsort(-rough[positions])[:limit]]
                exact = self._exact(first, query)
                positions = _at_least(rough, positions, float(exact.min()) - error)
            yield positions

    def _greatest_errors(self, queries: Matrix, rounding: Matrix) -> list[float]:
        """Return for each query how far a rough cosine can be from the exact one."""
        lengths, rounded = _lengths(queries), _lengths(rounding)
        longest = self._longest + self._largest_error
        bounds = longest * rounded + self._largest_error * lengths
        errors: list[float] = (
            bounds + _SUM_ROUNDING * longest * (lengths + rounded) + _TINY
        ).tolist()
        return errors

    def _exact(self, positions: Positions, query: Matrix) -> Matrix:
        return exact_cosines([self._vectors[position] for position in positions.tolist()], query)

    def _checked(self, vector: Vector) -> Vector:
        dimensions = len(vector) // np.dtype(np.float32).itemsize
        if dimensions != self.dimensions:
            raise ValueError(
                f"cannot add a vector of {dimensions} dimensions to an index of {self.dimensions}"
            )
        return vector

    def _quantize_added(self) -> None:
        """Make integers of the vectors that were added since the last call."""
        self._reserve(len(self._keys))
        while self._quantized < len(self._keys):
            added = slice(self._quantized, min(self._quantized + _BLOCK_ROWS, len(self._keys)))
            rows = stack(self._vectors[added])
            integers, scales = quantized(rows)
            self._integers[added], self._scales[added] = integers, scales
            errors = _lengths(rows - integers * scales[:, np.newaxis])
            self._longest = max(self._longest, float(_lengths(rows).max()))
            self._largest_error = max(self._largest_error, float(errors.max()))
            self._quantized = added.stop

    def _reserve(self, rows: int) -> None:
        if rows > len(self._scales):
            rows = max(rows, 2 * len(self._scales), _INITIAL_ROWS)
            self._integers = _grown(self._integers, np.zeros((rows, self.dimensions), np.int8))
            self._scales = _grown(self._scales, np.zeros(rows, np.float32))


def _parts(queries: Matrix) -> Iterator[Matrix]:
    """Yield the queries that are compared together."""
    return (queries[first : first + _QUERIES] for first in range(0, len(queries), _QUERIES))


def exact_cosines(vectors: Sequence[Vector], queries: Matrix) -> Matrix:
    """Return the inner product of each vector with the query; each is independent of the others.

    The products of two float32 are exact in float64, and so is their sum up to what the rounding to
    float32 removes. Several queries are rows, and then the rows of the result.
    """
    if not vectors:
        return np.zeros((*queries.shape[:-1], 0), dtype=np.float32)
    products = np.multiply(stack(vectors), queries[..., np.newaxis, :], dtype=np.float64)
    sums: Matrix = products.sum(axis=-1).astype(np.float32)
    return sums


def best_keys(keys: Sequence[str], cosines: Matrix, limit: int) -> list[Nearest]:
    """Return the keys with the highest cosines, best first; among equal ones the first."""
    order = _order(cosines, limit)
    return _keyed(keys, order, cosines[order])


def _keyed(keys: Sequence[str], positions: Positions, cosines: Matrix) -> list[Nearest]:
    return list(zip([keys[at] for at in positions.tolist()], cosines.tolist(), strict=True))


def finite(rows: Matrix) -> Matrix:
    """Return the rows, with zeros for one that is not finite, or whose products may not be."""
    if _are_short(rows):
        return rows
    are_finite = _lengths(rows) <= _MAX_LENGTH
    return rows if are_finite.all() else np.where(are_finite[:, np.newaxis], rows, np.float32(0))


def _last(cosines: Matrix, limit: int) -> float:
    """Return the lowest of the highest cosines."""
    count = len(cosines)
    return float(np.partition(cosines, count - limit)[count - limit]) if count > limit else -np.inf


def _at_least(cosines: Matrix, positions: Positions, least: float) -> Positions:
    return positions[cosines[positions] >= least]


def _order(cosines: Matrix, limit: int) -> Positions:
    """Return where the highest cosines are, best first."""
    return np.argsort(-cosines, kind="stable")[:limit]


def _finite(vectors: Sequence[Vector]) -> Iterable[Vector]:
    """Return the vectors, with zeros for one that is not finite; see `finite`."""
    rows = stack(vectors)
    return vectors if _are_short(rows) else map(pack, finite(rows))


def _are_short(rows: Matrix) -> bool:
    return bool(np.abs(rows).max(initial=0) <= _SHORT)


def _grown(rows: NDArray[Number], larger: NDArray[Number]) -> NDArray[Number]:
    """Return the larger array with the rows. Memory of it that is not written takes no space."""
    larger[: len(rows)] = rows
    return larger


def _lengths(rows: Matrix) -> NDArray[np.float64]:
    lengths: NDArray[np.float64] = np.sqrt(np.square(rows, dtype=np.float64).sum(axis=1))
    return lengths


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
        """Return those nearest to each query, a row, best first, with a score above `min_score`."""
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
    (above,) = _above([best_keys([key for key, _ in keyed], found, limit)], min_score)
    return above


def _vectors(values: Iterable[_Embedded]) -> Iterator[tuple[str, Vector]]:
    return ((value.uuid, value.embedding) for value in values if value.embedding is not None)


def _above(nearest: Sequence[Sequence[Nearest]], min_score: float) -> list[list[ScoredUuid]]:
    """Return for each query what has a score above the minimum."""
    cosines = np.array([cosine for of_query in nearest for _, cosine in of_query], np.float32)
    scores = iter(((np.float32(1) + cosines) / np.float32(2)).tolist())
    scored = [[(uuid, next(scores)) for uuid, _ in of_query] for of_query in nearest]
    return [[one for one in of_query if one[1] > min_score] for of_query in scored]
