"""The gate: which turns are worth a new summary, and why."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.summaries.facts import START, fact, facts, minutes, vector
from turnetl.model import Fact
from turnetl.summaries.active_facts import ActiveFacts, ActiveFactSet
from turnetl.summaries.delta import NodeDelta
from turnetl.summaries.gate import (
    MAX_DOUBLINGS,
    MAX_PENDING,
    Decision,
    GateLimits,
    GateState,
    after_turn,
    has_ended,
    may_flush,
    refreshed,
    should_refresh,
    similarity,
    without_text,
)
from turnetl.summaries.reasons import GateReason

LIMITS = GateLimits(
    min_similarity=0.9,
    burst_turns=3,
    burst_window=timedelta(minutes=10),
    burst_cap=4,
    max_age=timedelta(days=7),
)
READS = fact("reads", "reads lines", vector(1, 0, 0))
ALSO_READS = fact("also", "reads long lines", vector(1, 0.2, 0))
WRITES = fact("writes", "writes rows", vector(0, 1, 0))
SLOW = fact("slow", "is slow", vector(0, 0, 1))


def delta(
    new: Sequence[Fact] = (),
    known: Sequence[Fact] = (),
    ended: Sequence[Fact] = (),
    *,
    at: datetime = START,
    contradictions: tuple[str, ...] = (),
) -> NodeDelta:
    """Return the delta of a turn about an entity that had the facts `known`."""
    active = ActiveFactSet([*known, *new, *ended]).now()
    return NodeDelta("parser", at, tuple(new), tuple(ended), contradictions, active)


def summarised(*known: Fact, at: datetime = START, turns: Sequence[datetime] = ()) -> GateState:
    """Return the state of an entity whose summary was made from these facts."""
    return refreshed(ActiveFactSet(known).now(), at, (*turns,))


def decide(state: GateState, change: NodeDelta, now: datetime | None = None) -> GateReason:
    return should_refresh(state, change, now or change.at, LIMITS).reason


class Turns:
    """An entity over a sequence of turns."""

    def __init__(self, state: GateState | None = None, limits: GateLimits = LIMITS) -> None:
        self.limits = limits
        self.state = state or GateState()
        self.known: list[Fact] = []
        self.reasons: list[GateReason] = []

    def turn(self, new: Fact | None, at: datetime) -> None:
        added = [new] if new else []
        change = delta(added, self.known, at=at)
        decision = should_refresh(self.state, change, at, self.limits)
        self.state = after_turn(self.state, change, decision, at, self.limits)
        self.known += added
        self.reasons.append(decision.reason)


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
    assert decision == Decision(GateReason.EDITED)
    assert not decision.refresh


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
        state = after_turn(state, change, Decision(GateReason.BURST), minutes(number), LIMITS)
    assert len(state.pending) == MAX_PENDING
    assert state.pending[-1] == f"f{MAX_PENDING + 4}"
    assert len(state.recent_turns) == LIMITS.burst_turns


times = st.integers(0, 20_000).map(minutes)


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
        assert (
            decision.refresh == (state.summarised_at == now and not state.pending)
            or not decision.refresh
        )
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
        if decision.refresh:
            again = delta(known=known, at=at)
            assert should_refresh(state, again, at, LIMITS).reason is GateReason.UNCHANGED


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


def failed(state: GateState, change: NodeDelta) -> GateState:
    return without_text(state, change, LIMITS)


def test_an_invalidation_whose_refresh_gave_no_text_is_known_to_the_next_attempt() -> None:
    ended = replace(ALSO_READS, invalid_at=START)
    change = delta(known=[READS], ended=[ended])
    state = failed(summarised(READS, ALSO_READS), change)
    assert state.ended == ("also",)
    # Though the turn is part of a burst: what no longer holds is not deferred.
    later = delta([WRITES], [READS], at=minutes(1))
    assert decide(state, later) is GateReason.INVALIDATED
    decision = Decision(GateReason.INVALIDATED)
    assert after_turn(state, later, decision, minutes(1), LIMITS).ended == ()


def test_an_invalidation_of_an_edited_summary_is_known_when_the_edit_is_gone() -> None:
    change = delta(known=[READS], ended=[replace(ALSO_READS, invalid_at=START)])
    state = summarised(READS, ALSO_READS)
    state = after_turn(state, change, Decision(GateReason.EDITED), START, LIMITS)
    assert decide(state, delta(known=[READS], at=minutes(1))) is GateReason.INVALIDATED


def test_the_number_of_ended_facts_in_a_state_is_bounded() -> None:
    state = summarised(READS)
    for number in range(MAX_PENDING + 5):
        ended = fact(f"f{number}", f"fact {number}", invalid_at=START)
        state = failed(state, delta([WRITES], ended=[ended]))
    assert len(state.ended) == MAX_PENDING
    assert state.ended[-1] == f"f{MAX_PENDING + 4}"


def attempts(turns: int, *, successes: Sequence[int] = ()) -> list[int]:
    """Return the turns at which a summariser is asked that returns no text, but for `successes`."""
    limits = replace(LIMITS, min_similarity=2)
    entity, asked = Turns(limits=limits), []
    for number in range(turns):
        new = fact(f"f{number}", f"fact {number}", vector(1, number, 1))
        at = minutes(20 * number)
        change = delta([new], entity.known, at=at)
        decision = should_refresh(entity.state, change, at, limits)
        entity.known.append(new)
        if decision.refresh:
            asked.append(number)
        if decision.refresh and number not in successes:
            entity.state = failed(entity.state, change)
        else:
            entity.state = after_turn(entity.state, change, decision, at, LIMITS)
    return asked


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
    state, change = GateState(), delta([READS])
    for _ in range(2):
        state = failed(state, change)
    ended = [replace(READS, invalid_at=START)]
    decision = should_refresh(state, delta([WRITES], ended=ended), START, LIMITS)
    assert decision == Decision(GateReason.BACKOFF)
    assert not decision.refresh
    assert not may_flush(state)


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
