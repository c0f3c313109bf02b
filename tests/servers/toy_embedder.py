"""A fake embedder: equal words give equal vectors on every machine."""

import hashlib
import re
from collections.abc import Sequence

import numpy as np

from turnetl.base.model import Vector


class ToyEmbedder:
    """Sums one random direction per word: texts with common words are similar."""

    name = "toy/1"
    dimensions = 64

    def __init__(self) -> None:
        self.embedded: list[str] = []

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        self.embedded += texts
        return [self._vector(text) for text in texts]

    async def close(self) -> None:
        pass

    def _vector(self, text: str) -> Vector:
        total = np.zeros(self.dimensions, dtype=np.float32)
        for word in re.findall(r"\w+", text.lower()) or [""]:
            seed = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=4).digest(), "big")
            total += np.random.default_rng(seed).standard_normal(self.dimensions).astype("<f4")
        return Vector((total / np.linalg.norm(total)).astype("<f4").tobytes())
