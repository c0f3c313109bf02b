"""The turns that wrote a file, or a line of it."""

from collections.abc import Iterator

from turnetl.base.model import NotRead
from turnetl.base.text import format_minute, plural
from turnetl.formats.kit.tool_input import ADDED_CHARS
from turnetl.pipeline.origin import FileAuthorship
from turnetl.retrieval.why import Attribution, Certainty
from turnetl.views.nodes import Caption, Lines, Node, View, line
from turnetl.views.turns import fact_text, files_line, lineage, step_lineage, turns_grid

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


def view(report: FileAuthorship) -> View:
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
    yield Lines([*_turns(found), *_notes(found)], indent=4)
    yield ""


def _turns(found: Attribution) -> Iterator[Node]:
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
