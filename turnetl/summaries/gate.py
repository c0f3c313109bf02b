"""The summary gate: decides whether a turn makes a new summary of an entity worthwhile.

Pure and deterministic: a decision depends on the recorded state and the turn alone. The time is
that of the turns.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import lru_cache

import numpy as np

from turnetl.base.model import Fact, Vector
from turnetl.base.relations import CHANGES, FAILED_WITH, FIXED_BY, REPORTED
from turnetl.episode_text.retelling import SPEAKER
from turnetl.llm.vectors import unpack
from turnetl.summaries.group_facts import ActiveFacts
from turnetl.summaries.reasons import SKIPPED, GateReason


@dataclass(frozen=True, slots=True)
class NodeDelta:
    """What a turn changes about one entity: the input of the gate, complete once it is resolved."""

    entity: str
    """Uuid."""
    at: datetime
    """The turn's reference time."""
    facts_new: tuple[Fact, ...]
    """Facts about the entity that are new, or that hold again; each with its embedding."""
    facts_invalidated: tuple[Fact, ...]
    """Facts that were active before the turn."""
    contradictions: tuple[str, ...]
    """Uuids of new facts that deny an active one about the same two entities, or the reverse."""
    active: ActiveFacts
    """After the turn."""
    touched: bool = True
    """Whether the turn is about the entity; if not, a burst of turns about it ended."""


def node_deltas(
    facts: Iterable[Fact],
    facts_before: Iterable[Fact],
    mentions: Iterable[str],
    at: datetime,
    *,
    between: Callable[[str, str], Iterable[Fact]],
    active: Callable[[str], ActiveFacts],
) -> Mapping[str, NodeDelta]:
    """Return by uuid what a turn changes about each entity that it mentions or has a fact about.

    Args:
        facts: new, changed and invalidated facts of the turn in their new state.
        facts_before: those of them that the group held, in their previous state.
        between: returns the active facts about two entities before the turn, in either direction.
    """
    before = {fact.uuid: fact for fact in facts_before}
    new: dict[str, list[Fact]] = {}
    ended: dict[str, list[Fact]] = {}
    for fact in facts:
        known = before.get(fact.uuid)
        was_active = known is not None and known.invalid_at is None
        if not was_active and fact.invalid_at is None:
            _add(new, fact)
        elif was_active and fact.invalid_at is not None:
            _add(ended, fact)
    return {
        entity: NodeDelta(
            entity,
            at,
            tuple(new.get(entity, ())),
            tuple(ended.get(entity, ())),
            tuple(fact.uuid for fact in new.get(entity, ()) if _contradicts(fact, between)),
            active(entity),
        )
        for entity in sorted({*new, *ended, *mentions})
    }


def _add(facts: dict[str, list[Fact]], fact: Fact) -> None:
    for entity in dict.fromkeys((fact.source, fact.target)):
        facts.setdefault(entity, []).append(fact)


def _contradicts(fact: Fact, between: Callable[[str, str], Iterable[Fact]]) -> bool:
    """Return whether it denies an active fact. What was said or done denies nothing said or done.

    Two sentences of a chat about the same two things are rarely about the same question, and the
    next edit of a file does not make the one before it wrong.
    """
    if fact.relation in _EVENTS or SPEAKER.match(fact.text):
        return False
    others = between(fact.source, fact.target)
    same_relation = (other for other in others if other.relation == fact.relation)
    return any(is_negative(other.text) != is_negative(fact.text) for other in same_relation)


_EVENTS = (
    CHANGES
    | {FAILED_WITH, FIXED_BY, REPORTED}
    | {"ASKED", "ANSWERED", "DESCRIBED", "EXPLAINED", "STEERED", "USED", "RAN"}
)
"""Relations of what happened, and of chats in older graphs."""


@dataclass(frozen=True, slots=True)
class GateLimits:
    """The limits of the gate."""

    min_similarity: float = 0.985
    """Cosine from which on the facts of the summary and the active ones are about the same."""
    burst_turns: int = 3
    """Turns about an entity within `burst_window` that make a burst."""
    burst_window: timedelta = timedelta(minutes=30)
    """Also the pause that ends a burst."""
    burst_cap: int = 10
    """Turns after which a deferred summary is refreshed although the burst goes on."""
    max_age: timedelta = timedelta(days=30)
    """Age, in the time of the turns, from which on a small change refreshes a summary too."""


@dataclass(frozen=True, slots=True)
class GateState:
    """What is recorded about the summary of an entity, in the transaction of each turn about it."""

    fact_hash: str | None = None
    """`ActiveFacts.hash` of the summary; None if there is none."""
    embedding: Vector | None = None
    """`ActiveFacts.embedding` of the summary."""
    embedder: str | None = None
    """`ActiveFacts.embedder` of the summary; None without an embedding."""
    summarised_at: datetime | None = None
    """Reference time of the turn at which the summary was made."""
    recent_turns: tuple[datetime, ...] = ()
    """Reference times of the latest `burst_turns` turns within `burst_window`, ascending."""
    deferred: int = 0
    """Turns since the summary was first deferred; 0 if it is not."""
    pending: tuple[str, ...] = ()
    """Uuids of facts that became active since the summary, oldest first, the latest of them; or
    `EVERY_FACT` alone."""
    ended: tuple[str, ...] = ()
    """Uuids of facts that were invalidated since the summary, which may state them still; oldest
    first, the latest of them."""
    failures: int = 0
    """Refreshes in a row for which the summariser returned no text."""
    pause: int = 0
    """Turns about the entity until the summariser may be asked again: 1 is the next turn."""
    asked_early: bool = False
    """Whether the latest of these refreshes did not wait for the end of its pause."""


EVERY_FACT = "*"
"""In `pending`: no record says which facts the summary does not state. An undo of a turn takes back
the summaries that later turns wrote, and the facts of these turns remain."""
MAX_PENDING = 200
"""New facts, and ended ones, that a state names: more than a prompt shows."""
MAX_DOUBLINGS = 6
"""Of the pause after a refresh without a text: 64 turns about the entity at most."""


def should_refresh(
    state: GateState,
    delta: NodeDelta,
    now: datetime,
    limits: GateLimits,
    *,
    edited: bool = False,
    relabelled: bool = False,
) -> GateReason:
    """Decide whether the summary is refreshed at the turn, from the state before the turn.

    Args:
        now: the latest reference time of the group so far; turns may arrive late.
        relabelled: whether the turn changes the labels of the entity, which begin a summary.
    """
    if relabelled and not edited and state.fact_hash not in (None, _NO_FACTS):
        return GateReason.RELABELLED
    return next(_reasons(state, delta, now, limits, edited=edited))


def _reasons(
    state: GateState, delta: NodeDelta, now: datetime, limits: GateLimits, *, edited: bool
) -> Iterator[GateReason]:
    """Yield the reasons that apply, the strongest first, and always one."""
    if edited:
        yield GateReason.EDITED
    if delta.active.hash == (state.fact_hash or _NO_FACTS):
        yield GateReason.UNCHANGED
    if state.pause > 1 and not _is_urgent(state, delta):
        yield GateReason.BACKOFF
    if delta.facts_invalidated or state.ended:
        yield GateReason.INVALIDATED
    if delta.contradictions:
        yield GateReason.CONTRADICTED
    if state.summarised_at is None:
        yield GateReason.FIRST
    elif now - state.summarised_at >= limits.max_age:
        yield GateReason.STALE
    yield from _reasons_of_change(state, delta, now, limits)


def has_ended(state: GateState, now: datetime, limits: GateLimits) -> bool:
    """Return whether the summary is deferred and the burst that deferred it has ended.

    A summary without a text waits for a turn about its entity instead.
    """
    is_waiting = bool(state.deferred) and not state.pause
    return is_waiting and now - state.recent_turns[-1] > limits.burst_window


def may_flush(state: GateState) -> bool:
    """Return whether the end of a run writes the summary: it is deferred, and may be requested."""
    return bool(state.deferred) and state.pause <= 1


def after_turn(
    state: GateState, delta: NodeDelta, decision: GateReason, now: datetime, limits: GateLimits
) -> GateState:
    """Return the state that is recorded with the turn, whether or not the summary is refreshed."""
    recent = _recent(state, delta, limits)
    if decision not in SKIPPED:
        return refreshed(delta.active, now, recent)
    deferred = state.deferred + 1 if decision is GateReason.BURST else state.deferred
    is_current = decision is GateReason.UNCHANGED
    return replace(
        state,
        recent_turns=recent,
        deferred=0 if is_current else deferred,
        pending=() if is_current else _pending(state, delta),
        ended=() if is_current else _ended(state, delta),
        pause=max(0, state.pause - 1),
    )


def without_text(state: GateState, delta: NodeDelta, limits: GateLimits) -> GateState:
    """Return the state after a refresh for which the summariser returned no text.

    The summary is due, as a deferred one is. The first attempt after it is that of the next turn
    about the entity, then of the second, the fourth, and so on: with a summariser that never
    returns one, requests become rare. A turn that makes the summary wrong does not wait, once until
    a pause has ended. What the end of a run writes is no attempt that counts.
    """
    return replace(
        state,
        recent_turns=_recent(state, delta, limits),
        deferred=max(1, state.deferred),
        pending=_pending(state, delta),
        ended=_ended(state, delta),
        failures=state.failures + 1,
        pause=2 ** min(state.failures, MAX_DOUBLINGS),
        asked_early=state.pause > 1,
    )


def refreshed(
    active: ActiveFacts, now: datetime, recent_turns: tuple[datetime, ...] = ()
) -> GateState:
    return GateState(
        fact_hash=active.hash,
        embedding=active.embedding,
        embedder=None if active.embedding is None else active.embedder,
        summarised_at=now,
        recent_turns=recent_turns,
    )


def similarity(summary: GateState, active: ActiveFacts) -> float | None:
    """Return the cosine between the facts of a summary and the active ones.

    None if they cannot be compared: one has no vector, or another embedder made it.
    """
    if summary.embedding is None or active.embedding is None:
        return None
    one, other = unpack(summary.embedding), unpack(active.embedding)
    if summary.embedder != active.embedder or one.size != other.size:
        return None
    return float(np.dot(one.astype(np.float64), other))


def _is_urgent(state: GateState, delta: NodeDelta) -> bool:
    """Return whether a turn that makes the summary wrong may end a pause early: every other time.

    So its attempts are not many more than those of turns that only add facts.
    """
    return bool(delta.facts_invalidated or delta.contradictions) and not state.asked_early


_NO_FACTS = f"{0:032x}"
"""`ActiveFacts.hash` of no facts."""


def _reasons_of_change(
    state: GateState, delta: NodeDelta, now: datetime, limits: GateLimits
) -> Iterator[GateReason]:
    drift = _drift(state, delta, limits)
    if not state.deferred and drift is GateReason.LOW_DRIFT:
        yield drift
    if has_ended(state, now, limits):
        yield GateReason.BURST_ENDED
    if len(_recent(state, delta, limits)) >= limits.burst_turns:
        yield GateReason.BURST if state.deferred + 1 < limits.burst_cap else GateReason.BURST_CAP
    # Of a deferred summary, small changes have added up.
    yield GateReason.DRIFTED if drift is GateReason.LOW_DRIFT else drift


def _drift(state: GateState, delta: NodeDelta, limits: GateLimits) -> GateReason:
    cosine = similarity(state, delta.active)
    if cosine is None:
        return GateReason.INCOMPARABLE
    return GateReason.LOW_DRIFT if cosine >= limits.min_similarity else GateReason.DRIFTED


def _pending(state: GateState, delta: NodeDelta) -> tuple[str, ...]:
    if EVERY_FACT in state.pending:
        return state.pending
    return _latest(state.pending, delta.facts_new)


def _ended(state: GateState, delta: NodeDelta) -> tuple[str, ...]:
    return _latest(state.ended, delta.facts_invalidated)


def _latest(uuids: tuple[str, ...], facts: Iterable[Fact]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*uuids, *(fact.uuid for fact in facts))))[-MAX_PENDING:]


def _recent(state: GateState, delta: NodeDelta, limits: GateLimits) -> tuple[datetime, ...]:
    """Return the times in the window that ends with the latest turn, which may not be this one."""
    if not delta.touched:
        return state.recent_turns
    times = sorted((*state.recent_turns, delta.at))
    within = [time for time in times if times[-1] - time <= limits.burst_window]
    return tuple(within[-limits.burst_turns :])


_NEGATION = re.compile(
    r"\b(?:no|not|never|none|neither|nor|without|cannot|nothing|\w+n't)\b"
    r"|\b(?:no longer|instead of|rolled back|reverted|removed|dropped|disabled|abandoned|undone)\b",
    re.IGNORECASE,
)


@lru_cache(maxsize=1024)
def is_negative(text: str) -> bool:
    """Return whether the sentence denies something; two negations cancel each other."""
    return len(_NEGATION.findall(text)) % 2 == 1
