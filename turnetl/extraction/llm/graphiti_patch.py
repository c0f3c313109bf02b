"""Caches Graphiti's MinHash signatures.

Graphiti computes the signature of every candidate name again for every name of a turn: 87 per turn,
half of its CPU time. It has no hook for this, so this module replaces one function of
`graphiti_core.utils.maintenance.dedup_helpers` with one that returns the same values. It is the
only part of Graphiti that turnetl replaces; a test fails when Graphiti changes the function.
"""

from collections.abc import Iterable
from functools import lru_cache

import numpy as np
from graphiti_core.utils.maintenance import dedup_helpers
from numpy.typing import NDArray

_MAX_NAMES, _MAX_SHINGLES = 4_000, 60_000
"""Cache entries: 10 and 20 MB. There are no more than 60,000 shingles of three letters, digits or
apostrophes."""


def cache_signatures() -> None:
    """Replace Graphiti's signature function with the cached one. Safe to repeat."""
    dedup_helpers._minhash_signature = _signature  # noqa: SLF001 - see above


def _signature(shingles: Iterable[str]) -> tuple[int, ...]:
    return _cached_signature(frozenset(shingles))


@lru_cache(maxsize=_MAX_NAMES)
def _cached_signature(shingles: frozenset[str]) -> tuple[int, ...]:
    if not shingles:
        return ()
    least: NDArray[np.uint64] = np.minimum.reduce([_hashes(shingle) for shingle in shingles])
    return tuple(least.tolist())


@lru_cache(maxsize=_MAX_SHINGLES)
def _hashes(shingle: str) -> NDArray[np.uint64]:
    seeds = range(dedup_helpers._MINHASH_PERMUTATIONS)  # noqa: SLF001 - see above
    hashes = [dedup_helpers._hash_shingle(shingle, seed) for seed in seeds]  # noqa: SLF001
    return np.array(hashes, dtype=np.uint64)
