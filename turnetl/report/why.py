"""The turns that wrote a file, or a line of it."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Group, RenderableType
from rich.text import Text

from turnetl.base.archived_edit import NotRead
from turnetl.base.text import format_minute, plural
from turnetl.formats.kit.tool_input import ADDED_CHARS
from turnetl.report.layout import caption, indented
from turnetl.report.turns import fact_text, files_line, lineage, turns_grid
from turnetl.retrieval.why import Attribution, Certainty

_COMMIT_CHARS = 10
_HOW = {
    Certainty.LINE: "known from the text of the edit",
    Certainty.COMMIT: "no other turn added such a line between this commit and the one before",
}
_NOT_READ = {
    NotRead.MISSING: "the archive of {} is not there",
    NotRead.UNREADABLE: "the archive of {} cannot be read",
    NotRead.CHANGED: "the archive of {} no longer has the turn as it was read",
}


def view(found: Sequence[Attribution], count: int, directory: Path, *, by_line: bool) -> Group:
    """Render each commit with the turn that wrote its lines.

    Args:
        found: the newest commits first.
        count: commits that the lines come from.
        directory: paths below it are printed relative to it.
        by_line: whether there is only one line, which is printed.
    """
    lines = [line for one in found for line in _attribution(one, directory, by_line=by_line)]
    if len(found) < count:
        lines.append(caption(f"the newest {len(found):,} of {count:,} commits; -n prints more"))
    return Group(*(lines or [caption("the file is empty")]))


def _attribution(found: Attribution, directory: Path, *, by_line: bool) -> Iterator[RenderableType]:
    commit = found.commit
    if by_line:
        yield Text(commit.lines[0].text.strip(), "italic")
    lines = "" if by_line else f"  {plural(len(commit.lines), 'line')}"
    if commit.commit is not None:
        yield Text.assemble(
            (commit.commit[:_COMMIT_CHARS], "bold"),
            (f"  {format_minute(commit.authored_at)}", "cyan"),
            f"  {commit.summary}",
            (lines, "dim"),
        )
    else:
        yield Text.assemble(("not committed yet", "bold"), (lines, "dim"))
    for line in (*_turns(found, directory), *_notes(found)):
        yield indented(line)
    yield Text()


def _turns(found: Attribution, directory: Path) -> Iterator[RenderableType]:
    if not found.turns:
        yield Text(_unknown(len(found.candidates)), "yellow")
        if found.candidates:
            rows = ((turn, files_line(turn.files)) for turn in found.candidates)
            yield turns_grid(rows, with_group=False)
        return
    yield from map(fact_text, found.facts)
    rows = ((turn, [lineage(turn.receipt, directory)]) for turn in found.turns)
    yield turns_grid(rows, with_group=False)
    yield Text(_HOW[found.certainty], "dim")


def _notes(found: Attribution) -> Iterator[Text]:
    """Yield what was not compared, and why."""
    for one in found.not_read:
        yield Text(
            f"{_NOT_READ[one.reason].format(one.turn.id)}: only an excerpt of its edits was "
            f"compared, at most {ADDED_CHARS} characters of each",
            "yellow",
        )


def _unknown(candidates: int) -> str:
    if not candidates:
        return (
            "unknown: no turn in the graph edited the file between this commit and the one before"
        )
    turns = plural(candidates, "turn")
    return f"unknown: {turns} edited the file before this commit, and no edit shows it"
