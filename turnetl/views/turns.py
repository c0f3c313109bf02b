"""A timeline, and turns as lines of several views: when, which, and what they were about."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from turnetl.base.graph_model import Receipt
from turnetl.base.model import ID_CHARS, Fact
from turnetl.base.text import format_minute, plural
from turnetl.retrieval.hits import HitFact
from turnetl.retrieval.turn_summary import Timeline, TurnSummary
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


def _count(timeline: Timeline) -> str:
    if len(timeline.turns) < timeline.count:
        return f"the last {len(timeline.turns):,} of {timeline.count:,} turns; -n prints more"
    return plural(timeline.count, "turn")
