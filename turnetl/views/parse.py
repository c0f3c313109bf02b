"""The report of parsing: the outcome of archives and their lines."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePath

from turnetl.base.batched import grouped
from turnetl.base.exit_code import ExitCode
from turnetl.base.model import GroupId
from turnetl.base.reason import SkipReason
from turnetl.base.text import plural
from turnetl.parsing import ArchiveReport, Outcome, ParseReport, Problem
from turnetl.views.nodes import Caption, Column, Table, View, counted, numbers, tally

_LISTED = 3
"""Messages of one reason that are printed: a folder may hold thousands of other files."""
_FOLDERS = 5
"""Folders with files of unknown formats that are printed."""
_HARMLESS = (
    SkipReason.OTHER_ENTRY,
    SkipReason.ORPHAN,
    SkipReason.DATABASE,
    SkipReason.PACKED,
)
"""Reasons for which a run does not fail."""
_UNKNOWN_FORMAT = (
    "{:,} files have an unknown format and were skipped; "
    "pass only archives of coding agents to avoid this message, --json lists all files:"
)

_WORDS = {
    "of the agent's own records": "attachment compaction envelope error event goal history info "
    "progress queue retry rewind run_start session_metadata snapshot state step subtask summary "
    "task token_usage warning",
    "written by the agent's program": "auto_prompt context environment extension external hook "
    "hook_feedback injected instructions interrupt meta notification preamble rejection review "
    "skill skill_call synthetic system unconfirmed",
    "commands run without the model": "local_command shell_command",
    "of the model's reasoning": "reasoning",
    "never sent": "undelivered withdrawn",
    "copies": "copy duplicate superseded tool_result variant",
    "empty": "blank empty_message no_messages no_text",
    "damaged": "invalid_json not_an_object too_many_values",
    "of a type that is not read": "other",
    "beside sessions": "beside_session",
    "no archive": "other_file",
}
"""What people call the reasons, most of which are the names of rows in a format."""

_COLUMNS = (
    Column("group"),
    *numbers("archives", "turns"),
    *map(Column, ("outcomes", "formats", "folders")),
)


def view(report: ParseReport) -> View:
    """Return archives by outcome and lines by theirs; of a dry run a row per group instead."""
    return _planned(report) if report.dry_run else lines(report)


def lines(report: ParseReport) -> list[str]:
    text, read = _archives(report), report.read
    if read.lines:
        lines, turns = plural(read.lines, "line"), plural(read.turns, "turn")
        text += f"\n{lines}: {read.used:,} used for {turns}"
    skipped = Counter(read.skipped)
    if subagents := skipped.pop(SkipReason.SIDECHAIN, 0):
        text += f", {subagents:,} of subagents"
    if skipped:
        text += f"; {skipped.total():,} skipped: {tally(_in_words(skipped).most_common())}"
    if report.retained_turns:
        text += f"\n{plural(report.retained_turns, 'turn')} no longer in these archives: retained"
    if report.removed_temporary_files:
        text += f"\n{removed_files(report.removed_temporary_files)}"
    return text.splitlines()


def removed_files(count: int) -> str:
    return f"{plural(count, 'temporary file')} of killed runs removed"


def _planned(report: ParseReport) -> View:
    rows = [
        (
            group,
            *counted((len(archives), sum(archive.counts.turns for archive in archives))),
            _outcomes(archives),
            "\n".join(sorted({str(archive.format) for archive in archives})),
            _first_folders(report.folders[group]),
        )
        for group, archives in _by_group(report.archives).items()
    ]
    return [_archives(report), Table(_COLUMNS, rows), Caption("nothing was written")]


def messages(report: ParseReport) -> list[str]:
    return notes(report) + unread(report)


def notes(report: ParseReport) -> list[str]:
    return [collision.message for collision in report.name_collisions]


def unread(report: ParseReport) -> list[str]:
    """Return sentences about what was skipped: the first of each reason, and how many more."""
    sentences: list[str] = []
    for reason, problems in grouped((one.reason, one) for one in report.problems).items():
        if reason is SkipReason.UNKNOWN_FORMAT and len(problems) > _LISTED:
            sentences += _unknown_formats(problems)
            continue
        sentences += [problem.message for problem in problems[:_LISTED]]
        if len(problems) > _LISTED:
            more = len(problems) - _LISTED
            sentences.append(f"and {more:,} more of the same kind (`{reason}`); --json lists all")
    return sentences


def errors(report: ParseReport) -> list[str]:
    """Return why the run failed: an archive that may hold turns was not read, or nothing was found.

    A broken link in a folder holds no turns. Parts of a message that are missing from OpenCode's
    store can never be read. A shard may have nothing to read.
    """
    paths = [problem for problem in report.path_problems if problem.reason not in _HARMLESS]
    unreadable = [
        archive.problem
        for archive in report.archives
        if archive.problem and archive.outcome == Outcome.UNREADABLE
    ]
    is_empty = not report.groups and not report.is_shard
    serious = [*paths, *unreadable] or (report.problems if is_empty else [])
    return [problem.message for problem in serious]


def exit_code(report: ParseReport) -> ExitCode:
    return ExitCode.FAILED if errors(report) else ExitCode.DONE


def _unknown_formats(problems: Sequence[Problem]) -> list[str]:
    """Sum up files of unknown formats by folder and file extension, most files first."""
    names: dict[str, list[str]] = {}
    for path in map(PurePath, sorted(problem.path for problem in problems)):
        names.setdefault(str(path.with_name(f"*{path.suffix}")), []).append(path.name)
    patterns = sorted(names, key=lambda pattern: (-len(names[pattern]), pattern))
    sentences = [_UNKNOWN_FORMAT.format(len(problems))]
    sentences += [
        f"  {len(names[pattern]):,} `{pattern}`: {_first_names(names[pattern])}"
        for pattern in patterns[:_FOLDERS]
    ]
    if others := patterns[_FOLDERS:]:
        rest = sum(len(names[pattern]) for pattern in others)
        sentences.append(f"  and {rest:,} in {len(others):,} other places")
    return sentences


def _first_names(names: Sequence[str]) -> str:
    listed = ", ".join(f"`{name}`" for name in names[:_LISTED])
    return f"{listed} ..." if len(names) > _LISTED else listed


def other_files(counts: Mapping[SkipReason, int]) -> str:
    kinds = tally(sorted(_in_words(counts).items()))
    return f"{plural(sum(counts.values()), 'other file')} not read: {kinds}"


def _in_words(counts: Mapping[SkipReason, int]) -> Counter[str]:
    """Return the counts by what people call the reasons; --json has their names."""
    found: Counter[str] = Counter()
    for reason, count in counts.items():
        words = (words for words, names in _WORDS.items() if reason in names.split())
        found[next(words, reason.replace("_", " "))] += count
    return found


def _archives(report: ParseReport) -> str:
    text = "no archives"
    if report.archives:
        text = f"{plural(len(report.archives), 'archive')}: {_outcomes(report.archives)}"
    if report.other_files:
        text += f"; {other_files(report.other_files)}"
    return text


def _outcomes(archives: Iterable[ArchiveReport]) -> str:
    counts = Counter(archive.outcome for archive in archives)
    return tally(sorted(counts.items()))


def _by_group(archives: Iterable[ArchiveReport]) -> dict[GroupId, list[ArchiveReport]]:
    groups = grouped((one.group, one) for one in archives if one.group is not None)
    return dict(sorted(groups.items()))


def _first_folders(folders: Sequence[str]) -> str:
    more = [f"and {len(folders) - _LISTED:,} more"] if len(folders) > _LISTED else []
    return "\n".join([*folders[:_LISTED], *more]) or "-"
