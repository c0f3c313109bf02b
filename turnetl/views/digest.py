"""A digest: what was decided, built, fixed and is open, each statement with its turn."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from turnetl.base.batched import grouped
from turnetl.base.model import ID_CHARS, GroupId
from turnetl.base.relations import PREFERS, REJECTED
from turnetl.base.text import format_minute, format_span, plural
from turnetl.episode_text.intents import fit
from turnetl.episode_text.retelling import OUTCOMES, importance, without_question
from turnetl.retrieval.digest import Digest, DigestFact, SessionDigest
from turnetl.retrieval.turn_summary import TurnSummary, short_id
from turnetl.views.nodes import (
    Caption,
    HangingIndent,
    Line,
    LineRange,
    Lines,
    Node,
    Part,
    Section,
    View,
    line,
)

_SCREEN, _PROJECTS = 24, 5
"""Lines of a digest that is not whole, and projects in it."""
_TITLE = len("Answered")
_LISTED = 6
"""Statements of a kind; the most important ones."""
_STEPS, _OF_TURN = 3, 2
"""Turns of a session of which the outcome is shown."""
_INTENT_CHARS = 70
_UNCLOSED = re.compile(r" \([^)]*…$")
_CONTEXT = re.compile(r" \(after: .*")
_DID = re.compile(r"\b(?:committed [0-9a-f]{7}|opened pull request|pushed\))")
_NOTHING = re.compile(r"(?:Interrupted|Announced only|No answer|Asks: )")
_COURTESY = re.compile(
    r"(?:what|how|is there|anything)\b.{0,20}\b(?:would you like|can i|may i|else|next)\b"
    r".{0,40}\?$",
    re.IGNORECASE,
)
_EDITED = "edited"
_TOLD_ENDS = ("passed_on_rerun", "answered")


def view(digest: Digest, *, is_whole: bool = True) -> View:
    """Return a heading per day or group, below it its projects; then what it is about.

    Unless it is whole, a long digest is one screen: the first statements of the largest projects.
    """
    sections = [
        Section(one.title, [*_projects(one.sessions)], "bold cyan", 2) for one in digest.sections
    ]
    if is_whole or _count(sections) < _SCREEN:
        return [*sections, Caption(_summary(digest))]
    return [*_brief(digest), Caption(f"{_summary(digest)}; --verbose has all")]


def _count(nodes: View) -> int:
    """Return how many lines nodes have, if none is wrapped."""
    return sum(
        _count(one.nodes) + isinstance(one, Section) if isinstance(one, Lines | Section) else 1
        for one in nodes
    )


def _brief(digest: Digest) -> Iterator[Node]:
    sessions = grouped((one.group_id, one) for day in digest.sections for one in day.sessions)
    projects = sorted(sessions, key=lambda one: -sum(len(own.turns) for own in sessions[one]))
    shown, rest = projects[:_PROJECTS], projects[_PROJECTS:]
    size = (_SCREEN - 2) // len(shown) - 1
    for group in shown:
        yield line((_counts(group, sessions[group]), "bold cyan"))
        statements = [*_statements(sessions[group])]
        yield from statements[:size]
    if rest:
        turns = sum(len(own.turns) for group in rest for own in sessions[group])
        yield line((f"and {plural(len(rest), 'more project')}: {plural(turns, 'turn')}", "dim"))


def _statements(sessions: Sequence[SessionDigest]) -> Iterator[Node]:
    """Yield what a project decided, built, fixed and left open, in turn, each on one line."""
    kinds = [
        (title.removeprefix("Broken and ").capitalize(), [*filter(None, map(_told, nodes))])
        for title, nodes in _kinds(sessions)
    ]
    for place in range(max(len(told) for _, told in kinds)):
        for title, told in kinds:
            for text, source in told[place : place + 1]:
                mark = line((f"  {title:<{_TITLE}}  {source:<{ID_CHARS}}  ", "dim"))
                yield HangingIndent(mark, Line((text,), max_lines=1))


def _told(node: Node) -> tuple[Part, str] | None:
    """Return a statement, or what a session was for, and the id of its turn."""
    match node:
        case HangingIndent(_, Line((text, (source, _)))):
            return text, source.strip()
        case Section(title, nodes):
            sources = filter(None, map(_told, nodes))
            return title, next((source for _, source in sources), "")
        case _:
            return None


def _projects(sessions: Sequence[SessionDigest]) -> Iterator[Node]:
    for group in dict.fromkeys(one.group_id for one in sessions):
        own = [one for one in sessions if one.group_id == group]
        yield line((_counts(group, own), "dim"))
        yield from (
            Section(title, [Lines(nodes)], indent=2) for title, nodes in _kinds(own) if nodes
        )
        yield ""


def _counts(group: GroupId, sessions: Sequence[SessionDigest]) -> str:
    files = {file for one in sessions for file in one.files}
    turns = sum(len(one.turns) for one in sessions)
    counts = [plural(len(sessions), "session"), plural(turns, "turn")]
    counts += [f"{plural(len(files), 'file')} changed"] if files else []
    return f"{group}: {', '.join(counts)}"


def _kinds(sessions: Sequence[SessionDigest]) -> Sequence[tuple[str, Sequence[Node]]]:
    """Return the statements of a project by kind."""
    built = [one for one in sessions if one.files or one.commits or any(map(_has_done, one.turns))]
    decided = sorted(
        chain.from_iterable(one.decisions for one in sessions), key=lambda one: importance(one.fact)
    )
    solved = chain.from_iterable(one.solved_problems for one in sessions)
    return (
        ("Decided", _limited([_decision(one) for one in decided], 2 * len(sessions))),
        ("Built", _limited([_session(one) for one in _largest(built)])),
        ("Broken, and what came of it", [*_solved(solved)]),
        ("Open", _limited([node for one in sessions for node in _open(one)])),
        ("Answered", _limited([_session(one) for one in sessions if _is_answer(one, built)])),
    )


def _largest(built: Sequence[SessionDigest]) -> Sequence[SessionDigest]:
    """Return the sessions in their order; of too many those first that changed most files."""
    return built if len(built) <= _LISTED else sorted(built, key=lambda one: -len(one.files))


def _solved(failures: Iterable[DigestFact]) -> Iterator[Node]:
    """Yield the failures of which it is known what ended them, the first ones of each turn."""
    told = ((one.turn.id, node) for one in failures if (node := _failure(one)))
    for turn, nodes in grouped(told).items():
        yield from nodes[:_OF_TURN]
        if len(nodes) > _OF_TURN:
            yield _item(f"{plural(len(nodes) - _OF_TURN, 'more failure')} of that turn", turn)


def _is_answer(session: SessionDigest, built: Sequence[SessionDigest]) -> bool:
    # What was only announced is listed as open.
    is_open = bool(_NOTHING.match(session.turns[-1].outcome)) and len(session.turns) == 1
    return session not in built and not is_open and bool(session.intent or session.outcome)


def _limited(nodes: Sequence[Node], limit: int = _LISTED) -> Sequence[Node]:
    shown = nodes[: max(limit, _LISTED)]
    more = len(nodes) - len(shown)
    return [*shown, *([f"and {more:,} more; --json has all"] if more else [])]


def _item(text: str, source: str, mark: str = "•") -> Node:
    return HangingIndent(line(f"{mark} "), line(text, (f"  {source}", "dim")))


def _decision(one: DigestFact) -> Node:
    kind = {PREFERS: "Preference: ", REJECTED: "Rejected: "}.get(one.fact.relation, "")
    kind = "Objection: " if one.fact.text.startswith("The user objected") else kind
    kind = "" if one.told.startswith("Rejected ") else kind
    was = f" (replaces “{one.then}”)" if one.then else ""
    by = " (agent)" if one.fact.text.startswith("The agent") else ""
    return _item(f"{kind}{one.told}{was}{by}", one.turn.id)


def _failure(one: DigestFact) -> Node | None:
    """Return a failure with what ended it; None if it ended and nothing is known of that."""
    ended = str(one.fact.attributes.get("resolution", ""))
    then = one.then and f" → fixed in {one.then}"
    if ended == _EDITED:
        then = f" → edited {one.then or 'afterwards'}, no later run shows it"
    if not then and ended in _TOLD_ENDS:
        then = f" → {OUTCOMES[ended]}"
    is_known = then or one.fact.invalid_at is None
    return _item(f"{one.told}{then}", one.turn.id) if is_known else None


def _open(session: SessionDigest) -> Iterator[Node]:
    yield from filter(None, map(_failure, session.open_problems))
    last = session.turns[-1]
    if session.open_question and not _COURTESY.match(session.open_question):
        yield _item(f"{_asked(last)}{session.open_question}", last.id)
    elif last.intent and _NOTHING.match(last.outcome):
        yield _item(f"{last.intent}: {last.outcome[:1].lower()}{last.outcome[1:]}", last.id)


def _session(session: SessionDigest) -> Node:
    """Return what a session was for, what came of it, and where it stands."""
    return Section(session.intent or "(no prompt)", [*_steps(session)], "", 2)


def _steps(session: SessionDigest) -> Iterator[Node]:
    titles = grouped((one.told.rpartition(" (")[0], one) for one in session.commits)
    for title, same in [*titles.items()][:_STEPS]:
        ids = ", ".join(one.told.rpartition(" (")[2].rstrip(")") for one in same)
        yield _item(f"{title} ({ids})", same[0].turn.id, "→")
    done = [turn for turn in session.turns if turn.files or _has_done(turn)]
    chosen = sorted(done, key=lambda turn: -len(turn.files))[: max(1, _STEPS - len(titles))]
    if not chosen and session.outcome_turn is not None:
        chosen = [session.outcome_turn]
    for turn in session.turns:
        if turn in chosen:
            asked = "" if turn.intent == session.intent else _asked(turn)
            yield _item(f"{asked}{without_question(turn.outcome)}", turn.id, "→")
    yield line((_place(session), "dim"))
    first, *others = _places(session)
    yield line(first, (f" and {plural(len(others), 'more archive')}" if others else "", "dim"))


def _asked(turn: TurnSummary) -> str:
    """Return what was asked before an outcome or a question; may be empty."""
    intent = fit(_CONTEXT.sub("", turn.intent), _INTENT_CHARS)
    return f"{_UNCLOSED.sub('…', intent).rstrip('.')}: " if intent else ""


def _has_done(turn: TurnSummary) -> bool:
    return _DID.search(turn.outcome) is not None


def _place(session: SessionDigest) -> str:
    span = format_span(session.started_at, session.ended_at)
    turns = plural(len(session.turns), "turn")
    return f"session {short_id(session.session_id)}, {span}, {turns}"


def _places(session: SessionDigest) -> Sequence[LineRange]:
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
        shown = f"{plural(digest.sessions, 'session')}, {plural(digest.turns, 'turn')}{period}"
        asked = digest.asked_since
        return (
            f"no turn since {format_minute(asked)}; the last week with one: {shown}"
            if asked
            else shown
        )
    if digest.newest is None:
        return "the graph holds no turn; `turnetl status` prints what it holds"
    last = digest.newest.date().isoformat()
    return f"no turn{period}; the last one is of {last}: --since {last}"
