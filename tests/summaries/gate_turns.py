"""An entity over turns, and what the gate decides about it."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from hypothesis import strategies as st

from tests.summaries.facts import START, fact, minutes, vector
from turnetl.base.model import Fact
from turnetl.summaries.gate import (
    GateLimits,
    GateState,
    NodeDelta,
    after_turn,
    refreshed,
    should_refresh,
    without_text,
)
from turnetl.summaries.group_facts import ActiveFactSet
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
    return should_refresh(state, change, now or change.at, LIMITS)


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
        self.reasons.append(decision)


times = st.integers(0, 20_000).map(minutes)


def failed(state: GateState, change: NodeDelta) -> GateState:
    return without_text(state, change, LIMITS)
