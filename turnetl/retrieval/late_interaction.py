"""Late interaction: each token of the query is compared with each token of a passage.

A passage scores high if each token of the query has a similar one in it, rare tokens counting most;
the order and the distance of the tokens make no difference. It finds what other words say, where a
mean of all tokens is too blurred and equal words are missing.
"""

import numpy as np
from numpy.typing import NDArray

from turnetl.index.port import Keys, PassageTokens, SearchIndex
from turnetl.llm.embedders.static_model import StaticModel
from turnetl.retrieval.query import Query

_POWER = 2
"""Of the cosine: a token that is merely related counts little."""


def late_interaction(
    query: Query, keys: Keys, index: SearchIndex, static_model: StaticModel
) -> dict[int, float]:
    """Return for each turn the score of its best passage, from 0 to its weight."""
    passages = index.passage_tokens(keys)
    if not len(passages.keys) or not len(query.tokens):
        return {}
    scores = _passage_scores(query, passages, _weights(query, index), static_model)
    best: dict[int, float] = {}
    for key, score in zip(passages.keys.tolist(), scores.tolist(), strict=True):
        best[key] = max(best.get(key, 0.0), score)
    return best


def _weights(query: Query, index: SearchIndex) -> NDArray[np.float64]:
    """Return the weight of each token of the query; they sum up to 1."""
    matching, turns = index.token_frequencies(query.tokens.tolist())
    matching = np.minimum(matching, turns)
    rarity = np.log(1 + (turns - matching + 0.5) / (matching + 0.5))
    weights: NDArray[np.float64] = rarity / rarity.sum()
    return weights


def _passage_scores(
    query: Query,
    passages: PassageTokens,
    weights: NDArray[np.float64],
    static_model: StaticModel,
) -> NDArray[np.float64]:
    distinct, positions = np.unique(passages.tokens, return_inverse=True)
    wanted = static_model.token_vectors(query.tokens)
    cosines = np.maximum(static_model.token_vectors(distinct) @ wanted.T, 0) ** _POWER
    best = np.maximum.reduceat(cosines[positions], passages.starts, axis=0)
    scores: NDArray[np.float64] = best @ weights * passages.weights
    return scores
