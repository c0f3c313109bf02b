"""Compare int8 vectors with one vector: first all of them roughly, then the best ones exactly."""

import numpy as np
from numpy.typing import NDArray

from turnetl.llm.int8_vectors import Int8s, integer_products, quantized

Floats = NDArray[np.float32]
Rows = NDArray[np.int64]

_SAMPLED = 64
"""Every such number of values is looked at to find how high the best ones are."""


def rough_products(vectors: Int8s, vector: Floats) -> Floats:
    """Return the inner product of each row with a vector that is rounded as the rows are."""
    integers, scales = quantized(vector[None, :])
    of_rows: Floats = integer_products(vectors, integers)[0] * scales
    return of_rows


def exact_products(vectors: Int8s, vector: Floats) -> Floats:
    """Return the inner product of each row with a vector."""
    return vectors.astype(np.float32) @ vector


def highest(values: Floats, count: int) -> Rows:
    """Return where the highest values are, at least `count` of them if there are, ascending."""
    if len(values) <= count:
        return np.arange(len(values))
    sample = values[::_SAMPLED]
    wanted = 2 * count // _SAMPLED
    if wanted < len(sample):
        limit = np.partition(sample, len(sample) - wanted)[len(sample) - wanted]
        found = np.flatnonzero(values >= limit)
        if len(found) >= count:
            return found
    return np.sort(np.argpartition(-values, count - 1)[:count])
