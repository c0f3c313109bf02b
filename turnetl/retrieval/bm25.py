"""BM25 of texts for one query, as a share of the best possible score."""

import math
from collections.abc import Mapping, Sequence

from turnetl.retrieval.terms import Tokenizer

_K1 = 1.2
_B = 0.75


def query_shares(query: str, texts: Sequence[str], tokenizer: Tokenizer) -> list[float]:
    """Return the share of the query that each text contains, from 0 to 1; rare terms weigh most.

    The share is the BM25 score of the text among these texts, divided by a score that no text can
    exceed. Builds no index, so it is for one query.
    """
    counts = [tokenizer.count(text) for text in texts]
    lengths = [count.total() for count in counts]
    mean_length = sum(lengths) / len(lengths) if lengths else 0.0
    weights = {
        term: _idf(sum(term in count for count in counts), len(counts))
        for term in tokenizer.count(query)
    }
    maximum = sum(weights.values()) * (_K1 + 1) or 1.0
    return [
        _score(count, weights, length, mean_length) / maximum
        for count, length in zip(counts, lengths, strict=True)
    ]


def _score(
    count: Mapping[str, int], weights: Mapping[str, float], length: int, mean_length: float
) -> float:
    matched = ((weight, count[term]) for term, weight in weights.items() if term in count)
    return sum(weight * _saturation(times, length, mean_length) for weight, times in matched)


def _idf(matching: int, texts: int) -> float:
    """Return the inverse document frequency of a term that `matching` of the texts contain."""
    return math.log(1 + (texts - matching + 0.5) / (matching + 0.5))


def _saturation(times: int, length: int, mean_length: float) -> float:
    """Return the factor for a term that occurs `times` in a text: below `_K1` + 1."""
    length_factor = 1 - _B + _B * length / mean_length if mean_length else 1.0
    return times * (_K1 + 1) / (times + _K1 * length_factor)
