"""The best values are those of an exhaustive search, and frequent terms are not read for them."""

from collections.abc import Sequence

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import example, given

from tests.graph_mirror.exhaustive_search import Texts, exhaustive_search
from turnetl.graph.mirror.fulltext import FullTextIndex, TermPostings, best_totals

FREQUENT = ("the",) * 24 + ("to",) * 12 + ("and",) * 6 + ("cart",) * 3 + ("order", "uses")
WORDS = st.one_of(
    st.sampled_from(FREQUENT),
    st.sampled_from(
        ["src/cart.py", "KeyError", "naïve", "日本", "_", "a\u0301", "\u200d", "🛒", "x" * 300]
    ),
    st.integers(0, 99).map(str),
    st.text(max_size=3),
)
TEXTS = st.lists(WORDS, max_size=12).map(" ".join)
VALUES = st.tuples(st.sampled_from(["USES", "THE", "ASKED", ""]), TEXTS)
REPEATED = st.tuples(VALUES, st.integers(1, 12)).map(lambda value: [value[0]] * value[1])
"""The same value several times: equal scores."""
MANY = st.lists(REPEATED, max_size=12).map(
    lambda parts: [value for part in parts for value in part]
)
LIMITS = st.integers(0, 6)
COMMON = [("USES", "the cart")] * 5 + [("USES", "the order to the cart")] * 9


def add(index: FullTextIndex, values: Sequence[Texts], first: int = 0) -> None:
    for number, texts in enumerate(values, start=first):
        index.add(str(number), *texts)


@pytest.mark.full
@given(st.lists(MANY, min_size=1, max_size=3), TEXTS, LIMITS)
@example([COMMON, [("ASKED", "5 to the cart")] * 2], "5 to the the cart", 3)
def test_a_search_returns_what_an_exhaustive_search_returns_while_the_index_grows(
    parts: list[list[Texts]], query: str, limit: int
) -> None:
    index, values = FullTextIndex(), list[Texts]()
    for part in parts:
        add(index, part, len(values))
        values += part
        assert index.search(query, limit) == exhaustive_search(values, query, limit)


@pytest.mark.full
@given(st.lists(MANY, min_size=2, max_size=4), TEXTS, LIMITS)
@example([COMMON, [("ASKED", "5 to the cart")] * 2], "5 to the the cart", 3)
def test_several_indexes_return_what_an_exhaustive_search_of_all_values_returns(
    parts: list[list[Texts]], query: str, limit: int
) -> None:
    indexes, values = list[FullTextIndex](), list[Texts]()
    for part in parts:
        indexes.append(FullTextIndex())
        add(indexes[-1], part, len(values))
        values += part
    first, *more = indexes
    assert first.search(query, limit, *more) == exhaustive_search(values, query, limit)


def test_frequent_terms_are_looked_up_for_the_best_values_only() -> None:
    rare, frequent = np.array([10, 20, 30]), np.arange(0, 1_000, 2)
    unreadable = np.full(len(frequent), 1_000_000)
    unreadable[[5, 10, 15]] = 0
    terms = [
        TermPostings(0.5, frequent, unreadable),
        TermPostings(4.0, rare, np.zeros(3, int)),
    ]
    best = best_totals(terms, np.array([2], np.float32), count=1_000, limit=2)
    assert best.positions.tolist() == [10, 20, 30]
    assert best.scores.tolist() == [2.25, 2.25, 2.25]


def test_the_best_of_many_values_are_those_with_the_highest_sums(subtests: pytest.Subtests) -> None:
    for seed in range(20):
        with subtests.test(seed=seed):
            chance, count, limit = np.random.default_rng(seed), 9_999, 20
            denominators = chance.choice([1.2, 1.5, 2.0, 3.0], 8).astype(np.float32)
            weights = np.linspace(7, 0.25, 12).round(2).tolist()
            terms, totals = list[TermPostings](), np.zeros(count)
            for number, weight in enumerate(weights):
                positions = np.flatnonzero(chance.random(count) < 2.0 ** (number - len(weights)))
                impacts = chance.integers(len(denominators), size=len(positions))
                terms.append(TermPostings(weight, positions, impacts))
                totals[positions] += weight - weight / denominators[impacts]
            scores = totals.astype(np.float32)
            best = best_totals(terms, denominators, count, limit)
            expected = np.argsort(-scores, kind="stable")[:limit]
            found = best.positions[np.argsort(-best.scores, kind="stable")[:limit]]
            assert found.tolist() == expected.tolist()
            assert best.scores.tolist() == scores[best.positions].tolist()


def test_a_frequent_term_is_read_where_the_rare_ones_have_too_few_values() -> None:
    frequent = TermPostings(0.5, np.arange(9), np.zeros(9, int))
    rare = TermPostings(4.0, np.array([7]), np.zeros(1, int))
    best = best_totals([rare, frequent], np.array([2], np.float32), count=9, limit=2)
    assert best.positions.tolist() == list(range(9))
    assert best.scores.tolist() == [0.25] * 7 + [2.25, 0.25]


@pytest.mark.parametrize("limit", [0, 1, 50])
def test_without_terms_nothing_is_among_the_best(limit: int) -> None:
    best = best_totals([], np.zeros(0, np.float32), count=20, limit=limit)
    assert best.positions.tolist() == []


def test_a_value_that_a_frequent_term_lifts_among_the_best_is_returned() -> None:
    rare = TermPostings(4.0, np.array([1, 2, 3, 4]), np.array([0, 0, 0, 1]))
    frequent = TermPostings(0.5, np.arange(4, 100), np.zeros(96, int))
    best = best_totals([rare, frequent], np.array([2, 1.9], np.float32), count=100, limit=3)
    assert best.positions.tolist() == [1, 2, 3, 4]
    assert best.scores.argmax() == 3
