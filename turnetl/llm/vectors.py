"""Vectors as bytes, as they are kept, and as numbers, as they are reckoned with: float32."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from turnetl.model import Vector

Matrix = NDArray[np.float32]


def pack(numbers: ArrayLike) -> Vector:
    """Return the numbers as a vector."""
    return Vector(np.asarray(numbers, dtype="<f4").tobytes())


def unpack(vector: Vector) -> Matrix:
    """Return the numbers of a vector."""
    return np.frombuffer(vector, dtype="<f4")


def floats(vector: Vector) -> list[float]:
    """Return the numbers of a vector as Python's own."""
    values: list[float] = unpack(vector).tolist()
    return values


def stack(vectors: Sequence[Vector]) -> Matrix:
    """Return the vectors as the rows of a matrix."""
    joined: Matrix = np.frombuffer(b"".join(vectors), dtype="<f4").reshape(len(vectors), -1)
    return joined
