"""The summary gate: decides whether a turn makes a new summary of an entity worthwhile.

Pure and deterministic: a decision depends on the recorded state and the turn alone. The time is
that of the turns.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import numpy as np

from turnetl.llm.vectors import unpack
from turnetl.model import Vector
from turnetl.summaries.active_facts import ActiveFacts
from turnetl.summaries.delta import NodeDelta
from turnetl.summaries.reasons import SKIPPED, GateReason


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether to refresh a summary, and why."""

    reason: GateReason

    @property
    def refresh(self) -> bool:
        return self.reason not in SKIPPED


@dataclass(frozen=True, slots=True)
class GateLimits:
    """The limits of the gate."""

    min_similarity: float = 0.98
    """Cosine between the facts of the summary and the active facts from which on they count as
    being about the same."""
    burst_turns: int = 3
    """Turns about an entity within `burst_window` that make a burst."""
    burst_window: timedelta = timedelta(minutes=30)
    """Also the pause that ends a burst."""
    burst_cap: int = 10
    """Turns after which a deferred summary is refreshed although the burst goes on."""
    max_age: timedelta = timedelta(days=30)
    """Age, in the time of the turns, from which on a summary that is not up to date is refreshed
    even for a small change."""


@dataclass(frozen=True, slots=True)
class GateState:
    """What is recorded about the summary of an entity, in the transaction of each turn about it."""

    fact_hash: str | None = None
    """`ActiveFacts.hash` of the summary; None if there is none."""
    embedding: Vector | None = None
    """`ActiveFacts.embedding` of the summary."""
    summarised_at: datetime | None = None
    """Reference time of the turn at which the summary was made."""
    recent_turns: tuple[datetime, ...] = ()
    """Reference times of the latest turns about the entity within `burst_window`, ascending, at
    most `burst_turns` of them."""
    deferred: int = 0
    """Turns since the summary was first deferred; 0 if it is not."""
    pending: tuple[str, ...] = ()
    """Uuids of facts that became active since the summary, oldest first, the latest of them; or
    `EVERY_FACT` alone."""


EVERY_FACT = "*"
"""In `pending`: no record says which facts the summary does not state. An undo of a turn takes back
the summaries that later turns wrote, and the facts of these turns remain."""
MAX_PENDING = 200
"""Facts that a state names: as many as a prompt shows at most."""


def should_refresh(
    state: GateState,
    delta: NodeDelta,
    now: datetime,
    limits: GateLimits,
    *,
    edited: bool = False,
) -> Decision:
    """Decide whether the summary is refreshed at the turn.

    Args:
        state: as the turn before left it.
        delta: what this turn changes.
        now: the latest reference time of the group so far; turns may arrive late.
        limits: the limits.
        edited: whether someone changed the summary by hand.
    """
    return Decision(next(_reasons(state, delta, now, limits, edited=edited)))


def _reasons(
    state: GateState, delta: NodeDelta, now: datetime, limits: GateLimits, *, edited: bool
) -> Iterator[GateReason]:
    """Yield the reasons that apply, the strongest first, and always one."""
    if edited:
        yield GateReason.EDITED
    if delta.active.hash == (state.fact_hash or _NO_FACTS):
        yield GateReason.UNCHANGED
    if delta.facts_invalidated:
        yield GateReason.INVALIDATED
    if delta.contradictions:
        yield GateReason.CONTRADICTED
    if state.summarised_at is None:
        yield GateReason.FIRST
    elif now - state.summarised_at >= limits.max_age:
        yield GateReason.STALE
    if not state.deferred and similarity(state.embedding, delta.active) >= limits.min_similarity:
        yield GateReason.LOW_DRIFT
    if has_ended(state, now, limits):
        yield GateReason.BURST_ENDED
    if _is_burst(state, delta.at, limits):
        yield GateReason.BURST if state.deferred + 1 < limits.burst_cap else GateReason.BURST_CAP
    yield GateReason.DRIFTED


def has_ended(state: GateState, now: datetime, limits: GateLimits) -> bool:
    """Return whether the summary is deferred and the burst that deferred it has ended."""
    return bool(state.deferred) and now - state.recent_turns[-1] > limits.burst_window


def after_turn(
    state: GateState, delta: NodeDelta, decision: Decision, now: datetime, limits: GateLimits
) -> GateState:
    """Return the state that is recorded with the turn, whether or not the summary is refreshed."""
    recent = _recent(state, delta.at, limits)
    if decision.refresh:
        return replace(refreshed(state, delta.active, now), recent_turns=recent)
    deferred = state.deferred + 1 if decision.reason is GateReason.BURST else state.deferred
    is_current = decision.reason is GateReason.UNCHANGED
    return replace(
        state,
        recent_turns=recent,
        deferred=0 if is_current else deferred,
        pending=() if is_current else _pending(state, delta),
    )


def without_text(
    state: GateState, delta: NodeDelta, limits: GateLimits, *, touched: bool
) -> GateState:
    """Return the state after a refresh for which the summariser returned no text.

    The summary is due, as a deferred one is: the next turn about the entity tries again, or the end
    of the burst. After that it waits for a turn, so that no turn repeats the request in vain.

    Args:
        state: as the turn before left it.
        delta: what this turn changes.
        limits: the limits.
        touched: whether the turn is about the entity; if not, a burst about it ended.
    """
    if not touched:
        return replace(state, deferred=0)
    return replace(
        state,
        recent_turns=_recent(state, delta.at, limits),
        deferred=max(1, state.deferred),
        pending=_pending(state, delta),
    )


def refreshed(state: GateState, active: ActiveFacts, now: datetime) -> GateState:
    """Return the state after a refresh from these facts."""
    return replace(
        state,
        fact_hash=active.hash,
        embedding=active.embedding,
        summarised_at=now,
        deferred=0,
        pending=(),
    )


def similarity(summary: Vector | None, active: ActiveFacts) -> float:
    """Return the cosine between the facts of a summary and the active ones; 0 without either.

    It is 0, too, if another embedder made one of them, with vectors of another dimension.
    """
    if summary is None or active.embedding is None:
        return 0.0
    one, other = unpack(summary), unpack(active.embedding)
    return float(np.dot(one.astype(np.float64), other)) if one.size == other.size else 0.0


_NO_FACTS = f"{0:032x}"
"""`ActiveFacts.hash` of no facts."""


def _pending(state: GateState, delta: NodeDelta) -> tuple[str, ...]:
    if EVERY_FACT in state.pending:
        return state.pending
    pending = dict.fromkeys((*state.pending, *(fact.uuid for fact in delta.facts_new)))
    return tuple(pending)[-MAX_PENDING:]


def _is_burst(state: GateState, at: datetime, limits: GateLimits) -> bool:
    return len(_recent(state, at, limits)) >= limits.burst_turns


def _recent(state: GateState, at: datetime, limits: GateLimits) -> tuple[datetime, ...]:
    """Return the times in the window that ends with the latest turn, which may not be this one."""
    times = sorted((*state.recent_turns, at))
    within = [time for time in times if times[-1] - time <= limits.burst_window]
    return tuple(within[-limits.burst_turns :])
