"""The gate over turns that follow one another: bursts, their ends, and turns that are late."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from hypothesis import given
from hypothesis import strategies as st

from tests.summaries.facts import START, fact, facts, minutes, vector
from tests.summaries.gate_turns import (
    ALSO_READS,
    LIMITS,
    READS,
    SLOW,
    WRITES,
    Turns,
    decide,
    delta,
    summarised,
    times,
)
from turnetl.base.model import Fact
from turnetl.summaries.gate import (
    MAX_PENDING,
    GateState,
    after_turn,
    has_ended,
    should_refresh,
)
from turnetl.summaries.reasons import SKIPPED, GateReason


def test_turns_that_follow_closely_defer_the_summary() -> None:
    state = summarised(READS, turns=[minutes(0), minutes(1)])
    assert decide(state, delta([WRITES], [READS], at=minutes(2))) is GateReason.BURST


def test_turns_that_are_apart_do_not() -> None:
    state = summarised(READS, turns=[minutes(0), minutes(9)])
    assert decide(state, delta([WRITES], [READS], at=minutes(11))) is GateReason.DRIFTED


def test_a_burst_without_an_end_is_summarised_at_its_cap() -> None:
    every_change_counts = replace(LIMITS, min_similarity=1)
    entity = Turns(limits=every_change_counts)
    for number in range(12):
        axes = (float(number == axis) for axis in range(12))
        entity.turn(fact(f"f{number}", f"fact {number}", vector(*axes)), minutes(number))
    assert entity.reasons == [
        GateReason.FIRST,
        GateReason.DRIFTED,
        *([GateReason.BURST] * 3 + [GateReason.BURST_CAP]) * 2,
        GateReason.BURST,
        GateReason.BURST,
    ]


def test_a_deferred_summary_is_refreshed_by_the_first_turn_after_the_burst() -> None:
    entity = Turns()
    for number, new in enumerate([READS, WRITES, SLOW]):
        entity.turn(new, minutes(number))
    assert not has_ended(entity.state, minutes(12), LIMITS)
    assert has_ended(entity.state, minutes(13), LIMITS)
    entity.turn(None, minutes(30))
    assert entity.reasons[-2:] == [GateReason.BURST, GateReason.BURST_ENDED]
    assert not has_ended(entity.state, minutes(60), LIMITS)


def test_small_changes_add_up_to_a_refresh() -> None:
    entity = Turns()
    for number in range(40):
        angle = number * 0.1
        new = fact(f"f{number}", f"fact {number}", vector(1, angle, angle * angle))
        entity.turn(new, minutes(20 * number))
    assert {GateReason.LOW_DRIFT, GateReason.DRIFTED} <= {*entity.reasons}


def test_a_refresh_is_told_all_facts_since_the_last_one() -> None:
    entity = Turns(summarised(READS))
    entity.known.append(READS)
    pending = []
    for new, at in [(ALSO_READS, 20), (WRITES, 40)]:
        entity.turn(new, minutes(at))
        pending.append(entity.state.pending)
    assert entity.reasons == [GateReason.LOW_DRIFT, GateReason.DRIFTED]
    assert pending == [("also",), ()]


def test_the_state_stays_small_however_long_a_summary_is_skipped() -> None:
    state = summarised(READS)
    for number in range(MAX_PENDING + 5):
        change = delta([fact(f"f{number}")], [READS], at=minutes(number))
        state = after_turn(state, change, GateReason.BURST, minutes(number), LIMITS)
    assert len(state.pending) == MAX_PENDING
    assert state.pending[-1] == f"f{MAX_PENDING + 4}"
    assert len(state.recent_turns) == LIMITS.burst_turns


@given(st.lists(st.tuples(facts(), times), max_size=12))
def test_a_turn_that_is_late_neither_fails_nor_reopens_the_past(
    turns: Sequence[tuple[Fact, datetime]],
) -> None:
    state, known, now = GateState(), [], START
    for new, at in turns:
        known.append(new)
        now = max(now, at)
        change = delta([new], known, at=at)
        decision = should_refresh(state, change, now, LIMITS)
        state = after_turn(state, change, decision, now, LIMITS)
        assert list(state.recent_turns) == sorted(state.recent_turns)
        assert decision in SKIPPED or (state.summarised_at == now and not state.pending)
        assert state.summarised_at is None or state.summarised_at <= now


@given(st.lists(st.tuples(facts(), times), max_size=12))
def test_after_a_refresh_the_same_facts_are_unchanged(
    turns: Sequence[tuple[Fact, datetime]],
) -> None:
    state, known = GateState(), []
    for new, at in sorted(turns, key=lambda turn: turn[1]):
        known.append(new)
        change = delta([new], known, at=at)
        decision = should_refresh(state, change, at, LIMITS)
        state = after_turn(state, change, decision, at, LIMITS)
        if decision not in SKIPPED:
            again = delta(known=known, at=at)
            assert should_refresh(state, again, at, LIMITS) is GateReason.UNCHANGED
