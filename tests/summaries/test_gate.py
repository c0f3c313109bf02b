"""The gate: which turns are worth a new summary, and why."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.summaries.facts import START, fact, facts, minutes, vector
from turnetl.model import Fact
from turnetl.summaries.active_facts import ActiveFacts, ActiveFactSet
from turnetl.summaries.delta import NodeDelta
from turnetl.summaries.gate import (
    MAX_PENDING,
    Decision,
    GateLimits,
    GateState,
    after_turn,
    has_ended,
    refreshed,
    should_refresh,
    similarity,
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
    return replace(refreshed(GateState(), ActiveFactSet(known).now(), at), recent_turns=(*turns,))


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


def test_a_summary_whose_vector_has_another_dimension_is_about_something_else() -> None:
    active = ActiveFacts(1, "1" * 32, vector(1, 0, 0))
    assert similarity(vector(1, 0, 0), active) == 1
    assert similarity(vector(1, 0), active) == 0
