"""Neo4j's full-text indexes, in memory: the results that its Lucene would return.

Graphiti lets the model choose among the facts that this index finds, so other terms than Lucene's
would make another graph. Terms are the words of Unicode's rules (UAX #29) in lower case:
`file_name.py` is one term, `src/cart.py` two. The texts of a value, such as the relation and the
sentence of a fact, are separate fields; a term counts in each. BM25 is computed in float32, with
lengths encoded in one byte; a term that occurs twice in the query counts twice.
"""

import math
import re
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

_K1 = np.float32(1.2)
_B = np.float32(0.75)
_MAX_TERM_CHARS = 255

_SPACELESS = "\u3040-\u309f\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_ALPHANUMERIC = rf"[^\W_{_SPACELESS}]"
_LETTER = rf"[^\W\d_{_SPACELESS}]"
_TERM = re.compile(
    rf"[{_SPACELESS}]"
    rf"|_*{_ALPHANUMERIC}(?:{_ALPHANUMERIC}|[_\u0300-\u036f\u200d\ufe0f]"
    rf"|(?<={_LETTER})[.:'\u2018\u2019\u00b7](?={_LETTER})"
    rf"|(?<=\d)[.,;'\u2018\u2019](?=\d))*"
)

_SPARSE = 8
"""A query with fewer than one match in so many values needs no array of all values."""

TextPositions = NDArray[np.int64]
FulltextScores = NDArray[np.float32]


_FACT_FIELDS = 2
"""Relation and text."""


class FullTextIndex:
    """Values by their terms. The cost of adding one depends on its length only."""

    def __init__(self, fields: int = _FACT_FIELDS) -> None:
        """Create an empty index of values with this number of texts; by default of facts."""
        self.keys: list[str] = []
        self.fields = tuple(_Field() for _ in range(fields))
        # The same sentence is searched among a pair's facts and among all facts.
        self._cache: dict[tuple[str, int], list[tuple[str, float]]] = {}

    def add(self, key: str, *texts: str) -> None:
        """Add a value by the text of each field; its key must be new."""
        self.keys.append(key)
        self._cache.clear()
        for field, text in zip(self.fields, texts, strict=True):
            field.add(tokenize(text))

    def search(self, query: str, limit: int, *more: "FullTextIndex") -> list[tuple[str, float]]:
        """Return the best keys with their scores, best first; equal ones in order of insertion.

        The values of `more` count as if they were added to this index last.
        """
        others = [index for index in more if len(index)]
        if others:
            return self._best(query, limit, others)
        cached = self._cache.get((query, limit))
        if cached is None:
            cached = self._cache[query, limit] = self._best(query, limit, ())
        return cached

    def __len__(self) -> int:
        return len(self.keys)

    def _best(
        self, query: str, limit: int, more: Sequence["FullTextIndex"]
    ) -> list[tuple[str, float]]:
        indexes = (self, *more)
        terms = Counter(tokenize(query))
        statistics = [
            _FieldStatistics.of([index.fields[number] for index in indexes], terms)
            for number in range(len(self.fields))
        ]
        matching, offset = [], 0
        for index in indexes:
            positions, scores = index.matching(statistics)
            matching.append((positions + offset, scores))
            offset += len(index)
        positions, scores = (np.concatenate(arrays) for arrays in zip(*matching, strict=True))
        return [(_key_at(indexes, positions[at]), float(scores[at])) for at in _best(scores, limit)]

    def matching(
        self, statistics: Sequence["_FieldStatistics"]
    ) -> tuple[TextPositions, FulltextScores]:
        """Return where the values with a term of the query are, ascending, and their scores."""
        fields = zip(self.fields, statistics, strict=True)
        found = [field.scores(of_field) for field, of_field in fields]
        positions = np.concatenate([at for at, _ in found])
        if len(positions) * _SPARSE < len(self):
            values, rows = np.unique(positions, return_inverse=True)
        else:
            values, rows = np.arange(len(self)), positions
        total, start = np.zeros(len(values)), 0
        for at, scores in found:
            total += np.bincount(rows[start : start + len(at)], scores, len(values))
            start += len(at)
        matching = np.flatnonzero(total > 0)
        return values[matching], total[matching].astype(np.float32)


def tokenize(text: str) -> Iterator[str]:
    """Yield the terms of a text, as Lucene's standard analyzer splits it."""
    for word in _TERM.findall(text):
        lower = word.lower()
        for start in range(0, len(lower), _MAX_TERM_CHARS):
            yield lower[start : start + _MAX_TERM_CHARS]


class _Field:
    """One field of every value: the postings of each term, and the length of each text."""

    def __init__(self) -> None:
        self.texts = 0
        """Texts with at least one term."""
        self.length = 0
        """Terms of all texts."""
        self._lengths = array("f")
        self._postings: dict[str, tuple[array[int], array[float]]] = {}

    def add(self, terms: Iterator[str]) -> None:
        counts = Counter(terms)
        length, position = counts.total(), len(self._lengths)
        self.texts += length > 0
        self.length += length
        self._lengths.append(_encoded_length(length))
        for term, count in counts.items():
            positions, frequencies = self._postings.setdefault(term, (array("l"), array("f")))
            positions.append(position)
            frequencies.append(count)

    def document_frequency(self, term: str) -> int:
        """Return how many values contain the term."""
        return len(self._postings[term][0]) if term in self._postings else 0

    def scores(self, statistics: "_FieldStatistics") -> tuple[TextPositions, FulltextScores]:
        """Return where each term of the query occurs, and the BM25 score that it adds there."""
        postings = [
            (self._postings[term], weight)
            for term, weight in statistics.weights.items()
            if term in self._postings
        ]
        if not postings:
            return np.zeros(0, np.int64), np.zeros(0, np.float32)
        positions = np.concatenate([np.frombuffer(at, "l") for (at, _), _ in postings])
        frequencies = np.concatenate([np.frombuffer(count, "f") for (_, count), _ in postings])
        weights = np.repeat(
            np.array([weight for _, weight in postings], np.float32),
            [len(at) for (at, _), _ in postings],
        )
        lengths = np.frombuffer(self._lengths, "f")[positions]
        one = np.float32(1)
        inverse_norm = one / (_K1 * ((one - _B) + _B * lengths / statistics.mean_length))
        return positions, weights - weights / (one + frequencies * inverse_norm)


class _FieldStatistics:
    """The weight of each term of a query in a field, over all indexes that are searched."""

    def __init__(self, weights: Mapping[str, float], mean_length: np.float32) -> None:
        self.weights = weights
        """A term that occurs twice in the query has twice the weight."""
        self.mean_length = mean_length
        """Terms per text."""

    @classmethod
    def of(cls, fields: Sequence[_Field], terms: Mapping[str, int]) -> "_FieldStatistics":
        texts = sum(field.texts for field in fields)
        mean_length = sum(field.length for field in fields) / texts if texts else 1.0
        matching = {term: sum(field.document_frequency(term) for field in fields) for term in terms}
        weights = {
            term: count * math.log(1 + (texts - matching[term] + 0.5) / (matching[term] + 0.5))
            for term, count in terms.items()
        }
        return cls(weights, np.float32(mean_length))


def _key_at(indexes: Sequence[FullTextIndex], position: int) -> str:
    """Return the key at a position in the indexes, one after the other."""
    for index in indexes:
        if position < len(index):
            return index.keys[position]
        position -= len(index)
    raise IndexError(position)


def _best(scores: FulltextScores, limit: int) -> list[int]:
    """Return where the highest scores are; among equal ones the first."""
    candidates = np.arange(len(scores))
    if len(scores) > 2 * limit > 0:
        candidates = np.flatnonzero(scores >= np.partition(scores, -limit)[-limit])
    best: list[int] = candidates[np.argsort(-scores[candidates], kind="stable")][:limit].tolist()
    return best


@lru_cache(maxsize=1024)
def _encoded_length(length: int) -> int:
    """Return a length as decoded from Lucene's byte: exact to 40, then to four binary digits."""
    exact, digits = 24, 4
    excess = length - exact
    shift = max(excess.bit_length() - digits, 0) if excess > 0 else 0
    return exact + ((excess >> shift) << shift) if excess > 0 else length
