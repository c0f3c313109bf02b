"""What became of archives and their lines."""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import PurePath
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from turnetl.model import GroupId
from turnetl.parse import ArchiveReport, Outcome, ParseReport, Problem

_SHOWN = 3
"""Sentences of one kind: a folder may hold thousands of files that are no archives."""
_PLACES = 5
"""Folders with such files that are named."""
_NAMED_ONLY = ("no_file", "no_message")
"""Reasons of what was met in a folder and fails no run."""
_ALONE = (
    "{:,} files are in no format that turnetl knows and were left alone; "
    "name only coding-agent archives to be rid of this, --json names them all:"
)


def table(report: ParseReport) -> Text:
    """Two lines: archives by outcome, and lines by what became of them."""
    said, read = str(_archives(report)), report.read
    if read.lines:
        said += f"\n{read.lines:,} lines: {read.used:,} used for {read.turns:,} turns"
    if read.skipped:
        why = [f"{count:,} {reason}" for reason, count in read.skipped.most_common()]
        said += f"; {read.skipped.total():,} not: {', '.join(why)}"
    return Text(said)


def proposed(report: ParseReport) -> RenderableType:
    """What a run would do: the archives by outcome, and a row for each group they would go to."""
    shown = Table(caption="nothing was written", caption_justify="left")
    shown.add_column("group", no_wrap=True)
    for name in ("archives", "turns"):
        shown.add_column(name, justify="right")
    for name in ("outcomes", "formats", "folders"):
        shown.add_column(name, overflow="fold")
    for group, of in _by_group(report.archives).items():
        turns = sum(archive.counts.turns for archive in of)
        formats = "\n".join(sorted({str(archive.format) for archive in of}))
        # A folder's name may look like rich's markup.
        cells = (_outcomes(of), formats, Text(_few(report.folders[group])))
        shown.add_row(group, f"{len(of):,}", f"{turns:,}", *cells)
    return Group(_archives(report), shown)


def as_json(report: ParseReport) -> dict[str, Any]:
    return {
        "archives": {outcome.value: report.outcomes[outcome] for outcome in Outcome},
        "read": report.read.as_mapping(),
        "groups": list(report.groups),
        "name_collisions": [
            {"group": of.group, "folders": list(of.folders)} for of in report.name_collisions
        ],
        "problems": [_problem_json(problem) for problem in report.problems],
    }


def whole_json(report: ParseReport) -> dict[str, Any]:
    """Return `as_json` and each archive with what became of its lines."""
    return as_json(report) | {"files": [_archive_json(archive) for archive in report.archives]}


def sentences(report: ParseReport) -> list[str]:
    """Return what a person should hear of: the first few of each kind, and how many more."""
    said = [group.message for group in report.name_collisions]
    for reason, problems in _by_reason(report.problems).items():
        if reason == "unknown" and len(problems) > _SHOWN:
            said += _left_alone(problems)
            continue
        said += [problem.message for problem in problems[:_SHOWN]]
        if len(problems) > _SHOWN:
            more = len(problems) - _SHOWN
            said.append(f"and {more:,} more like that (`{reason}`); --json names them all.")
    return said


def _left_alone(problems: Sequence[Problem]) -> list[str]:
    """Sum up what no format knows, by folder and ending, most first."""
    names: dict[str, list[str]] = {}
    for path in map(PurePath, sorted(problem.path for problem in problems)):
        names.setdefault(str(path.with_name(f"*{path.suffix}")), []).append(path.name)
    places = sorted(names, key=lambda place: (-len(names[place]), place))
    said = [_ALONE.format(len(problems))]
    said += [f"  {len(names[at]):,} `{at}`: {_first(names[at])}" for at in places[:_PLACES]]
    if others := places[_PLACES:]:
        left = sum(len(names[at]) for at in others)
        said.append(f"  and {left:,} in {len(others):,} other places")
    return said


def _first(names: Sequence[str]) -> str:
    shown = ", ".join(f"`{name}`" for name in names[:_SHOWN])
    return f"{shown} ..." if len(names) > _SHOWN else shown


def _archives(report: ParseReport) -> Text:
    if not report.archives:
        return Text("no archives")
    number = len(report.archives)
    noun = "archive" if number == 1 else "archives"
    return Text(f"{number:,} {noun}: {_outcomes(report.archives)}")


def _outcomes(archives: Iterable[ArchiveReport]) -> str:
    found = Counter(archive.outcome for archive in archives)
    return ", ".join(f"{count:,} {outcome}" for outcome, count in sorted(found.items()))


def _by_group(archives: Iterable[ArchiveReport]) -> dict[GroupId, list[ArchiveReport]]:
    found: dict[GroupId, list[ArchiveReport]] = {}
    for archive in archives:
        if archive.group is not None:
            found.setdefault(archive.group, []).append(archive)
    return dict(sorted(found.items()))


def _few(folders: Sequence[str]) -> str:
    more = [f"and {len(folders) - _SHOWN:,} more"] if len(folders) > _SHOWN else []
    return "\n".join([*folders[:_SHOWN], *more]) or "-"


def _archive_json(archive: ArchiveReport) -> dict[str, Any]:
    return {
        "archive": archive.archive,
        "outcome": archive.outcome.value,
        "format": archive.format,
        "group": archive.group,
        "folder": archive.cwd,
        **archive.counts.as_mapping(),
    }


def _by_reason(problems: Iterable[Problem]) -> dict[str, list[Problem]]:
    found: dict[str, list[Problem]] = {}
    for problem in problems:
        found.setdefault(problem.reason, []).append(problem)
    return found


def exit_code(report: ParseReport) -> int:
    """1 if something that could hold turns was not read, or nothing was; the rest was done.

    A link that leads nowhere, met in a folder, could hold none; parts of a message that is gone
    from OpenCode's store will never be read.
    """
    unreadable = report.outcomes[Outcome.UNREADABLE]
    missing = [problem for problem in report.path_problems if problem.reason not in _NAMED_ONLY]
    nothing_known = bool(report.archives or report.path_problems) and not report.groups
    return 1 if missing or unreadable or nothing_known else 0


def _problem_json(problem: Problem) -> dict[str, Any]:
    return {
        "path": problem.path,
        "line": problem.line,
        "reason": problem.reason,
        "message": problem.message,
    }
