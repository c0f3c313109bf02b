"""A digest: what happened, as text and as Markdown, each statement with its turn."""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from rich.console import Group, RenderableType
from rich.text import Text

from turnetl.base.text import format_minute, format_span, plural
from turnetl.report.layout import LISTED, caption, escaped, indented, relative_path
from turnetl.retrieval.digest import Digest, DigestFact, SessionDigest
from turnetl.retrieval.turn_summary import short_id

_SPOKEN = re.compile(r"The (?:accepted )?(user|agent|plan) (decided|prefers|rejected): ")
"""How the structural extractor begins the text of a statement: the label says it instead."""


def view(digest: Digest, directory: Path) -> Group:
    """Render a heading per day or group, then its sessions.

    Args:
        digest: what happened.
        directory: paths below it are printed relative to it.
    """
    lines: list[RenderableType] = []
    for section in digest.sections:
        lines += [Text(section.title, "bold cyan"), *_sessions(section.sessions, directory)]
    return Group(*lines, caption(_summary(digest)))


def markdown(digest: Digest, directory: Path) -> str:
    """Return the digest as Markdown; arguments as of `view`."""
    lines = ["# Digest", "", _summary(digest), ""]
    for section in digest.sections:
        lines += [f"## {escaped(section.title)}", ""]
        for session in section.sessions:
            lines += [f"### {escaped(session.intent or _NO_PROMPT)}", "", _heading(session), ""]
            for label, text, turn in _statements(session):
                lines.append(f"- **{label}**: {escaped(text)}{f' (`{turn}`)' if turn else ''}")
            lines += [f"- **lines**: `{place}`" for place in _places(session, directory)]
            lines.append("")
    return "\n".join(lines).rstrip("\n")


_NO_PROMPT = "(no prompt)"


def _sessions(sessions: Sequence[SessionDigest], directory: Path) -> Iterator[RenderableType]:
    for session in sessions:
        yield indented(Text(session.intent or _NO_PROMPT, "bold"), 2)
        yield indented(Text(_heading(session), "dim"))
        for label, text, turn in _statements(session):
            end = f"  {turn}" if turn else ""
            yield indented(Text.assemble((f"{label}: ", "cyan"), text, (end, "dim")))
        yield from (indented(Text(place, "dim")) for place in _places(session, directory))
        yield Text()


def _heading(session: SessionDigest) -> str:
    return (
        f"{session.group_id}, session {short_id(session.session_id)}, "
        f"{format_span(session.started_at, session.ended_at)}, "
        f"{plural(len(session.turns), 'turn')}"
    )


def _statements(session: SessionDigest) -> Iterator[tuple[str, str, str]]:
    """Yield label, text and short id of a turn; the id is empty if it is that of all turns."""
    if session.last_prompt_turn is not None:
        yield "last prompt", session.last_prompt, session.last_prompt_turn.id
    yield from _facts("decision", _without_repetition(session))
    yield from _facts("open problem", session.open_problems)
    yield from _facts("solved", session.solved_problems)
    if session.files:
        more = len(session.files) - LISTED
        files = ", ".join(session.files[:LISTED])
        yield "changed", f"{files}{f' and {more:,} more' if more > 0 else ''}", ""
    is_decision = any(_body(one) == session.outcome for one in session.decisions)
    if session.outcome_turn is not None and not is_decision:
        yield "outcome", session.outcome, session.outcome_turn.id
    if session.open_question:
        yield "open question", session.open_question, session.turns[-1].id


def _facts(label: str, facts: Sequence[DigestFact]) -> Iterator[tuple[str, str, str]]:
    for one in facts[:LISTED]:
        spoken = _SPOKEN.match(one.fact.text)
        yield f"{spoken[1]} {spoken[2]}" if spoken else label, _body(one), one.turn.id
    if len(facts) > LISTED:
        yield label, f"{len(facts) - LISTED:,} more; --json has all", ""


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


def _places(session: SessionDigest, directory: Path) -> Iterable[str]:
    """Return each archive with its first and last line."""
    lines: dict[str, tuple[int, int]] = {}
    for turn in session.turns:
        receipt = turn.receipt
        first, last = lines.get(receipt.archive, (receipt.first_line, receipt.last_line))
        lines[receipt.archive] = min(first, receipt.first_line), max(last, receipt.last_line)
    return [
        f"{relative_path(Path(archive), directory)}:{first}-{last}"
        for archive, (first, last) in lines.items()
    ]


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
