"""`turnetl parse --json`."""

from typing import Annotated, Any

from turnetl.base.results import JsonOutput, described
from turnetl.base.skip_reasons import SkipReason
from turnetl.formats.kit.counts import ParseCounts
from turnetl.json_output import fields
from turnetl.parsing import ArchiveReport, Outcome, ParseReport, Problem


class LineCountsOutput(JsonOutput):
    """The lines of archives, each counted once: `lines` = `used` + all of `skipped`."""

    lines: Annotated[int, described("Lines.")]
    used: Annotated[int, described("Lines that contributed to a turn.")]
    skipped: Annotated[
        dict[SkipReason, int],
        described("Lines that contributed to no turn, by reason.", keys=SkipReason),
    ]
    turns: Annotated[int, described("Turns.")]
    steering: Annotated[int, described("Messages that the user sent while the agent worked.")]
    user_answers: Annotated[int, described("Answers of the user to questions of the agent.")]
    sidechain_rows: Annotated[int, described("Rows of subagents.")]
    tool_calls: Annotated[int, described("Tool calls.")]
    invalid_lines: Annotated[
        int, described("Lines that are not exactly one JSON value, including `concatenated_lines`.")
    ]
    concatenated_lines: Annotated[
        int, described("Invalid lines with several objects, all of which were read.")
    ]
    blank_lines: Annotated[int, described("Blank lines.")]
    first_invalid_line: Annotated[
        int | None,
        described(
            "The first invalid line that is not concatenated; null if there is none, and in sums."
        ),
    ]


class ArchiveOutput(LineCountsOutput):
    """An archive and its lines. Of an unchanged archive: as they were when it was read."""

    archive: Annotated[str, described("Path of the archive.")]
    outcome: Annotated[Outcome, described("Outcome of the archive.")]
    format: Annotated[str | None, described("Name of its format; null if unknown.")]
    group: Annotated[str | None, described("Group of its turns; null if it has none.")]
    cwd: Annotated[
        str | None, described("The first working directory in the archive; null if none.")
    ]
    retained_turns: Annotated[
        int, described("Turns that the archive held once and no longer holds; they stay.")
    ]


class NameCollisionOutput(JsonOutput):
    """A group that several folders share only because they have the same name."""

    group: fields.GroupField
    folders: Annotated[list[str], described("The folders, sorted.")]


class ProblemOutput(JsonOutput):
    """An archive, or a part of it, that was skipped."""

    path: Annotated[str, described("Path of the file.")]
    line: Annotated[int | None, described("Line number, from 1; null for the file.")]
    reason: Annotated[SkipReason, described("Why it was skipped.")]
    message: Annotated[str, described("What happened and what to do, in one sentence.")]


class ParseOutput(JsonOutput):
    """Outcome of archives and their lines."""

    archives: Annotated[dict[Outcome, int], described("Archives by outcome.", keys=Outcome)]
    read: Annotated[
        LineCountsOutput, described("Sums over the archives that were read in this run.")
    ]
    retained_turns: Annotated[
        int,
        described("Turns that the archives read in this run no longer hold; they stay."),
    ]
    groups: Annotated[list[str], described("Groups of all these archives, sorted.")]
    name_collisions: Annotated[
        list[NameCollisionOutput],
        described("Groups that several folders share only by their name."),
    ]
    problems: Annotated[list[ProblemOutput], described("What was skipped, and why.")]
    other_files: Annotated[
        dict[SkipReason, int],
        described("Files in folders that are no archives, by reason.", keys=SkipReason),
    ]
    removed_temporary_files: Annotated[
        int, described("Temporary files of killed runs that were removed from the lake.")
    ]


class ParseFilesOutput(ParseOutput):
    """Outcome of archives and their lines, with each archive."""

    files: Annotated[list[ArchiveOutput], described("The archives, in order.")]


def parse_output(report: ParseReport) -> ParseOutput:
    return ParseOutput(**_values(report))


def parse_files_output(report: ParseReport) -> ParseFilesOutput:
    return ParseFilesOutput(
        **_values(report), files=[_archive(archive) for archive in report.archives]
    )


def _values(report: ParseReport) -> dict[str, Any]:
    return {
        "archives": {outcome: report.outcomes[outcome] for outcome in Outcome},
        "read": LineCountsOutput(**_counts(report.read)),
        "retained_turns": report.retained_turns,
        "groups": list(report.groups),
        "name_collisions": [
            NameCollisionOutput(group=collision.group, folders=list(collision.folders))
            for collision in report.name_collisions
        ],
        "problems": [_problem(problem) for problem in report.problems],
        "other_files": dict(report.other_files),
        "removed_temporary_files": report.removed_temporary_files,
    }


def _archive(report: ArchiveReport) -> ArchiveOutput:
    return ArchiveOutput(
        **_counts(report.counts),
        archive=report.archive,
        outcome=report.outcome,
        format=report.format,
        group=report.group,
        cwd=report.cwd,
        retained_turns=report.retained_turns,
    )


def _counts(counts: ParseCounts) -> dict[str, Any]:
    return {
        "lines": counts.lines,
        "used": counts.used,
        "skipped": dict(counts.skipped),
        "turns": counts.turns,
        "steering": counts.steering,
        "user_answers": counts.user_answers,
        "sidechain_rows": counts.sidechain_rows,
        "tool_calls": counts.tool_calls,
        "invalid_lines": counts.invalid_lines,
        "concatenated_lines": counts.concatenated_lines,
        "blank_lines": counts.blank_lines,
        "first_invalid_line": counts.first_invalid_line,
    }


def _problem(problem: Problem) -> ProblemOutput:
    return ProblemOutput(
        path=problem.path, line=problem.line, reason=problem.reason, message=problem.message
    )
