"""Late interaction: each token of the query is compared with each token of a passage.

A passage scores high if each token of the query has a similar one in it, rare tokens counting most;
the order and the distance of the tokens make no difference. It finds what other words say, where a
mean of all tokens is too blurred and equal words are missing.
"""

import numpy as np
from numpy.typing import NDArray

from turnetl.index.catalog_state import TOKENS
from turnetl.index.port import Keys, SearchIndex
from turnetl.llm.embedders.static_model import StaticModel
from turnetl.retrieval.query import Query

_POWER = 2
"""Of the cosine: a token that is merely related counts little."""
_FEW_TOKENS = 4_096
"""Fewer tokens are sorted: that is faster than a pass over the whole vocabulary."""


def late_interaction(
    query: Query, keys: Keys, index: SearchIndex, static_model: StaticModel
) -> dict[int, float]:
    """Return for each turn the score of its best passage, from 0 to its weight."""
    passages = index.passage_tokens(keys)
    if not len(passages.keys) or not len(query.tokens):
        return {}
    matched = token_matches(query.tokens, passages.tokens, passages.starts, static_model)
    scores = (_weights(query, index) @ matched) * passages.weights
    firsts = np.flatnonzero(np.diff(passages.keys, prepend=-1))
    best = np.maximum(np.maximum.reduceat(scores, firsts), 0.0)
    return dict(zip(passages.keys[firsts].tolist(), best.tolist(), strict=True))


def token_matches(
    wanted: NDArray[np.int64],
    tokens: NDArray[np.uint16],
    starts: NDArray[np.int64],
    static_model: StaticModel,
) -> NDArray[np.float32]:
    """Return how well each text contains each token, from 0 to 1: a row per token.

    Args:
        wanted: tokens, at least one.
        tokens: of all texts, one text after another.
        starts: where the tokens of each text start; no text is without tokens.
        static_model: the vectors of tokens.
    """
    distinct, positions = _distinct(tokens)
    cosines = np.maximum(static_model.token_cosines(wanted, distinct), 0) ** _POWER
    return np.stack([np.maximum.reduceat(of_token[positions], starts) for of_token in cosines])


def _weights(query: Query, index: SearchIndex) -> NDArray[np.float64]:
    """Return the weight of each token of the query; they sum up to 1."""
    matching, turns = index.token_frequencies(query.tokens.tolist())
    matching = np.minimum(matching, turns)
    rarity = np.log(1 + (turns - matching + 0.5) / (matching + 0.5))
    weights: NDArray[np.float64] = rarity / rarity.sum()
    return weights


def _distinct(tokens: NDArray[np.uint16]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the distinct tokens, and the position among them of each token.

    A table of all tokens is faster than sorting the half a million tokens of passages; sorting is
    faster for those of a few facts.
    """
    if len(tokens) < _FEW_TOKENS:
        distinct, positions = np.unique(tokens, return_inverse=True)
        return distinct.astype(np.intp), positions
    occurs = np.zeros(TOKENS, dtype=np.bool_)
    occurs[tokens] = True
    return np.flatnonzero(occurs), (np.cumsum(occurs) - 1)[tokens]
