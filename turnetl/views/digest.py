"""A digest: what happened, each statement with its turn."""

import re
from collections.abc import Iterable, Iterator, Sequence

from turnetl.base.text import format_minute, format_span, plural
from turnetl.retrieval.digest import Digest, DigestFact, SessionDigest
from turnetl.retrieval.turn_summary import short_id
from turnetl.views.nodes import (
    LISTED,
    Caption,
    LineRange,
    Lines,
    Node,
    Section,
    Statement,
    View,
    line,
)

_SPOKEN = re.compile(r"The (user|agent) (decided|prefers|rejected|reported): ")
"""How the structural extractor begins the text of a statement: the label says it instead."""


def view(digest: Digest) -> View:
    """Return a heading per day or group, below it its sessions; then what it is about."""
    sections = [
        Section(one.title, [node for each in one.sessions for node in _session(each)], _STYLE, 2)
        for one in digest.sections
    ]
    return [*sections, Caption(_summary(digest))]


_STYLE = "bold cyan"
_COMPARED = 60
"""Characters of an outcome by which it is known to repeat a decision."""


def _session(session: SessionDigest) -> View:
    nodes: list[Node] = [
        line((_heading(session), "dim")),
        *_statements(session),
        Lines([line(place) for place in _places(session)]),
    ]
    return [Section(session.intent or "(no prompt)", nodes, indent=2), ""]


def _heading(session: SessionDigest) -> str:
    return (
        f"{session.group_id}, session {short_id(session.session_id)}, "
        f"{format_span(session.started_at, session.ended_at)}, "
        f"{plural(len(session.turns), 'turn')}"
    )


def _statements(session: SessionDigest) -> Iterator[Statement]:
    if session.last_prompt_turn is not None:
        yield Statement("last prompt", session.last_prompt, session.last_prompt_turn.id)
    yield from _facts("decision", _without_repetition(session))
    yield from _facts("open problem", session.open_problems)
    yield from _facts("solved", session.solved_problems)
    if session.files:
        more = len(session.files) - LISTED
        files = ", ".join(session.files[:LISTED])
        yield Statement("changed", f"{files}{f' and {more:,} more' if more > 0 else ''}")
    stated = session.outcome[:_COMPARED].partition(" (")[0].rstrip("…")
    is_decision = any(stated in _body(one) for one in session.decisions)
    if session.outcome_turn is not None and not is_decision:
        yield Statement("outcome", session.outcome, session.outcome_turn.id)
    if session.open_question:
        yield Statement("open question", session.open_question, session.turns[-1].id)


def _facts(label: str, facts: Sequence[DigestFact]) -> Iterator[Statement]:
    for one in facts[:LISTED]:
        spoken = _SPOKEN.match(one.fact.text)
        found = f"{spoken[1]} {spoken[2]}" if spoken else label
        yield Statement(found, _body(one), one.turn.id)
    if len(facts) > LISTED:
        yield Statement(label, f"{len(facts) - LISTED:,} more; --json has all")


def _without_repetition(session: SessionDigest) -> list[DigestFact]:
    """Return the decisions that repeat neither a prompt nor another decision."""
    first = {_body(one): one for one in reversed(session.decisions)}
    return [
        one
        for one in session.decisions
        if first[body := _body(one)] is one
        and body not in session.intent
        and body not in session.last_prompt
        and not any(other in body for other in first.keys() - {body})
    ]


def _body(one: DigestFact) -> str:
    """Return the text of a fact on one line, without who said it."""
    return " ".join(_SPOKEN.sub("", one.fact.text).split()).rstrip(":")


def _places(session: SessionDigest) -> Iterable[LineRange]:
    lines: dict[str, tuple[int, int]] = {}
    for turn in session.turns:
        receipt = turn.receipt
        first, last = lines.get(receipt.archive, (receipt.first_line, receipt.last_line))
        lines[receipt.archive] = min(first, receipt.first_line), max(last, receipt.last_line)
    return [LineRange(archive, first, last) for archive, (first, last) in lines.items()]


def _summary(digest: Digest) -> str:
    period = "" if digest.since is None else f" since {format_minute(digest.since)}"
    if digest.until is not None:
        period += f" until {format_minute(digest.until)}"
    if digest.turns:
        return f"{plural(digest.sessions, 'session')}, {plural(digest.turns, 'turn')}{period}"
    if digest.newest is None:
        return "the graph holds no turn; `turnetl status` prints what it holds"
    last = digest.newest.date().isoformat()
    return f"no turn{period}; the last one is of {last}: --since {last}"
