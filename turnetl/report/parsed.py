"""What became of archives and their lines."""

from typing import Any

from rich.table import Table

from turnetl.parse import Outcome, ParseReport, Problem

_COLUMNS = ("archives", "new", "changed", "unchanged", "not read", "lines", "turns")


def table(report: ParseReport) -> Table:
    """One row: archives by outcome, and what was read in them."""
    outcomes, read = report.outcomes, report.read
    shown = Table()
    for name in _COLUMNS:
        shown.add_column(name, justify="right")
    shown.add_column("lines without a turn, and why")
    reasons = [f"{count:,} {name}" for name, count in sorted(read.skipped.items())]
    shown.add_row(
        f"{len(report.archives):,}",
        f"{outcomes[Outcome.NEW]:,}",
        f"{outcomes[Outcome.CHANGED]:,}",
        f"{outcomes[Outcome.UNCHANGED]:,}",
        f"{outcomes[Outcome.UNKNOWN] + outcomes[Outcome.UNREADABLE]:,}",
        f"{read.lines:,}",
        f"{read.turns:,}",
        ", ".join(reasons) or "-",
    )
    return shown


def as_json(report: ParseReport) -> dict[str, Any]:
    return {
        "archives": {outcome.value: report.outcomes[outcome] for outcome in Outcome},
        "read": report.read.as_mapping(),
        "groups": list(report.groups),
        "problems": [_problem_json(problem) for problem in report.problems],
    }


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
