"""A question as texts and vectors are compared with it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from turnetl.graph.mirror.bm25 import Words, shares
from turnetl.llm.embedders.port import Embedder
from turnetl.llm.vectors import stack
from turnetl.model import Vector

Scores = NDArray[np.float64]

_WHY = re.compile(r"\b(?:why|how come|reasons?)\b", re.IGNORECASE)
_REASON = re.compile(
    r"\b(?:because|since|so that|due to|reason|caused?|caused by|decided|chose|instead of)\b",
    re.IGNORECASE,
)
_ANSWERED_BY = "because"
"""What the answer to a why says, though the question does not."""


@dataclass(frozen=True, slots=True)
class Query:
    text: str
    vector: NDArray[np.float32]
    asks_why: bool
    embedder: Embedder
    _words: Words

    @classmethod
    async def ask(cls, text: str, embedder: Embedder) -> "Query":
        (vector,) = await embedder.embed([text])
        why = _WHY.search(text) is not None
        return cls(text, stack([vector])[0], why, embedder, Words())

    def shares(self, texts: Sequence[str]) -> Scores:
        """Return what share each text holds of the question, and of the word that answers a why."""
        said = f"{self.text} {_ANSWERED_BY}" if self.asks_why else self.text
        return np.array(shares(said, texts, self._words))

    def asked(self, texts: Sequence[str]) -> NDArray[np.bool_]:
        """Say of each text whether it holds a word of the question."""
        return np.array(shares(self.text, texts, self._words)) > 0

    async def near(self, texts: Sequence[str], vectors: Sequence[Vector | None]) -> Scores:
        """Return the cosine of each with the question, 0 for opposites.

        Args:
            texts: what the vectors are of.
            vectors: stored ones; where there is none, the text is embedded now.
        """
        if not texts:
            return np.zeros(0)
        pairs = list(zip(texts, vectors, strict=True))
        unknown = [text for text, vector in pairs if vector is None]
        made = iter(await self.embedder.embed(unknown))
        known = [vector or next(made) for vector in vectors]
        return np.maximum((stack(known) @ self.vector).astype(np.float64), 0)

    def reasons(self, texts: Sequence[str]) -> Scores:
        """Return 1 for each text that gives a reason, if one is asked for; else 0."""
        given = [self.asks_why and _REASON.search(text) is not None for text in texts]
        return np.array(given, dtype=np.float64)
