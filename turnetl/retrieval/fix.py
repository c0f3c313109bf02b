"""Where an error occurred, and what resolved it.

A failure is resolved when the graph says that it no longer holds: the same command succeeded later.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated

import numpy as np

from turnetl.base.model import Entity, Fact, GroupId
from turnetl.base.results import described
from turnetl.episode_text.conversation import from_episode_text
from turnetl.index.lookup import LookupIndex, StatedFact
from turnetl.index.port import IndexedFact, IndexedTurn, Keys
from turnetl.index.selection import Selection
from turnetl.llm.embedders.port import Embedder
from turnetl.llm.embedders.static_model import StaticModel
from turnetl.retrieval.digest import FAILURE
from turnetl.retrieval.error_match import EXACT, ErrorMatcher
from turnetl.retrieval.error_question import without_passing
from turnetl.retrieval.items import ERROR_LABEL
from turnetl.retrieval.query import analyze
from turnetl.retrieval.ranking import rank
from turnetl.retrieval.turn_summary import TurnSummary, summarize

_CHANGES = frozenset({"CREATED", "MODIFIED", "DELETED", "ADDED"})
_RUN = "RAN"
_RANKED = 60
"""Turns whose errors are compared with the query."""
_OCCURRENCES = 5
"""Occurrences of an error that are returned, the last ones."""
_LONGEST = timedelta(days=2)
"""Time between the start of a turn and a success in it."""
_CANDIDATES = 50
"""Turns that are examined for the success that resolved a failure."""
_ANSWER_CHARS = 600


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A failure in a turn, and what resolved it."""

    fact: Annotated[Fact, described("The failure.")]
    turn: Annotated[TurnSummary, described("The turn in which it occurred.")]
    resolved_at: Annotated[
        datetime | None, described("Time of the success; null if no later success is known.")
    ]
    resolved_by: Annotated[
        TurnSummary | None, described("The turn of the success; null if it is not known.")
    ]
    evidence: Annotated[
        tuple[Fact, ...],
        described("What was changed between failure and success, and the success."),
    ]
    answer: Annotated[
        str,
        described("What the agent wrote last in the turn of the success, or else of the failure."),
    ]


@dataclass(frozen=True, slots=True)
class ErrorHistory:
    """An error or a failed test, and where it occurred."""

    error: Annotated[Entity, described("The error.")]
    occurrences: Annotated[
        tuple[Occurrence, ...],
        described("The last occurrences: the resolved ones first, newest first."),
    ]
    count: Annotated[int, described("In how many turns it occurred.")]


async def find_fixes(
    index: LookupIndex,
    text: str,
    embedder: Embedder,
    *,
    groups: Sequence[GroupId] = (),
    limit: int,
) -> list[ErrorHistory]:
    """Return the errors that match a text, best first, each with what resolved it.

    Args:
        index: of the graph.
        text: a message, a part of one, or a log that contains it.
        embedder: the one that the index was made with.
        groups: only errors of these groups; all groups if empty.
        limit: at most this many errors.
    """
    # Quotes in a message are not phrases of a query.
    plain = without_passing(text).replace('"', " ")
    if not plain.strip():
        return []
    keys = _failing_turns(index, tuple(groups))
    static_model = StaticModel.open()
    query = await analyze(plain, embedder, static_model)
    ranked = rank(query, index, static_model, keys)[:_RANKED] if len(keys) else []
    facts = list(index.facts([one.turn.key for one in ranked]).values())
    named = (_error(one) for of_turn in facts for one in of_turn)
    errors = _matching(facts, ErrorMatcher(text, {one.name for one in named if one is not None}))
    return [error_history(index, error) for error in errors[:limit]]


def error_history(index: LookupIndex, error: Entity) -> ErrorHistory:
    """Return the last occurrences of an error, each with what resolved it."""
    stated = index.lookup().facts_about(error.uuid)
    failures = [one for one in stated if one.indexed.fact.relation == FAILURE] or stated
    by_turn = {one.turns[-1]: one for one in failures}
    last = list(by_turn.items())[-_OCCURRENCES:]
    turns = index.turns([key for key, _ in last])
    found = [_occurrence(index, one, turns[key]) for key, one in last if key in turns]
    found.sort(key=lambda one: one.turn.receipt.started_at, reverse=True)
    found.sort(key=lambda one: one.resolved_at is None)
    return ErrorHistory(error, tuple(found), len(by_turn))


def _failing_turns(index: LookupIndex, groups: tuple[GroupId, ...]) -> Keys:
    """Return the turns with an error or a failed test."""
    return np.union1d(
        index.select(Selection(groups=groups, label=ERROR_LABEL)),
        index.select(Selection(groups=groups, relation=FAILURE)),
    )


def _matching(facts: Iterable[Sequence[IndexedFact]], matcher: ErrorMatcher) -> list[Entity]:
    """Return the errors that match, best first; only that one if one is the very text."""
    scores: dict[str, tuple[float, Entity]] = {}
    for indexed in (one for of_turn in facts for one in of_turn):
        error = _error(indexed)
        if error is None:
            continue
        score = matcher.score(error.name, indexed.fact.text)
        if score > scores.get(error.uuid, (0.0, error))[0]:
            scores[error.uuid] = score, error
    ordered = sorted(scores.values(), key=lambda pair: (-pair[0], pair[1].name, pair[1].uuid))
    is_exact = any(score >= EXACT for score, _ in ordered)
    return [error for score, error in ordered if score >= EXACT or not is_exact]


def _error(indexed: IndexedFact) -> Entity | None:
    """Return the error or failed test that a fact is about; None if it is about neither."""
    if indexed.fact.relation == FAILURE:
        return indexed.target
    return next(
        (end for end in (indexed.target, indexed.source) if ERROR_LABEL in end.labels), None
    )


def _occurrence(index: LookupIndex, stated: StatedFact, turn: IndexedTurn) -> Occurrence:
    fact = stated.indexed.fact
    resolving = _resolving_turn(index, stated, turn)
    (summary,) = summarize(index, [turn.key])
    answering = turn if resolving is None else resolving
    return Occurrence(
        fact=fact,
        turn=summary,
        resolved_at=fact.invalid_at,
        resolved_by=next(iter(summarize(index, [resolving.key] if resolving else [])), None),
        evidence=_evidence(index, stated, turn, resolving) if resolving else (),
        answer=_ending(from_episode_text(answering.text).answer),
    )


def _resolving_turn(
    index: LookupIndex, stated: StatedFact, turn: IndexedTurn
) -> IndexedTurn | None:
    """Return the turn that invalidated a fact: the index records which facts a turn changed."""
    fact, ended_at = stated.indexed.fact, turn.receipt.ended_at
    if fact.invalid_at is None:
        return None
    if ended_at is not None and turn.receipt.started_at <= fact.invalid_at <= ended_at:
        return turn
    around = Selection(
        groups=(fact.group_id,),
        since=fact.invalid_at - _LONGEST,
        until=fact.invalid_at + timedelta(microseconds=1),
    )
    newest = index.newest(around, limit=_CANDIDATES)
    changed = index.lookup().changed_facts(newest)
    keys = [key for key in newest if key not in stated.turns and fact.uuid in changed[key]]
    return index.turns(keys[:1]).get(keys[0]) if keys else None


def _evidence(
    index: LookupIndex, stated: StatedFact, turn: IndexedTurn, resolving: IndexedTurn
) -> tuple[Fact, ...]:
    """Return the changes between failure and success, and the success, in the order of time."""
    failure = stated.indexed.fact
    start, end = failure.valid_at or turn.receipt.started_at, failure.invalid_at
    session = index.lookup().session(turn.receipt.session_id)
    if resolving.key in session and turn.key in session:
        keys = session[session.index(turn.key) : session.index(resolving.key) + 1]
    else:
        keys = [resolving.key]
    facts = {
        indexed.fact.uuid: indexed.fact
        for of_turn in index.facts(keys[-_CANDIDATES:]).values()
        for indexed in of_turn
        if _is_change(indexed.fact) or _is_success(indexed, stated)
    }
    within = [
        fact
        for fact in facts.values()
        if fact.valid_at is not None and end is not None and start <= fact.valid_at <= end
    ]
    return tuple(sorted(within, key=lambda fact: (fact.valid_at or start, fact.uuid)))


def _is_change(fact: Fact) -> bool:
    return fact.relation in _CHANGES


def _is_success(indexed: IndexedFact, failure: StatedFact) -> bool:
    command = failure.indexed.source.uuid
    return indexed.fact.relation == _RUN and command in (indexed.source.uuid, indexed.target.uuid)


def _ending(text: str) -> str:
    """Return the last paragraphs of a text that fit into an excerpt; at least the last one."""
    kept: list[str] = []
    for paragraph in reversed(text.split("\n\n")):
        if kept and sum(map(len, kept)) + len(paragraph) > _ANSWER_CHARS:
            break
        kept.insert(0, paragraph)
    ending = "\n\n".join(kept).strip()
    return ending if len(ending) <= 2 * _ANSWER_CHARS else f"{ending[: 2 * _ANSWER_CHARS]}…"
