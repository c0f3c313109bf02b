"""What a hit shows of its turn: its prompt, and the facts and the passage that match best."""

from collections.abc import Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from turnetl.index.documents import embedded_passages, fact_text
from turnetl.index.port import IndexedFact, IndexedTurn, PassageTokens
from turnetl.llm.embedders.static_model import StaticModel
from turnetl.retrieval.late_interaction import token_matches
from turnetl.retrieval.query import Query, contains_phrases


class ExcerptRanking:
    """Orders short texts of a hit by how many tokens of the query they contain, or similar ones.

    It uses the offline vectors with every embedder: a hit must not cost a request. The order
    depends on nothing but the query and the text.
    """

    def __init__(self, query: Query, static_model: StaticModel, passages: PassageTokens) -> None:
        """Compare the passages of turns with the query.

        Args:
            query: the query.
            static_model: the vectors of tokens.
            passages: of the turns that are shown.
        """
        self._query = query
        self._static_model = static_model
        self._keys = passages.keys
        self._scores = self._matches(passages.tokens, passages.starts)

    def best_facts(self, facts: Sequence[Sequence[IndexedFact]]) -> list[list[IndexedFact]]:
        """Return the facts of each turn, best first; equal ones in their order."""
        if not facts:
            return []
        texts = [fact_text(fact) for of_turn in facts for fact in of_turn]
        tokens = self._static_model.tokenize(texts) if texts else []
        starts = np.cumsum([0, *(len(of_text) for of_text in tokens)])[:-1]
        scores = self._matches(np.array([*chain(*tokens)], np.uint16), starts)
        ends = np.cumsum([len(of_turn) for of_turn in facts])
        return [
            [of_turn[position] for position in np.argsort(-of_facts, kind="stable").tolist()]
            for of_turn, of_facts in zip(facts, np.split(scores, ends[:-1]), strict=True)
        ]

    def best_passage(self, turn: IndexedTurn) -> str:
        """Return the best passage of a turn; empty if it has none."""
        return next(iter(self.best_passages(turn, 1)), "")

    def best_passages(self, turn: IndexedTurn, count: int) -> list[str]:
        """Return at most this many passages of a turn, best first; those with the phrases lead."""
        passages = [passage.text for passage in embedded_passages(turn.text)]
        scores = self._scores[self._keys == turn.key][: len(passages)]
        if self._query.phrases:
            scores = scores + [contains_phrases(self._query, passage) for passage in passages]
        return [passages[position] for position in np.argsort(-scores, kind="stable")[:count]]

    def _matches(
        self, tokens: NDArray[np.uint16], starts: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """Return the share of the query's tokens that each text contains, from 0 to 1."""
        if not len(starts) or not len(self._query.tokens):
            return np.zeros(len(starts), dtype=np.float32)
        matched = token_matches(self._query.tokens, tokens, starts, self._static_model)
        share: NDArray[np.float32] = matched.mean(axis=0)
        return share
