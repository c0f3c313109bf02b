"""Vectors as lists of Python floats. A module without numpy: what only plans a run imports it."""

import struct

from turnetl.base.model import Vector

_BYTES = struct.calcsize("<f")


def floats(vector: Vector) -> list[float]:
    """Return a vector as a list of Python floats."""
    return list(struct.unpack(f"<{len(vector) // _BYTES}f", vector))
