"""The gate: which turns are worth a new summary, and why."""

from dataclasses import replace

import pytest

from tests.summaries.facts import START, fact, minutes, vector
from tests.summaries.gate_turns import ALSO_READS, LIMITS, READS, WRITES, decide, delta, summarised
from turnetl.summaries.gate import (
    GateState,
    NodeDelta,
    refreshed,
    should_refresh,
    similarity,
)
from turnetl.summaries.group_facts import ActiveFacts, ActiveFactSet
from turnetl.summaries.reasons import SKIPPED, GateReason


def test_the_first_fact_about_an_entity_gives_it_a_summary() -> None:
    assert decide(GateState(), delta([READS])) is GateReason.FIRST


def test_an_entity_without_facts_has_no_summary() -> None:
    assert decide(GateState(), delta()) is GateReason.UNCHANGED


def test_a_turn_that_changes_no_fact_is_skipped() -> None:
    assert decide(summarised(READS), delta(known=[READS])) is GateReason.UNCHANGED


def test_facts_that_say_almost_the_same_are_skipped() -> None:
    assert decide(summarised(READS), delta([ALSO_READS], [READS])) is GateReason.LOW_DRIFT


def test_facts_about_something_else_refresh() -> None:
    assert decide(summarised(READS), delta([WRITES], [READS])) is GateReason.DRIFTED


def test_an_invalidated_fact_refreshes_although_little_changes() -> None:
    ended = replace(ALSO_READS, invalid_at=START)
    change = delta(known=[READS], ended=[ended])
    assert decide(summarised(READS, ALSO_READS), change) is GateReason.INVALIDATED


def test_a_contradiction_refreshes_although_little_changes() -> None:
    change = delta([ALSO_READS], [READS], contradictions=("also",))
    assert decide(summarised(READS), change) is GateReason.CONTRADICTED


@pytest.mark.parametrize(
    "cause", [{"ended": [replace(READS, invalid_at=START)]}, {"contradictions": ("x",)}]
)
def test_what_is_no_longer_true_is_not_deferred_by_a_burst(cause: dict[str, object]) -> None:
    state = summarised(READS, turns=[minutes(0), minutes(1), minutes(2)])
    change = delta([WRITES], at=minutes(3), **cause)  # type: ignore[arg-type]
    assert decide(state, change) in (GateReason.INVALIDATED, GateReason.CONTRADICTED)


def test_an_old_summary_is_refreshed_for_a_small_change() -> None:
    late = START + LIMITS.max_age
    assert decide(summarised(READS), delta([ALSO_READS], [READS], at=late)) is GateReason.STALE


def test_an_old_summary_of_the_same_facts_is_not_refreshed() -> None:
    late = START + 10 * LIMITS.max_age
    assert decide(summarised(READS), delta(known=[READS], at=late)) is GateReason.UNCHANGED


def test_a_summary_edited_by_hand_is_kept() -> None:
    change = delta([WRITES], [READS])
    decision = should_refresh(summarised(READS), change, START, LIMITS, edited=True)
    assert decision == GateReason.EDITED
    assert decision in SKIPPED


def test_a_summary_whose_vector_has_another_dimension_cannot_be_compared() -> None:
    active = ActiveFacts(1, "1" * 32, vector(1, 0, 0))
    assert similarity(GateState(embedding=vector(1, 0, 0)), active) == 1
    assert similarity(GateState(embedding=vector(1, 0)), active) is None
    assert similarity(GateState(), active) is None


def test_vectors_of_two_embedders_are_not_compared_though_they_have_the_same_dimension() -> None:
    facts_before = ActiveFactSet([READS], "one").now()
    state = refreshed(facts_before, START)
    for embedder, reason in [("one", GateReason.LOW_DRIFT), ("other", GateReason.INCOMPARABLE)]:
        active = ActiveFactSet([READS, ALSO_READS], embedder).now()
        change = NodeDelta("parser", START, (ALSO_READS,), (), (), active)
        assert decide(state, change) is reason


def test_facts_without_a_mean_are_refreshed_and_the_reason_says_so() -> None:
    short = fact("short", "writes rows", vector(0, 1))
    change = delta([short], [READS])
    assert change.active.embedding is None
    assert decide(summarised(READS), change) is GateReason.INCOMPARABLE
    in_burst = summarised(READS, turns=[minutes(0), minutes(1)])
    assert decide(in_burst, delta([short], [READS], at=minutes(2))) is GateReason.BURST


def test_another_kind_of_the_entity_refreshes_although_no_fact_changes() -> None:
    unchanged = delta(known=[READS])
    for state, expected in (
        (summarised(READS), GateReason.RELABELLED),
        (GateState(), GateReason.FIRST),
    ):
        decision = should_refresh(state, unchanged, START, LIMITS, relabelled=True)
        assert decision is expected
