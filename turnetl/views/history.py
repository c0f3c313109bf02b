"""Answers from the history: what resolved an error, and who wrote a file or a line of it."""

from collections.abc import Iterator
from datetime import timedelta

from turnetl.base.model import NotRead
from turnetl.base.text import format_minute, plural
from turnetl.formats.kit.tool_input import ADDED_CHARS
from turnetl.pipeline.history import Fixes
from turnetl.pipeline.origin import FileAuthorship
from turnetl.retrieval.fix import ErrorHistory, Occurrence
from turnetl.retrieval.match import Match
from turnetl.retrieval.turn_summary import TurnSummary
from turnetl.retrieval.why import Attribution, Certainty
from turnetl.views import search_hits
from turnetl.views.nodes import Caption, HangingIndent, Lines, Node, View, line
from turnetl.views.turns import fact_text, files_line, lineage, step_lineage, turns_grid

_NO_ERRORS = "no error in the graph matches; `turnetl search` finds turns by other words"
_TURNS = "no error in the graph matches{}; these are the turns that `turnetl search` finds:"


def fixes_view(report: Fixes) -> View:
    if not report.errors and not report.turns:
        return [Caption(_NO_ERRORS)]
    errors = [node for error in report.errors for node in _error(error)]
    if not report.turns:
        return errors
    caption = Caption(_TURNS.format(" well" if errors else ""))
    return [caption, "", *search_hits.view(report.turns, ""), *errors]


def _error(found: ErrorHistory) -> Iterator[Node]:
    count = f"  in {plural(found.count, 'turn')}" if found.count > 1 else ""
    weak = "  weak match" if found.match is Match.WEAK else ""
    yield line((found.error.name, "bold"), (f"  {found.error.group_id}{count}{weak}", "dim"))
    for occurrence in found.occurrences:
        yield Lines([*_occurrence(occurrence)], indent=4)
    yield ""


def _occurrence(found: Occurrence) -> Iterator[Node]:
    if found.resolved_at is None:
        yield line((f"{found.outcome}; the agent wrote:", "yellow"))
    else:
        when = f"{format_minute(found.resolved_at)}{_duration(found)}"
        yield line((f"{found.outcome} {when}", "green"))
    if found.answer:
        yield Lines([found.answer], indent=2)
    for fact in found.evidence:
        yield HangingIndent(line("· "), fact_text(fact))
    yield line(
        ("failed ", "dim"), (format_minute(found.fact.valid_at), "cyan"), " ", found.fact.text
    )
    yield from step_lineage(found.fact)
    yield from _turn("in ", found.turn)
    if found.resolved_by is not None and found.resolved_by != found.turn:
        yield from _turn("resolved in ", found.resolved_by)


def _turn(role: str, turn: TurnSummary) -> Iterator[Node]:
    yield line((role, "dim"), (turn.id, "bold"), f"  {turn.intent}")
    yield lineage(turn.receipt)


def _duration(found: Occurrence) -> str:
    if found.resolved_at is None or found.fact.valid_at is None:
        return ""
    taken = found.resolved_at - found.fact.valid_at
    if taken < timedelta(minutes=2):
        return f", {plural(round(taken.total_seconds()), 'second')} later"
    if taken < timedelta(hours=2):
        return f", {plural(round(taken / timedelta(minutes=1)), 'minute')} later"
    if taken < timedelta(days=2):
        return f", {plural(round(taken / timedelta(hours=1)), 'hour')} later"
    return f", {plural(taken.days, 'day')} later"


_COMMIT_CHARS = 10
_HOW = {
    Certainty.LINE: "known from the text of the edit",
    Certainty.COMMIT: "no other turn added such a line between this commit and the one before",
}
_NOT_READ = {
    NotRead.MISSING: "an archive of {} is not there",
    NotRead.UNREADABLE: "an archive of {} cannot be read",
    NotRead.CHANGED: "an archive of {} no longer has the turn as it was read",
}


def authorship_view(report: FileAuthorship) -> View:
    found, by_line = report.attributions, report.line is not None
    lines = [node for one in found for node in _attribution(one, by_line=by_line)]
    if len(found) < report.count:
        newest = f"the newest {len(found):,} of {report.count:,} commits; -n prints more"
        lines.append(Caption(newest))
    return lines or [Caption("the file is empty")]


def _attribution(found: Attribution, *, by_line: bool) -> Iterator[Node]:
    commit = found.commit
    if by_line:
        yield line((commit.lines[0].text.strip(), "italic"))
    lines = "" if by_line else f"  {plural(len(commit.lines), 'line')}"
    if commit.commit is not None:
        yield line(
            (commit.commit[:_COMMIT_CHARS], "bold"),
            (f"  {format_minute(commit.authored_at)}", "cyan"),
            f"  {commit.summary}",
            (lines, "dim"),
        )
    else:
        yield line(("not committed yet", "bold"), (lines, "dim"))
    yield Lines([*_authors(found), *_notes(found)], indent=4)
    yield ""


def _authors(found: Attribution) -> Iterator[Node]:
    if not found.turns:
        yield line((_unknown(len(found.candidates)), "yellow"))
        if found.candidates:
            rows = ((turn, files_line(turn.files)) for turn in found.candidates)
            yield turns_grid(rows, with_group=False)
        return
    for fact in found.facts:
        yield from (fact_text(fact), *step_lineage(fact))
    rows = ((turn, [lineage(turn.receipt)]) for turn in found.turns)
    yield turns_grid(rows, with_group=False)
    yield line((_HOW[found.certainty], "dim"))


def _notes(found: Attribution) -> Iterator[Node]:
    for one in found.not_read:
        reason = _NOT_READ[one.reason].format(one.turn.id)
        compared = (
            f"only an excerpt of its edits was compared, at most {ADDED_CHARS} characters of each"
        )
        yield line((f"{reason}: {compared}", "yellow"))


def _unknown(candidates: int) -> str:
    if not candidates:
        return (
            "unknown: no turn in the graph edited the file between this commit and the one before"
        )
    turns = plural(candidates, "turn")
    return f"unknown: {turns} edited the file before this commit, and no edit shows it"
