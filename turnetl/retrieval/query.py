"""A search query, and how texts and vectors compare with it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from turnetl.llm.embedders.port import Embedder
from turnetl.llm.vectors import stack
from turnetl.model import Vector
from turnetl.retrieval.bm25 import query_shares
from turnetl.retrieval.terms import Tokenizer

Scores = NDArray[np.float64]

_WHY = re.compile(r"\b(?:why|how come|reasons?)\b", re.IGNORECASE)
_REASON = re.compile(
    r"\b(?:because|since|so that|due to|reason|caused?|caused by|decided|chose|instead of)\b",
    re.IGNORECASE,
)
_REASON_TERM = "because"
"""A text that gives a reason contains it, though a query that asks why does not."""


@dataclass(frozen=True, slots=True)
class Query:
    text: str
    vector: NDArray[np.float32]
    asks_why: bool
    embedder: Embedder
    _tokenizer: Tokenizer

    @classmethod
    async def embed(cls, text: str, embedder: Embedder) -> "Query":
        (vector,) = await embedder.embed([text])
        asks_why = _WHY.search(text) is not None
        return cls(text, stack([vector])[0], asks_why, embedder, Tokenizer())

    def term_shares(self, texts: Sequence[str]) -> Scores:
        """Return the share of the query's terms that each text contains, from 0 to 1.

        A query that asks why has `because` as a further term.
        """
        query = f"{self.text} {_REASON_TERM}" if self.asks_why else self.text
        return np.array(query_shares(query, texts, self._tokenizer))

    def contains_term(self, texts: Sequence[str]) -> NDArray[np.bool_]:
        """Return for each text whether it contains a term of the query."""
        return np.array(query_shares(self.text, texts, self._tokenizer)) > 0

    async def similarity(self, texts: Sequence[str], vectors: Sequence[Vector | None]) -> Scores:
        """Return the cosine of each vector with the query's, at least 0.

        Args:
            texts: the texts of the vectors.
            vectors: the stored vectors; where there is none, the text is embedded now.
        """
        if not texts:
            return np.zeros(0)
        pairs = list(zip(texts, vectors, strict=True))
        missing = [text for text, vector in pairs if vector is None]
        embedded = iter(await self.embedder.embed(missing))
        complete = [vector or next(embedded) for vector in vectors]
        return np.maximum((stack(complete) @ self.vector).astype(np.float64), 0)

    def gives_reason(self, texts: Sequence[str]) -> Scores:
        """Return 1 for each text that gives a reason, if the query asks why; else 0."""
        matches = [self.asks_why and _REASON.search(text) is not None for text in texts]
        return np.array(matches, dtype=np.float64)
