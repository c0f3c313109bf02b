"""A timeline, and turns as lines of several views: when, which, and what they were about."""

import re
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

from turnetl.base.graph_model import Receipt
from turnetl.base.model import ID_CHARS, Fact
from turnetl.base.text import format_minute, format_span, plural
from turnetl.retrieval.hits import HitFact
from turnetl.retrieval.sessions import Resumption, SessionList
from turnetl.retrieval.turn_summary import Timeline, TurnSummary, short_id
from turnetl.views.nodes import (
    Caption,
    Column,
    Line,
    LineRange,
    Lines,
    Node,
    Table,
    View,
    line,
    unwrapped,
)

NO_PROMPT = "(no prompt)"
_NO_TURNS = "no turn meets these conditions; `turnetl status` prints what the graph holds"
_UNWRAPPED = Column(is_wrapped=False)


_DIGEST = re.compile(r"[0-9a-f]{8,}|project_[0-9a-f]{8}")
_KINDS: Sequence[tuple[Callable[[str], object], str]] = (
    ("no_project".__eq__, "turns whose archive names no folder"),
    (_DIGEST.fullmatch, "a folder whose name is an id; --group-map renames it"),
)
_NAMED = 2


def group_notes(groups: Iterable[str]) -> View:
    """Return a line about each kind of group whose name says nothing to a reader."""
    names = [*groups]
    notes: list[Node] = []
    for matches, what in _KINDS:
        if found := [*filter(matches, names)]:
            more = ", …" if len(found) > _NAMED else ""
            notes.append(line((f"{', '.join(found[:_NAMED])}{more}: {what}", "dim")))
    return notes


def turns_grid(turns: Iterable[tuple[TurnSummary, View]], *, with_group: bool) -> Table:
    """Return a row per turn: its time and id, then its intent above its further lines."""
    group = [Column()] if with_group else []
    rows: list[list[Node]] = [
        [
            line((format_minute(turn.receipt.started_at), "cyan")),
            line((turn.id, "bold")),
            *([turn.receipt.group_id] if with_group else []),
            Lines([turn.intent or NO_PROMPT, *outcome_line(turn.outcome), *lines]),
        ]
        for turn, lines in turns
    ]
    return Table((_UNWRAPPED, _UNWRAPPED, *group, Column(min_width=30)), rows)


def outcome_line(outcome: str) -> View:
    return [line(("→ ", "dim"), outcome)] if outcome else []


def files_line(files: Sequence[str]) -> View:
    return [line((f"files: {', '.join(files)}", "dim"))] if files else []


def fact_text(fact: Fact) -> Line:
    said = f"  ({end})" if (end := fact_end(fact, None)) else ""
    return line((fact.uuid[:ID_CHARS], "dim"), "  ", fact.text, (said, "dim"))


def fact_end(fact: Fact | HitFact, as_of: datetime | None) -> str:
    """Return when and by which turn a fact ended, or what a later turn says; may be empty."""
    if fact.invalid_at is None:
        return f"a later turn says: {fact.later_turn_says}" if fact.later_turn_says else ""
    ended = "invalidated later, at" if as_of else "ended on"
    by = f" by {fact.ended_by}" if fact.ended_by else ""
    return f"{ended} {format_minute(fact.invalid_at)}{by}"


def lineage(receipt: Receipt) -> Line:
    return unwrapped(LineRange(receipt.archive, receipt.first_line, receipt.last_line))


def step_lineage(fact: Fact) -> View:
    """Return where the step of a subagent stands from which a fact is, if it is from one."""
    step = fact.step
    return [unwrapped(LineRange(step.archive, step.line, step.line))] if step else []


def timeline_view(timeline: Timeline) -> View:
    if not timeline.turns:
        return [Caption(_NO_TURNS)]
    rows = ((turn, files_line(turn.files)) for turn in timeline.turns)
    return [turns_grid(rows, with_group=True), Caption(_count(timeline))]


def sessions_view(found: SessionList) -> View:
    """Return two lines a session: its title; then when, project, agent, turns and id."""
    if not found.sessions:
        return [Caption(_NO_TURNS)]
    rows: list[list[Node]] = [
        [
            line((format_minute(one.ended_at), "cyan")),
            line((short_id(one.session_id), "bold")),
            Lines(
                [
                    Line((one.title or NO_PROMPT,), max_lines=2),
                    line((f"{one.group_id}, {one.format}, {plural(one.turns, 'turn')}", "dim")),
                ]
            ),
        ]
        for one in found.sessions
    ]
    names = dict.fromkeys(one.group_id for one in found.sessions)
    table = Table((_UNWRAPPED, _UNWRAPPED, Column(min_width=30)), rows)
    shown = len(found.sessions)
    count = plural(found.count, "session")
    if shown < found.count:
        count = f"the last {shown:,} of {found.count:,} sessions; -n prints more"
    return [table, *group_notes(names), Caption(f"{count}; `turnetl resume ID` continues one")]


RESUME_QUESTION = "Continue it?"
NOT_RESUMED = "nothing was started; --print prints the command"


def resumed_view(one: Resumption) -> View:
    """Return which session is continued, and how."""
    session = one.session
    when = format_span(session.started_at, session.ended_at)
    about = f"{session.group_id}, {session.format}, {when}, {plural(session.turns, 'turn')}"
    return [session.title or NO_PROMPT, line((about, "dim")), unwrapped(session.resume or "")]


def _count(timeline: Timeline) -> str:
    if len(timeline.turns) < timeline.count:
        return f"the last {len(timeline.turns):,} of {timeline.count:,} turns; -n prints more"
    return plural(timeline.count, "turn")
