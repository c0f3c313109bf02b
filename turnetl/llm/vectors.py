"""Vectors as bytes, as they are stored, and as arrays, as they are computed with."""

import asyncio
from collections.abc import Sequence

import numkong
import numpy as np
from numpy.typing import ArrayLike, NDArray

from turnetl.base.batched import batched
from turnetl.base.model import Vector
from turnetl.llm.embedders import Embedder

Matrix = NDArray[np.float32]


def pack(numbers: ArrayLike) -> Vector:
    return Vector(np.asarray(numbers, dtype="<f4").tobytes())


def unpack(vector: Vector) -> Matrix:
    return np.frombuffer(vector, dtype="<f4")


def stack(vectors: Sequence[Vector]) -> Matrix:
    rows: Matrix = np.frombuffer(b"".join(vectors), dtype="<f4").reshape(len(vectors), -1)
    return rows


_EMBEDDED_BATCH = 1_000
"""Texts; other tasks run between two batches."""


async def embedded(texts: Sequence[str], embedder: Embedder) -> Matrix:
    """Return a row per text, in their order; each distinct text is embedded once."""
    distinct = sorted({*texts})
    vectors: list[Vector] = []
    for batch in batched(distinct, _EMBEDDED_BATCH):
        vectors += await embedder.embed(batch)
        await asyncio.sleep(0)
    if not vectors:
        return np.zeros((0, embedder.dimensions), dtype=np.float32)
    rows = {text: row for row, text in enumerate(distinct)}
    return stack(vectors)[[rows[text] for text in texts]]


Int8s = NDArray[np.int8]
"""Vectors whose products take a fraction of the time of float32."""

SCALE = 127
"""Of the largest number of a vector."""
_BLOCK_ROWS = 1_024
"""Vectors that are compared with all queries before the next ones: few enough for a cache."""
_QUERY_TILE = 4
"""Queries that numkong multiplies in one pass: five take as long as eight."""


def quantized(vectors: Matrix) -> tuple[Int8s, Matrix]:
    """Return vectors as integers, and the number by which each row is to be multiplied."""
    scales = np.abs(vectors).max(axis=1, initial=0) / SCALE
    divisors = np.where(scales > 0, scales, 1)[:, None]
    # The scale of almost zero numbers is rounded so much that they exceed it.
    integers = np.rint(vectors / divisors).clip(-SCALE, SCALE).astype(np.int8)
    return integers, scales.astype(np.float32)


def integer_products(vectors: Int8s, queries: Int8s) -> Matrix:
    """Return the inner product of each query, as a row, with each vector, as a column."""
    count, dimensions = queries.shape
    products = np.empty((count, len(vectors)), dtype=np.float32)
    # `np.pad` takes ten times as long.
    padded = np.zeros((count + -count % _QUERY_TILE, dimensions), dtype=np.int8)
    padded[:count] = queries
    packed = numkong.dots_pack(padded)
    for first in range(0, len(vectors), _BLOCK_ROWS):
        block = slice(first, first + _BLOCK_ROWS)
        products[:, block] = np.asarray(numkong.dots_packed(vectors[block], packed)).T[:count]
    return products
