"""Caches what Graphiti computes from a name to compare it with others.

Graphiti computes the forms of every candidate name, and their MinHash signature, again for every
turn: 87 names, half of its CPU time. It has no hook for this, so this module replaces functions of
`graphiti_core.utils.maintenance.dedup_helpers` with ones that return the same values: the signature
with a faster one, the others with themselves behind a cache. They are the only part of Graphiti
that turnetl replaces; a test fails when Graphiti changes the signature.
"""

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import TypeVar

import numpy as np
from graphiti_core.utils.maintenance import dedup_helpers
from numpy.typing import NDArray

_MAX_NAMES, _MAX_SHINGLES = 4_000, 60_000
"""Cache entries: 20 MB each. There are no more than 60,000 shingles of three letters, digits or
apostrophes."""

_Input = TypeVar("_Input")
_Form = TypeVar("_Form")


def _cached(function: Callable[[_Input], _Form]) -> Callable[[_Input], _Form]:
    return lru_cache(maxsize=_MAX_NAMES)(function)


# Taken before they are replaced, so that a cache is never cached again.
_FORMS = {
    name: _cached(getattr(dedup_helpers, name))
    for name in ("_normalize_string_exact", "_normalize_name_for_fuzzy", "_shingles", "_lsh_bands")
}


def cache_forms_of_names() -> None:
    """Replace Graphiti's functions with the cached ones. Safe to repeat."""
    for name, function in _FORMS.items():
        setattr(dedup_helpers, name, function)
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
