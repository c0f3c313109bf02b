"""Totals from a sample, and their intervals."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnetl.estimation.sample import StratumValues, predict, student_quantile

AMOUNTS = st.floats(0, 1e6)


@pytest.mark.parametrize(
    ("freedom", "quantile"),
    [(1, 12.706), (2, 4.303), (3, 3.182), (4, 2.776), (5, 2.571), (10, 2.228), (30, 2.042)],
)
def test_the_quantiles_are_those_of_printed_tables(freedom: float, quantile: float) -> None:
    assert student_quantile(0.975, freedom) == pytest.approx(quantile, rel=0.01)


def test_degrees_of_freedom_between_two_numbers_give_the_wider_interval() -> None:
    assert student_quantile(0.975, 4.9) == student_quantile(0.975, 4)


def test_a_sample_of_all_turns_is_no_estimate() -> None:
    total = predict([StratumValues((3.0, 5.0), 0), StratumValues((10.0,), 0)], known=18.0)
    assert (total.low, total.expected, total.high) == (18.0, 18.0, 18.0)


def test_each_turn_that_was_not_drawn_counts_as_the_mean_of_its_stratum() -> None:
    total = predict([StratumValues((1.0, 3.0), 10), StratumValues((100.0, 100.0), 2)], known=7.0)
    assert total.expected == 7 + 10 * 2 + 2 * 100
    assert total.high is not None
    assert total.low < total.expected < total.high
    assert total.holds(total.expected)
    assert not total.holds(total.high + 1)


def test_what_the_journal_answers_is_subtracted_and_nothing_is_below_zero() -> None:
    assert predict([StratumValues((2.0, 2.0), 5)], known=-4.0).expected == 6.0
    assert predict([StratumValues((2.0, 2.0), 5)], known=-40.0).low == 0.0


@given(st.lists(st.tuples(st.lists(AMOUNTS, min_size=2, max_size=9), st.integers(0, 999))))
def test_the_ends_of_a_range_are_on_both_sides_of_the_expected_amount(
    parts: list[tuple[list[float], int]],
) -> None:
    strata = [StratumValues(tuple(values), others) for values, others in parts]
    total = predict(strata)
    assert total.high is not None
    assert 0 <= total.low <= total.expected <= total.high
    assert predict(strata) == total
