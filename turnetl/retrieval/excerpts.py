"""What a hit shows of its turn: its prompt, and the facts and the passage that match best."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from turnetl.index.documents import fact_text
from turnetl.index.passages import split_passages, user_text
from turnetl.index.port import IndexedFact
from turnetl.index.terms import Tokenizer
from turnetl.llm.embedders.static_model import StaticModel
from turnetl.retrieval.query import Query

_TERM_WEIGHT = 1.0
_SIMILARITY_WEIGHT = 1.0


class ExcerptRanking:
    """Orders short texts of a hit by what they share with the query.

    It uses the offline vectors with every embedder: a hit must not cost a request.
    """

    def __init__(self, query: Query, static_model: StaticModel) -> None:
        self._terms = query.terms
        self._static_model = static_model
        self._tokenizer = Tokenizer()
        self._vector = static_model.text_vectors([query.tokens.tolist() or [0]])[0]

    def best_facts(self, facts: Sequence[IndexedFact]) -> list[IndexedFact]:
        """Return the facts, best first."""
        order = np.argsort(-self._scores([fact_text(fact) for fact in facts]), kind="stable")
        return [facts[position] for position in order.tolist()]

    def best_passage(self, text: str) -> str:
        """Return the best passage of an episode text; empty if it has none."""
        return next(iter(self.best_passages(text, 1)), "")

    def best_passages(self, text: str, count: int) -> list[str]:
        """Return at most this many passages of an episode text, best first."""
        passages = [passage.text for passage in split_passages(text)]
        order = np.argsort(-self._scores(passages), kind="stable")[:count]
        return [passages[position] for position in order.tolist()]

    def _scores(self, texts: Sequence[str]) -> NDArray[np.float64]:
        if not texts:
            return np.zeros(0)
        shared = [self._tokenizer.shared(text, self._terms) for text in texts]
        share = np.array(shared) / max(len(self._terms), 1)
        vectors = self._static_model.text_vectors(self._static_model.tokenize(texts))
        cosines = vectors.astype(np.float64) @ self._vector
        scores: NDArray[np.float64] = _TERM_WEIGHT * share + _SIMILARITY_WEIGHT * cosines
        return scores


def first_passage(text: str) -> str:
    """Return the first passage of an episode text; empty if it has none."""
    return next((passage.text for passage in split_passages(text)), "")


def prompt_title(text: str) -> str:
    """Return the first line that the user wrote in an episode text; empty if there is none."""
    return next((line for line in user_text(text).splitlines() if line.strip()), "").strip()
