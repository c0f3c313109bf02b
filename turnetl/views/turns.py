"""Turns as lines of several views, a timeline, and a turn, session, entity or fact in detail."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from itertools import islice

from turnetl.base.graph_model import Receipt
from turnetl.base.model import ID_CHARS, Fact
from turnetl.base.text import format_minute, format_span, plural
from turnetl.episode_text.conversation import Conversation, ConversationStep
from turnetl.retrieval.details import (
    Details,
    EntityDetails,
    FactDetails,
    SessionDetails,
    TurnDetails,
    TurnFacts,
    holding_turns_first,
)
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
    section,
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


_HEAD, _TAIL = 3, 3
"""Lines of an outcome that is folded."""
_LINE_CHARS = 200


def view(found: Details, *, full: bool, neighbours: bool) -> View:
    match found:
        case TurnDetails():
            return [*_turn(found, full=full, neighbours=neighbours)]
        case SessionDetails():
            return [*_session(found)]
        case EntityDetails():
            return entity_view(found)
        case FactDetails():
            return [*_fact(found)]


def entity_view(found: EntityDetails) -> View:
    entity = found.entity
    labels = ", ".join(entity.labels) or "entity"
    shown = f", the last {len(found.turns):,} shown" if len(found.turns) < found.turn_count else ""
    counts = (
        f"{plural(found.fact_count, 'fact')}, named in {plural(found.turn_count, 'turn')}{shown}"
    )
    rows = ((one.turn, [*_stated(one)]) for one in holding_turns_first(found.turns))
    return [
        line((entity.name, "bold"), f"  {labels}  {entity.group_id}"),
        unwrapped((f"entity {entity.uuid}", "dim")),
        *([line(("also called: ", "dim"), ", ".join(entity.aliases))] if entity.aliases else []),
        *([entity.summary] if entity.summary else []),
        counts,
        "",
        turns_grid(rows, with_group=False),
    ]


def _stated(found: TurnFacts) -> Iterator[Node]:
    for fact in found.facts:
        yield from (fact_text(fact), *step_lineage(fact))


def _turn(found: TurnDetails, *, full: bool, neighbours: bool) -> Iterator[Node]:
    receipt, conversation = found.summary.receipt, found.conversation
    model = f"  {conversation.model}" if conversation.model else ""
    branch = f"  branch {receipt.git_branch}" if receipt.git_branch else ""
    yield line(
        ("turn ", ""),
        (receipt.turn_id, "bold"),
        (f"  {format_minute(receipt.started_at)}", "cyan"),
        f"  {receipt.group_id}  {receipt.format}{model}{branch}",
    )
    yield unwrapped((f"session {receipt.session_id}", "dim"))
    yield lineage(receipt)
    if found.summary.intent:
        yield line(("intent: ", "dim"), found.summary.intent)
    yield line(("outcome: ", "dim"), found.summary.outcome)
    yield from files_line(found.summary.files)
    if found.resume:
        yield unwrapped(("resume: ", "dim"), found.resume)
    if neighbours:
        yield from _neighbour("Previous turn", found.previous)
    yield from _conversation(conversation, full=full)
    yield from section("Facts", map(fact_text, found.facts))
    if neighbours:
        yield from _neighbour("Next turn", found.next)


def _conversation(conversation: Conversation, *, full: bool) -> Iterator[Node]:
    for title, texts in (("Prompt", [conversation.prompt]), ("Steering", conversation.steering)):
        yield from section(title, filter(None, texts))
    steps = (node for step in conversation.steps for node in _step(step, full=full))
    yield from section("Steps", steps)
    yield from section("Answer", [conversation.answer] if conversation.answer else [])


def _step(step: ConversationStep, *, full: bool) -> Iterator[Node]:
    failed = ("  failed", "red") if step.is_error else ""
    call = "\n".join(_folded(step.input, full=full))
    by = (f"  {step.subagent.by}", "cyan") if step.subagent else ""
    yield line((step.tool, "bold"), f" {call}", by, failed)
    yield Lines([line((text, "dim")) for text in _folded(step.outcome, full=full)], indent=4)


def _folded(text: str, *, full: bool) -> list[str]:
    """Return the lines of a text; of a long one the first and the last."""
    lines = text.strip("\n").splitlines() if text.strip() else []
    if full:
        return lines
    hidden = len(lines) - _HEAD - _TAIL
    if hidden > 1:
        lines = [*lines[:_HEAD], f"… {hidden:,} more lines (--full)", *lines[-_TAIL:]]
    return [line if len(line) <= _LINE_CHARS else f"{line[:_LINE_CHARS]}…" for line in lines]


def _neighbour(title: str, turn: TurnSummary | None) -> View:
    if turn is None:
        return section(title, [line(("none", "dim"))])
    return section(title, [turns_grid([(turn, files_line(turn.files))], with_group=False)])


def _session(found: SessionDetails) -> Iterator[Node]:
    first, last = found.turns[0].receipt, found.turns[-1].receipt
    groups = ", ".join(dict.fromkeys(turn.receipt.group_id for turn in found.turns))
    span = format_span(first.started_at, last.ended_at or last.started_at)
    yield line(
        "session ",
        (found.session_id, "bold"),
        (f"  {span}", "cyan"),
        f"  {groups}  {first.format}  {plural(len(found.turns), 'turn')}",
    )
    for parent in islice(filter(None, (turn.receipt.parent_session_id for turn in found.turns)), 1):
        yield unwrapped((f"continues session {parent}", "dim"))
    if found.resume:
        yield unwrapped(("resume: ", "dim"), found.resume)
    yield ""
    yield turns_grid(((turn, files_line(turn.files)) for turn in found.turns), with_group=False)


def _fact(found: FactDetails) -> Iterator[Node]:
    fact, source, target = found.indexed.fact, found.indexed.source, found.indexed.target
    yield line((fact.text, "bold"))
    yield unwrapped((f"fact {fact.uuid}  {fact.group_id}", "dim"))
    yield from step_lineage(fact)
    yield f"{source.name} —{fact.relation}→ {target.name}"
    said = fact_end(fact, None)
    yield line((f"from {format_minute(fact.valid_at)}{', ' if said else ''}{said}", "cyan"))
    rows = [(turn, files_line(turn.files)) for turn in found.turns]
    yield from section("Stated by", [turns_grid(rows, with_group=False)])
