"""Where the agents of a machine keep archives, and in which formats turnetl reads them."""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path

from turnetl.agent_sources import ArchiveState, FoundArchive, Source, SourcesReport
from turnetl.base.text import plural, size
from turnetl.formats import Format, FormatsReport
from turnetl.formats.registry import RECORDED
from turnetl.views.nodes import (
    Caption,
    Column,
    Frame,
    Line,
    Node,
    Table,
    View,
    limited,
    numbers,
    unwrapped,
)
from turnetl.views.parse import other_files

SOON = timedelta(days=7)
"""Before an archive is deleted, it is listed for this long."""

# One column: beside the numbers, a terminal of 80 columns has no room for two.
_COLUMNS = (
    Column("agent\nfolder"),
    *numbers("sessions", "new\nfiles", "changed\nfiles", "new\nturns"),
    Column("next\ndeletion", is_wrapped=False),
)


def view(report: SourcesReport, home: Path) -> View:
    """Return a row per folder and their sum, then the archives that are deleted soon."""
    absent = _absent(report)
    if not report.found:
        folders = [(agent, _shown(folder, home)) for agent, folder in absent.items()]
        table = Table((Column("agent"), Column("folder, which is missing")), folders)
        return [table, Caption("no agent keeps archives in its usual folder")]
    rows: list[tuple[str, ...]] = [
        (f"{source.agent}\n{_shown(source.folder, home)}", *_numbers([source], report.at))
        for source in report.found
    ]
    if len(report.found) > 1:
        rows += [(), ("all", *_numbers(report.found, report.at))]
    summary = _summary(report)
    if report.other_files:
        summary += f"; {other_files(report.other_files)}"
    missing = [Caption(f"not found: {', '.join(absent)}")] if absent else []
    return [Table(_COLUMNS, rows), Caption(summary), *missing, *_deletions(report, home)]


def messages(report: SourcesReport) -> list[str]:
    problems = [problem for source in report.sources for problem in source.problems]
    missing = [
        f"`{source.variable}` names `{source.folder}`, which does not exist"
        for source in report.sources
        if source.variable and not source.exists
    ]
    return list(dict.fromkeys(missing + problems))


def view_and_command(report: SourcesReport, home: Path, command: Callable[..., str]) -> View:
    """Return the view, and the command that reads what is new, as it can be typed."""
    if not report.pending:
        return view(report, home)
    line = unwrapped(f"  {command('backfill', *report.paths)}")
    return [*view(report, home), "", "To read them:", line]


NO_ARCHIVES = (
    "no agent keeps archives in its usual folder: name ARCHIVES; `turnetl sources` says where they "
    "were looked for"
)
NOTHING_READ = "nothing was read; name ARCHIVES to read only some of them"


def proposal(report: SourcesReport) -> View:
    """Return a row per agent with archives: what a backfill without ARCHIVES reads of it."""
    agents: dict[str, list[Source]] = {}
    for source in report.sources:
        if source.archives:
            agents.setdefault(source.agent, []).append(source)
    columns = (
        Column("agent"),
        *numbers("sessions", "new"),
        Column("last change"),
        *numbers("size"),
    )
    rows = [(agent, *_proposed(sources)) for agent, sources in agents.items()]
    return [Table(columns, rows, Frame.HEAD), Caption(_summary(report))]


def _proposed(sources: Sequence[Source]) -> tuple[str, ...]:
    archives = [archive for source in sources for archive in source.archives]
    days = sorted(f"{one.changed_at:%Y-%m-%d}" for one in archives if one.changed_at)
    return (
        f"{sum(source.sessions for source in sources):,}",
        f"{sum(archive.is_pending for archive in archives):,}",
        " to ".join(dict.fromkeys((days[0], days[-1]))) if days else "-",
        size(sum(archive.size for archive in archives)),
    )


def unconfirmed(report: SourcesReport, command: Callable[..., str]) -> str:
    """Return how to go on if nobody can be asked."""
    archives = plural(sum(len(source.pending) for source in report.pending), "archive")
    return (
        f"nothing was read: confirm it on a terminal, or run `{command('backfill', '--yes')}`, "
        f"which reads {archives}"
    )


def question(report: SourcesReport) -> str:
    archives = sum(len(source.pending) for source in report.pending)
    agents = ", ".join(dict.fromkeys(source.agent for source in report.pending))
    return f"Read {plural(archives, 'archive')} of {agents}?"


def _numbers(sources: Sequence[Source], now: datetime) -> tuple[str, ...]:
    states = [archive.state for source in sources for archive in source.archives]
    turns = [source.new_turns for source in sources]
    return (
        f"{sum(source.sessions for source in sources):,}",
        f"{states.count(ArchiveState.NEW):,}",
        f"{states.count(ArchiveState.CHANGED):,}",
        "?" if None in turns else f"{sum(count or 0 for count in turns):,}",
        _next_deletion(sources, now),
    )


def _next_deletion(sources: Sequence[Source], now: datetime) -> str:
    archives = [archive for source in sources for archive in source.archives]
    times = [one.deleted_at for one in archives if one.deleted_at is not None]
    return _when(min(times), now) if times else "-"


def _when(time: datetime, now: datetime) -> str:
    """Return the day of a deletion; one that is due happens when the agent starts."""
    return "next start" if time <= now else f"{time:%Y-%m-%d}"


def _summary(report: SourcesReport) -> str:
    pending = [archive for source in report.sources for archive in source.pending]
    if not any(source.archives for source in report.sources):
        return "no archives found"
    if not pending:
        return "the lake holds all of these archives as they are now"
    turns = sum(archive.new_turns or 0 for archive in pending)
    uncounted = sum(archive.new_turns is None for archive in pending)
    counted = plural(turns, "turn")
    if uncounted:
        counted = f"{counted} in {plural(len(pending) - uncounted, 'of them', 'of them')}"
    return f"{plural(len(pending), 'archive')} to read, {counted}"


def _absent(report: SourcesReport) -> dict[str, Path]:
    """Return the agents without a folder, each with the first one where it was looked for."""
    found = {source.agent for source in report.found}
    absent: dict[str, Path] = {}
    for source in report.sources:
        if source.agent not in found and not source.variable:
            absent.setdefault(source.agent, source.folder)
    return absent


def _deletions(report: SourcesReport, home: Path) -> Iterator[Node]:
    """Yield the archives that an agent deletes soon, and the setting that keeps them."""
    for source in report.found:
        soon = source.deleted_before(report.at + SOON)
        if not soon:
            continue
        unsaved = sum(archive.is_pending for archive in soon)
        yield ""
        yield (
            f"{source.agent} deletes {plural(len(soon), 'archive')} within {SOON.days} days, "
            f"{unsaved:,} of which the lake lacks as they are now. "
            f"To keep archives longer, set {source.retention_hint}."
        )
        yield from limited(soon, lambda archive: _line(archive, report.at, home))


def _line(archive: FoundArchive, now: datetime, home: Path) -> Line:
    state = "not in the lake" if archive.is_pending else archive.state.replace("_", " ")
    when = _when(archive.deleted_at or now, now)
    return unwrapped(f"  {when}  {_shown(archive.path, home)}  ({state})")


def _shown(path: Path, home: Path) -> str:
    """Return a path as the user may give it to a command of a shell."""
    return str(Path("~", path.relative_to(home))) if path.is_relative_to(home) else str(path)


def formats_view(report: FormatsReport) -> View:
    columns = (
        Column("format", is_wrapped=False),
        Column("written by"),
        Column("versions\nseen"),
        Column("not recorded"),
    )
    rows = [(one.name, one.title, one.versions, not_recorded(one)) for one in report.formats]
    rest = f"read is all else of: prompts, {', '.join(RECORDED)}"
    return [Table(columns, rows), Caption(rest)]


def not_recorded(format_: Format) -> str:
    """Return what the agent does not record, in words; empty if it records everything."""
    missing = ", ".join(format_.not_recorded)
    return "; ".join(part for part in (missing, format_.note) if part)
