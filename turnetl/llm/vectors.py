"""Vectors as bytes, as they are stored, and as float32 arrays, as they are computed with."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from turnetl.base.model import Vector

Matrix = NDArray[np.float32]


def pack(numbers: ArrayLike) -> Vector:
    """Return numbers as a vector."""
    return Vector(np.asarray(numbers, dtype="<f4").tobytes())


def unpack(vector: Vector) -> Matrix:
    """Return a vector as an array."""
    return np.frombuffer(vector, dtype="<f4")


def stack(vectors: Sequence[Vector]) -> Matrix:
    """Return vectors as the rows of a matrix."""
    rows: Matrix = np.frombuffer(b"".join(vectors), dtype="<f4").reshape(len(vectors), -1)
    return rows
