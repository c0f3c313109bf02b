"""Neo4j's full-text indexes, in memory: the results that its Lucene would return.

Graphiti lets the model choose among the facts that this index finds, so other terms than Lucene's
would make another graph. Terms are the words of Unicode's rules (UAX #29) in lower case:
`file_name.py` is one term, `src/cart.py` two. The texts of a value, such as the relation and the
sentence of a fact, are separate fields; a term counts in each. BM25 is computed in float32, with
lengths encoded in one byte; a term that occurs twice in the query counts twice.

The longest postings are not read (MaxScore): the terms of a query are added by falling weight, the
most frequent ones last, and a term adds less than its weight. When the last terms together add less
than the score that the best values certainly have, they alone cannot make a value one of the best:
they are looked up for the values that may be. The result does not depend on it, ties included.
"""

import math
import re
from array import array
from bisect import bisect
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

TextPositions = NDArray[np.int64]
FulltextScores = NDArray[np.float32]
Totals = NDArray[np.float64]

_SHARE = 0.6
"""Of the score that the best certainly have: what the terms that are looked up may add. With a
greater one, fewer postings are read and more values are looked up."""
_TOGETHER = 16_384
"""Postings of rare terms that are read together: few enough for the cache of a processor."""
_BLOCKS = 2_048
"""Of many values."""
_ROUNDING = 1e-6
"""More than a score is rounded to float32, relative to it."""


class TermPostings(NamedTuple):
    """The values with a term of a query."""

    weight: float
    """At least what the term adds to a score; float32."""
    positions: TextPositions
    """Where the values are, ascending."""
    impacts: NDArray[np.int64]
    """For each value, where its denominator is."""


class BestTotals(NamedTuple):
    """The values that are among the best, and some others, ascending."""

    positions: TextPositions
    scores: FulltextScores
    """Greater than 0."""


def best_totals(
    terms: Sequence[TermPostings], denominators: FulltextScores, count: int, limit: int
) -> BestTotals:
    """Return the `limit` of `count` values with the highest scores, and all equal to the last one.

    Each term has a value. It adds its weight to the score of a value, less the weight divided by
    the denominator, at least 1, of its impact.
    """
    terms = sorted(terms, key=lambda term: -term.weight)
    certain = _certain_score(terms, denominators, limit)
    read = _count_read(terms, _SHARE * certain)
    totals = _totals(terms[:read], denominators, count)
    looked_up = terms[read:]
    least = max(certain, _certainly(_kth_of_blocks(totals, limit)))
    least -= sum(term.weight for term in looked_up)
    positions = np.flatnonzero(totals >= least if least > 0 else totals)
    scores = totals[positions]
    for term in looked_up:
        _look_up(term, denominators, positions, scores)
    return BestTotals(positions, scores.astype(np.float32))


def _certain_score(
    terms: Sequence[TermPostings], denominators: FulltextScores, limit: int
) -> float:
    """Return a score that the last of the best values certainly has; 0 if none is known."""
    for term in terms:
        if len(term.positions) >= limit:
            return _certainly(_kth(_scores(term.weight, denominators[term.impacts]), limit))
    return 0.0


def _certainly(score: float) -> float:
    """Return less than every sum that is not less than the score when both are float32."""
    return score * (1 - _ROUNDING)


def _count_read(terms: Sequence[TermPostings], most: float) -> int:
    """Return how many terms are read: those after them add less than `most` together."""
    read = len(terms)
    while read and (most := most - terms[read - 1].weight) > 0:
        read -= 1
    return read


def _totals(terms: Sequence[TermPostings], denominators: FulltextScores, count: int) -> Totals:
    """Return for each value the sum of what the terms add to it."""
    totals = np.zeros(count)
    rare = bisect(list(accumulate(len(term.positions) for term in terms)), _TOGETHER)
    _read_together(terms[:rare], denominators, totals)
    for term in terms[rare:]:
        by_impact = _scores(term.weight, denominators).astype(np.float64)
        np.add.at(totals, term.positions, by_impact.take(term.impacts))
    return totals


def _read_together(
    terms: Sequence[TermPostings], denominators: FulltextScores, totals: Totals
) -> None:
    if terms:
        weights = np.array([term.weight for term in terms], np.float32)
        of_each = np.repeat(weights, [len(term.positions) for term in terms])
        impacts = np.concatenate([term.impacts for term in terms])
        scores = _scores(of_each, denominators[impacts]).astype(np.float64)
        np.add.at(totals, np.concatenate([term.positions for term in terms]), scores)


def _look_up(
    term: TermPostings, denominators: FulltextScores, positions: TextPositions, totals: Totals
) -> None:
    """Add what the term adds to the values at these positions, ascending, to their totals."""
    found = np.minimum(term.positions.searchsorted(positions), len(term.positions) - 1)
    matching = np.flatnonzero(term.positions[found] == positions)
    impacts = term.impacts[found[matching]]
    totals[matching] += _scores(term.weight, denominators[impacts])


def _scores(weight: FulltextScores | float, denominators: FulltextScores) -> FulltextScores:
    scores: FulltextScores = weight - weight / denominators
    return scores


def _kth_of_blocks(totals: Totals, rank: int) -> float:
    """Return a score that as many values as the rank have, or more: that of this rank, or less.

    The greatest of each block of values is much faster to find than those of all values.
    """
    rows = max(len(totals) // _BLOCKS, 1)
    columns = len(totals) // rows
    greatest: Totals = totals[: rows * columns].reshape(rows, columns).max(axis=0, initial=0)
    return _kth(greatest, rank)


def _kth(scores: FulltextScores | Totals, rank: int) -> float:
    """Return the score at this rank; 0 if there are fewer."""
    return float(np.partition(scores, -rank)[-rank]) if 0 < rank <= len(scores) else 0.0


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

_FACT_FIELDS = 2
"""Relation and text."""


class FullTextIndex:
    """Values by their terms. The cost of adding one depends on its length only."""

    def __init__(self, fields: int = _FACT_FIELDS) -> None:
        """Index values with this number of texts."""
        self.keys: list[str] = []
        self._impacts = _Impacts()
        self.fields = tuple(_Field(number, self._impacts) for number in range(fields))
        # The same sentence is searched among a pair's facts and among all facts.
        self._cache: dict[tuple[str, int], list[tuple[str, float]]] = {}

    def add(self, key: str, *texts: str) -> None:
        """Add a value with a new key and the text of each field."""
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
        found, offset = [], 0
        for index in indexes:
            best = index.best(statistics, limit)
            found.append((best.positions + offset, best.scores))
            offset += len(index)
        positions, scores = (np.concatenate(arrays) for arrays in zip(*found, strict=True))
        order = _order(scores, limit)
        keys = [_key_at(indexes, position) for position in positions[order].tolist()]
        return list(zip(keys, scores[order].tolist(), strict=True))

    def best(self, statistics: Sequence["_FieldStatistics"], limit: int) -> BestTotals:
        """Return the values with the highest scores, and some others that have a term too."""
        fields = zip(self.fields, statistics, strict=True)
        terms = [term for field, of_field in fields for term in field.postings(of_field.weights)]
        denominators = self._impacts.denominators([one.mean_length for one in statistics])
        return best_totals(terms, denominators, len(self), limit)


def tokenize(text: str) -> Iterator[str]:
    """Yield the terms of a text as Lucene's standard analyzer does."""
    for word in _TERM.findall(text):
        lower = word.lower()
        for start in range(0, len(lower), _MAX_TERM_CHARS):
            yield lower[start : start + _MAX_TERM_CHARS]


class _Impacts:
    """Frequencies of a term in a text, with the length of the text: these decide its score.

    There are few different ones: BM25 is computed for each of them and not for each value.
    """

    def __init__(self) -> None:
        self._numbers: dict[tuple[int, int, int], int] = {}
        self._rows = array("f")
        """Of each: field, frequency and length."""
        self._computed: tuple[Sequence[float], FulltextScores] = (), np.zeros(0, np.float32)

    def number(self, field: int, frequency: int, length: int) -> int:
        impact = field, frequency, length
        number = self._numbers.get(impact)
        if number is None:
            number = self._numbers[impact] = len(self._numbers)
            self._rows.extend(impact)
        return number

    def denominators(self, mean_lengths: Sequence[float]) -> FulltextScores:
        """Return for each impact the divisor of the part of a weight that is not added."""
        means, computed = self._computed
        if means != mean_lengths or len(computed) != len(self._numbers):
            # Equal for all searches of a turn.
            self._computed = mean_lengths, self._denominators(mean_lengths)
        return self._computed[1]

    def _denominators(self, mean_lengths: Sequence[float]) -> FulltextScores:
        fields, frequencies, lengths = np.array(self._rows, np.float32).reshape(-1, 3).T
        means = np.array(mean_lengths, np.float32)[fields.astype(np.intp)]
        one = np.float32(1)
        denominators: FulltextScores = one + frequencies * (
            one / (_K1 * ((one - _B) + _B * lengths / means))
        )
        return denominators


class _Field:
    """One field of every value: the values with each term."""

    def __init__(self, number: int, impacts: _Impacts) -> None:
        self._number, self._impacts = number, impacts
        self.texts = 0
        """Texts with at least one term."""
        self.length = 0
        """Terms of all texts."""
        self._values = 0
        self._postings: dict[str, tuple[array[int], array[int]]] = {}
        """Positions of the values with a term, ascending, and the number of its impact in each."""

    def add(self, terms: Iterator[str]) -> None:
        counts = Counter(terms)
        length = counts.total()
        self.texts += length > 0
        self.length += length
        encoded = _encoded_length(length)
        for term, frequency in counts.items():
            postings = self._postings.get(term)
            if postings is None:
                postings = self._postings[term] = array("q"), array("q")
            positions, impacts = postings
            positions.append(self._values)
            impacts.append(self._impacts.number(self._number, frequency, encoded))
        self._values += 1

    def document_frequencies(self, terms: Iterable[str]) -> Mapping[str, int]:
        """Return how many values contain each term that occurs."""
        postings = self._postings
        return {term: len(postings[term][0]) for term in terms if term in postings}

    def postings(self, weights: Mapping[str, float]) -> Iterator[TermPostings]:
        """Yield the postings of each term that occurs here, with its weight."""
        for term, weight in weights.items():
            if term in self._postings:
                positions, impacts = self._postings[term]
                yield TermPostings(
                    weight, np.frombuffer(positions, "q"), np.frombuffer(impacts, "q")
                )


class _FieldStatistics(NamedTuple):
    """The weight of each term of a query in a field, over all indexes that are searched."""

    weights: Mapping[str, float]
    """Of the terms that occur, float32. One that is in the query twice has twice the weight."""
    mean_length: float
    """Terms per text."""

    @classmethod
    def of(cls, fields: Sequence[_Field], terms: Mapping[str, int]) -> "_FieldStatistics":
        texts = sum(field.texts for field in fields)
        mean_length = sum(field.length for field in fields) / texts if texts else 1.0
        found = Counter[str]()
        for field in fields:
            found.update(field.document_frequencies(terms))
        weights = {
            term: float(np.float32(count * math.log(1 + (texts - values + 0.5) / (values + 0.5))))
            for term, count in terms.items()
            if (values := found[term])
        }
        return cls(weights, mean_length)


def _key_at(indexes: Sequence[FullTextIndex], position: int) -> str:
    """Return the key at a position in the indexes, one after the other."""
    for index in indexes:
        if position < len(index):
            return index.keys[position]
        position -= len(index)
    raise IndexError(position)


def _order(scores: FulltextScores, limit: int) -> TextPositions:
    """Return where the highest scores are, best first; among equal ones the first."""
    candidates = np.arange(len(scores))
    if len(scores) > 2 * limit > 0:
        candidates = np.flatnonzero(scores >= np.partition(scores, -limit)[-limit])
    return candidates[np.argsort(-scores[candidates], kind="stable")][:limit]


@lru_cache(maxsize=1024)
def _encoded_length(length: int) -> int:
    """Return a length as decoded from Lucene's byte: exact to 40, then to four binary digits."""
    exact, digits = 24, 4
    excess = length - exact
    shift = max(excess.bit_length() - digits, 0) if excess > 0 else 0
    return exact + ((excess >> shift) << shift) if excess > 0 else length
