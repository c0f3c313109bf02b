"""What became of archives and their lines."""

from collections.abc import Iterable
from typing import Any

from rich.text import Text

from turnetl.parse import Outcome, ParseReport, Problem

_SHOWN = 3
"""Sentences of one kind: a folder may hold thousands of files that are no archives."""


def table(report: ParseReport) -> Text:
    """Two lines: archives by outcome, and lines by what became of them."""
    found = [f"{count:,} {outcome}" for outcome, count in sorted(report.outcomes.items())]
    said = f"{len(report.archives):,} archives: {', '.join(found)}"
    read = report.read
    if read.lines:
        said += f"\n{read.lines:,} lines: {read.used:,} used for {read.turns:,} turns"
    if read.skipped:
        why = [f"{count:,} {reason}" for reason, count in read.skipped.most_common()]
        said += f"; {read.skipped.total():,} not: {', '.join(why)}"
    return Text(said)


def as_json(report: ParseReport) -> dict[str, Any]:
    return {
        "archives": {outcome.value: report.outcomes[outcome] for outcome in Outcome},
        "read": report.read.as_mapping(),
        "groups": list(report.groups),
        "problems": [_problem_json(problem) for problem in report.problems],
    }


def sentences(report: ParseReport) -> list[str]:
    """Return what a person should hear of: the first few of each kind, and how many more."""
    said: list[str] = []
    for reason, problems in _by_reason(report.problems).items():
        said += [problem.message for problem in problems[:_SHOWN]]
        if len(problems) > _SHOWN:
            more = len(problems) - _SHOWN
            said.append(f"and {more:,} more like that (`{reason}`); --json names them all.")
    return said


def _by_reason(problems: Iterable[Problem]) -> dict[str, list[Problem]]:
    found: dict[str, list[Problem]] = {}
    for problem in problems:
        found.setdefault(problem.reason, []).append(problem)
    return found


def exit_code(report: ParseReport) -> int:
    """1 if a path led to no archive or an archive could not be read; the rest was done."""
    unreadable = report.outcomes[Outcome.UNREADABLE]
    nothing_known = bool(report.archives) and not report.groups
    return 1 if report.not_found or unreadable or nothing_known else 0


def _problem_json(problem: Problem) -> dict[str, Any]:
    return {
        "path": problem.path,
        "line": problem.line,
        "reason": problem.reason,
        "message": problem.message,
    }
