"""Recall of each stage, and the comparison with an earlier evaluation."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnetl.base.model import GroupId, TurnId, Usage
from turnetl.evaluation.intervals import bootstrap, mcnemar, wilson
from turnetl.evaluation.question_set import EvaluationQuestion
from turnetl.evaluation.recall import (
    EVIDENCE,
    Baseline,
    EvaluatedQuestion,
    EvaluationReport,
    QuestionSource,
    RankChange,
    RankingStage,
    rank_of,
    stage_recall,
)
from turnetl.retrieval.ranking import WEIGHTS

AT = datetime(2026, 3, 2, 9, tzinfo=UTC)
A, B, C = (TurnId(name) for name in "abc")
SEARCH, LEXICAL = RankingStage.SEARCH, RankingStage.LEXICAL


def asked(text: str, rank: int | None, group: str = "shop") -> EvaluatedQuestion:
    question = EvaluationQuestion(text, (A,), GroupId(group))
    return EvaluatedQuestion(question, {SEARCH: rank}, has_hits=True)


def report(*questions: EvaluatedQuestion, baseline: Baseline | None = None) -> EvaluationReport:
    return EvaluationReport(
        questions=questions,
        stages=(SEARCH,),
        source=QuestionSource.FILE,
        turns=9,
        turns_with_questions=0,
        without_question=0,
        failed=0,
        embedder="local",
        model=None,
        usage=Usage(),
        stopped=None,
        baseline=baseline,
        evaluated_at=AT,
    )


def test_the_rank_is_that_of_the_first_right_turn() -> None:
    assert rank_of((B, C), [A, C, B]) == 2
    assert rank_of((B,), [A, C]) is None
    assert rank_of((B,), []) is None


def test_recall_counts_the_questions_whose_turn_is_among_the_first_hits() -> None:
    recall = report(asked("a", 1), asked("b", 5), asked("c", 6), asked("d", None)).recall(SEARCH)
    assert recall.questions == 4
    assert [recall.at(depth) for depth in (1, 5, 10)] == [0.25, 0.5, 0.75]


def test_each_group_has_a_recall_of_its_own() -> None:
    found = report(asked("a", 1), asked("b", None, "other"))
    assert found.groups == ("other", "shop")
    assert found.recall(SEARCH, GroupId("shop")).at(1) == 1
    assert found.recall(SEARCH, GroupId("other")).at(10) == 0


def test_a_stage_that_was_not_measured_has_no_recall() -> None:
    recall = stage_recall(LEXICAL, [asked("a", 1)])
    assert (recall.questions, recall.at(1)) == (0, None)


def test_a_baseline_is_compared_on_the_questions_of_both() -> None:
    before = Baseline(AT, "other", (asked("a", 1), asked("b", None), asked("gone", 1)))
    found = report(asked("a", 7), asked("b", 2), asked("new", None), baseline=before)
    was, now = found.baseline_recall(SEARCH)
    assert (was.questions, now.questions) == (2, 2)
    assert (was.at(1), now.at(1)) == (0.5, 0)
    assert (was.at(10), now.at(10)) == (0.5, 1)
    assert found.changes(SEARCH) == (RankChange("a", 1, 7), RankChange("b", None, 2))
    assert [one.is_worse for one in found.changes(SEARCH)] == [True, False]


def test_a_change_is_clear_if_chance_seldom_makes_it() -> None:
    worse, better = [asked(str(number), None) for number in range(9)], range(9)
    before = Baseline(AT, "other", tuple(worse))
    comparison = report(*(asked(str(one), 3) for one in better), baseline=before).comparison
    assert comparison is not None
    (change,) = comparison.stage_changes
    first, five, _ = change.depths
    assert (first.gained, first.lost, first.p_value, first.is_clear) == (0, 0, 1, False)
    assert (five.gained, five.lost, five.is_clear) == (9, 0, True)
    assert five.p_value == pytest.approx(2 / 2**9)
    assert change.is_clear
    assert change.mrr == pytest.approx(1 / 3)
    assert change.mrr_interval == pytest.approx((1 / 3, 1 / 3), abs=1e-4)


@pytest.mark.parametrize(("gained", "lost", "p"), [(3, 1, 0.625), (1, 3, 0.625), (10, 1, 0.0117)])
def test_mcnemar_is_exact_and_the_same_in_both_directions(gained: int, lost: int, p: float) -> None:
    assert mcnemar(gained, lost) == pytest.approx(p, abs=1e-4)


@given(st.integers(0, 200).flatmap(lambda whole: st.tuples(st.integers(0, whole), st.just(whole))))
def test_a_share_is_within_its_interval(counts: tuple[int, int]) -> None:
    part, whole = counts
    low, high = wilson(part, whole)
    assert 0 <= low <= (part / whole if whole else 0.5) <= high <= 1


def test_equal_seeds_give_equal_intervals_around_the_mean() -> None:
    values = [1.0, 0.5, 0.0, 0.25, 1.0, 0.0]
    low, high = bootstrap(values)
    assert bootstrap(values) == (low, high)
    assert low < sum(values) / len(values) < high
    assert bootstrap([]) == (0, 0)


def test_the_mean_reciprocal_rank_counts_nothing_for_a_turn_that_is_not_found() -> None:
    recall = report(asked("a", 1), asked("b", 4), asked("c", None)).recall(SEARCH)
    assert recall.mrr == pytest.approx((1 + 0.25) / 3)
    assert report().recall(SEARCH).mrr is None


def test_a_turn_that_is_no_longer_found_is_worse() -> None:
    assert RankChange("a", 10, None).is_worse
    assert not RankChange("a", None, 10).is_worse


def test_the_last_stages_rank_as_the_search_does() -> None:
    assert set(EVIDENCE[SEARCH]) == set(WEIGHTS)
    assert set(EVIDENCE) == set(RankingStage)
