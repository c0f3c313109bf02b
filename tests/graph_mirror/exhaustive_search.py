"""Full-text search that computes the score of every value, one after the other."""

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np

from turnetl.graph.mirror.fulltext import tokenize

Texts = tuple[str, ...]
"""The fields of a value."""


def exhaustive_search(values: Sequence[Texts], query: str, limit: int) -> list[tuple[str, float]]:
    """Return the positions of the best values, as keys, with their scores, best first.

    Lengths must be at most 40 terms, which Lucene's byte encodes exactly.
    """
    fields = [[list(tokenize(text)) for text in texts] for texts in zip(*values, strict=True)]
    terms = Counter(tokenize(query))
    weighted = [
        (_weight(texts, term, count), number, term)
        for number, texts in enumerate(fields)
        for term, count in terms.items()
        if any(term in text for text in texts)
    ]
    # Sums of floats depend on their order.
    weighted.sort(key=lambda entry: -entry[0])
    means = [np.float32(_mean_length(texts)) for texts in fields]
    scores = [
        np.float32(
            sum(
                float(_score(weight, fields[number][at], term, means[number]))
                for weight, number, term in weighted
            )
        )
        for at in range(len(values))
    ]
    best = sorted(range(len(values)), key=lambda at: -scores[at])
    return [(str(at), float(scores[at])) for at in best if scores[at] > 0][:limit]


def _weight(texts: Sequence[Sequence[str]], term: str, count: int) -> np.float32:
    searched = sum(len(text) > 0 for text in texts)
    found = sum(term in text for text in texts)
    return np.float32(count * math.log(1 + (searched - found + 0.5) / (found + 0.5)))


def _mean_length(texts: Sequence[Sequence[str]]) -> float:
    searched = sum(len(text) > 0 for text in texts)
    return sum(map(len, texts)) / searched if searched else 1.0


def _score(weight: np.float32, text: Sequence[str], term: str, mean: np.float32) -> np.float32:
    one, k1, b = np.float32(1), np.float32(1.2), np.float32(0.75)
    inverse_norm = one / (k1 * ((one - b) + b * np.float32(len(text)) / mean))
    return weight - weight / (one + np.float32(text.count(term)) * inverse_norm)
