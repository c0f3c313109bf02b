"""Graphiti's MinHash signatures, computed once.

Graphiti computes the signature of each candidate's name anew for every name of a turn: 87 a turn,
half of its CPU. It offers no seam for that, so this puts one function of
`graphiti_core.utils.maintenance.dedup_helpers` in the place of another that gives the same. It is
the only thing of Graphiti that turnetl replaces; a test fails when Graphiti changes it.
"""

from collections.abc import Iterable
from functools import lru_cache

import numpy as np
from graphiti_core.utils.maintenance import dedup_helpers
from numpy.typing import NDArray

_NAMES, _SHINGLES = 4_000, 60_000
"""Remembered: 10 and 20 MB. There are no more shingles of three letters, digits or apostrophes."""


def remember() -> None:
    """Let Graphiti remember signatures from now on. Safe to repeat."""
    dedup_helpers._minhash_signature = _signature  # noqa: SLF001 - see above


def _signature(shingles: Iterable[str]) -> tuple[int, ...]:
    return _of(frozenset(shingles))


@lru_cache(maxsize=_NAMES)
def _of(shingles: frozenset[str]) -> tuple[int, ...]:
    if not shingles:
        return ()
    least: NDArray[np.uint64] = np.minimum.reduce([_hashes(shingle) for shingle in shingles])
    return tuple(least.tolist())


@lru_cache(maxsize=_SHINGLES)
def _hashes(shingle: str) -> NDArray[np.uint64]:
    seeds = range(dedup_helpers._MINHASH_PERMUTATIONS)  # noqa: SLF001 - see above
    hashes = [dedup_helpers._hash_shingle(shingle, seed) for seed in seeds]  # noqa: SLF001
    return np.array(hashes, dtype=np.uint64)
