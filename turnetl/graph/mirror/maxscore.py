"""The values with the highest sums of scores, without a pass over the longest postings (MaxScore).

The terms of a query are added by falling weight, so that the most frequent ones come last. A term
adds less than its weight to a score. What the last ones can add together is less than the score
that the best values certainly have, so they alone cannot make a value one of the best: they are
looked up for those values that may be among the best, and their postings are not read.

Nothing that is returned depends on what is not read: the score of a value is the sum over all its
terms, always in this order, and every value that is among the best is there, ties included.
"""

from bisect import bisect
from collections.abc import Sequence
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
    """Return the `limit` values with the highest scores, and those whose score equals the last one.

    Args:
        terms: of the query; each has a value.
        denominators: by impact, at least 1. A term adds its weight to the score of a value, less
            the weight divided by the denominator.
        count: of all values.
        limit: how many are the best.
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
    """Return for each value the sum of what the terms add to it, in their order."""
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
