"""Compare int8 vectors with one vector: first all of them roughly, then the best ones exactly."""

import numpy as np
import simsimd
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Int8s = NDArray[np.int8]
Rows = NDArray[np.int64]

SCALE = 127
"""Of the largest number of a vector."""
_SAMPLED = 64
"""Every such number of values is looked at to find how high the best ones are."""


def quantized(vectors: Floats) -> tuple[Int8s, Floats]:
    """Return vectors as integers, and the number by which each row is to be multiplied."""
    scales = np.abs(vectors).max(axis=1, initial=0) / SCALE
    divisors = np.where(scales > 0, scales, 1)[:, None]
    return np.rint(vectors / divisors).astype(np.int8), scales.astype(np.float32)


def rough_products(vectors: Int8s, vector: Floats) -> Floats:
    """Return the inner product of each row with a vector that is rounded as the rows are."""
    products = np.empty((1, len(vectors)), dtype=np.float32)
    if len(vectors):
        integers, scales = quantized(vector[None, :])
        simsimd.cdist(integers, vectors, metric="dot", out=products)
        products *= scales
    of_rows: Floats = products[0]
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
