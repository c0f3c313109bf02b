"""The gate after refreshes that gave no text: what the next attempt knows, and when it is made."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import pytest

from tests.summaries.facts import START, fact, minutes, vector
from tests.summaries.gate_turns import (
    ALSO_READS,
    LIMITS,
    READS,
    WRITES,
    Turns,
    decide,
    delta,
    failed,
    summarised,
)
from turnetl.summaries.gate import (
    MAX_DOUBLINGS,
    MAX_PENDING,
    GateState,
    NodeDelta,
    after_turn,
    has_ended,
    may_flush,
    should_refresh,
    without_text,
)
from turnetl.summaries.reasons import SKIPPED, GateReason


def test_an_invalidation_whose_refresh_gave_no_text_is_known_to_the_next_attempt() -> None:
    ended = replace(ALSO_READS, invalid_at=START)
    change = delta(known=[READS], ended=[ended])
    state = failed(summarised(READS, ALSO_READS), change)
    assert state.ended == ("also",)
    # Though the turn is part of a burst: what no longer holds is not deferred.
    later = delta([WRITES], [READS], at=minutes(1))
    assert decide(state, later) is GateReason.INVALIDATED
    decision = GateReason.INVALIDATED
    assert after_turn(state, later, decision, minutes(1), LIMITS).ended == ()


def test_an_invalidation_of_an_edited_summary_is_known_when_the_edit_is_gone() -> None:
    change = delta(known=[READS], ended=[replace(ALSO_READS, invalid_at=START)])
    state = summarised(READS, ALSO_READS)
    state = after_turn(state, change, GateReason.EDITED, START, LIMITS)
    assert decide(state, delta(known=[READS], at=minutes(1))) is GateReason.INVALIDATED


def test_the_number_of_ended_facts_in_a_state_is_bounded() -> None:
    state = summarised(READS)
    for number in range(MAX_PENDING + 5):
        ended = fact(f"f{number}", f"fact {number}", invalid_at=START)
        state = failed(state, delta([WRITES], ended=[ended]))
    assert len(state.ended) == MAX_PENDING
    assert state.ended[-1] == f"f{MAX_PENDING + 4}"


def attempts(
    turns: int, *, successes: Sequence[int] = (), contradictions: tuple[str, ...] = ()
) -> list[int]:
    """Return the turns at which a summariser is asked that returns no text, but for `successes`.

    Each turn states a new fact, and contradicts others if `contradictions` is not empty.
    """
    limits = replace(LIMITS, min_similarity=2)
    entity, asked = Turns(limits=limits), []
    for number in range(turns):
        new = fact(f"f{number}", f"fact {number}", vector(1, number, 1))
        at = minutes(20 * number)
        change = delta([new], entity.known, at=at, contradictions=contradictions)
        decision = should_refresh(entity.state, change, at, limits)
        entity.known.append(new)
        if decision not in SKIPPED:
            asked.append(number)
        if decision not in SKIPPED and number not in successes:
            entity.state = failed(entity.state, change)
        else:
            entity.state = after_turn(entity.state, change, decision, at, LIMITS)
    return asked


@pytest.mark.full
def test_a_summariser_that_never_returns_a_text_is_asked_more_and_more_rarely() -> None:
    assert attempts(60) == [0, 1, 3, 7, 15, 31]
    late = attempts(1_000)
    pauses = [after - before for before, after in pairwise(late)]
    assert pauses == [1, 2, 4, 8, 16, 32, *[2**MAX_DOUBLINGS] * (len(pauses) - 6)]


def test_a_text_ends_the_pauses() -> None:
    asked = attempts(40, successes=[7])
    assert asked[:4] == [0, 1, 3, 7]
    assert asked[4:8] == [8, 9, 11, 15]


def test_while_no_attempt_is_made_the_reason_is_counted_under_its_own_name() -> None:
    state = failed(failed(GateState(), delta([READS])), delta([READS]))
    decision = should_refresh(state, delta([WRITES], [READS]), START, LIMITS)
    assert decision == GateReason.BACKOFF
    assert decision in SKIPPED
    assert not may_flush(state)


def after_pause(state: GateState) -> GateState:
    """Return the state after turns that only add a fact, when the next turn may ask again."""
    while state.pause > 1:
        decision = GateReason.BACKOFF
        state = after_turn(state, delta([ALSO_READS], [READS]), decision, START, LIMITS)
    return state


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (delta([WRITES], ended=[replace(READS, invalid_at=START)]), GateReason.INVALIDATED),
        (delta([WRITES], [READS], contradictions=("writes",)), GateReason.CONTRADICTED),
    ],
)
def test_a_turn_that_makes_the_summary_wrong_ends_a_pause_and_the_next_pause_stays(
    wrong: NodeDelta, reason: GateReason
) -> None:
    state = summarised(READS)
    for _ in range(7):
        state = failed(after_pause(state), delta([ALSO_READS], [READS]))
    assert state.pause == 2**MAX_DOUBLINGS
    assert decide(state, wrong) is reason
    state = failed(state, wrong)
    assert decide(state, wrong) is GateReason.BACKOFF
    state = after_pause(state)
    assert decide(state, wrong) is reason
    # That attempt waited for its turn: the next one need not.
    assert decide(failed(state, wrong), wrong) is reason


def test_turns_that_all_make_the_summary_wrong_do_not_ask_much_more_often() -> None:
    assert attempts(60, contradictions=("x",)) == [0, 1, 2, 6, 7, 23, 24]


def test_a_summary_without_a_text_waits_for_no_burst_to_end_and_may_be_flushed() -> None:
    state = without_text(GateState(), delta([READS]), LIMITS)
    assert not has_ended(state, minutes(10_000), LIMITS)
    assert may_flush(state)
    assert not may_flush(GateState())
    of_ended_burst = replace(summarised(READS, turns=[START]), deferred=2)
    assert has_ended(of_ended_burst, minutes(11), LIMITS)
    state = without_text(of_ended_burst, replace(delta(), touched=False), LIMITS)
    assert state.recent_turns == of_ended_burst.recent_turns
    assert may_flush(state)
    assert not has_ended(state, minutes(11), LIMITS)
