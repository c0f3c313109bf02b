"""Archives to turn tables: those of a machine, the plan of a parse, and the units of its work."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from turnetl import parsing, wiring
from turnetl.agent_sources import AgentMachine, SourcesReport, find_sources
from turnetl.base import text
from turnetl.base.clock import Clock
from turnetl.base.errors import BadArchive
from turnetl.base.model import GroupId
from turnetl.base.progress import Progress, ProgressUpdate, ignore_progress
from turnetl.base.shard import Shard
from turnetl.formats import Format
from turnetl.parsing.archive_files import LOCAL, ArchiveFiles
from turnetl.parsing.archives import redacted_problems
from turnetl.parsing.expand import own_archives
from turnetl.parsing.parse_report import with_name_collisions
from turnetl.redact.port import is_plain
from turnetl.settings import Settings


@dataclass(frozen=True, slots=True)
class ParsePlan:
    """The archives of one run, and how they are parsed."""

    paths: parsing.ExpandedPaths
    files: ArchiveFiles
    """Where the archives are."""
    settings: Settings
    grouping: parsing.Grouping
    known: Format | None
    """The format of all archives; None: each is detected by its content."""
    dry_run: bool
    progress: Progress
    shard: Shard | None = None
    """The archives are those of this shard; None: all archives of the run."""

    def batches(self, size: int | None) -> Iterator[Callable[[], parsing.ParseReport]]:
        """Yield the work as units of at most `size` archives; None: one unit."""
        for start, archives in self._batches(size):
            yield partial(self._parse, archives, start)

    def batch_names(self, size: int | None) -> Iterator[str]:
        """Yield the name of each of these units: which archives, and their size in all.

        The first and the last file are named if their names surely hold no secret, and persons are
        not redacted.
        """
        for start, archives in self._batches(size):
            total, is_shown = len(self.paths.archives), not self.settings.redact_pii
            yield batch_name(archives, start, total, with_files=is_shown, files=self.files)

    def _batches(self, size: int | None) -> Iterator[tuple[int, Sequence[Path]]]:
        """Yield the archives of each unit, with the number of archives before them."""
        archives = self.paths.archives
        step = size or max(len(archives), 1)
        for start in range(0, max(len(archives), 1), step):
            yield start, archives[start : start + step]

    def report(self, batches: Iterable[parsing.ParseReport]) -> parsing.ParseReport:
        """Return the report on the whole run: the batches, and paths without an archive."""
        problems = self.paths.problems
        if problems:
            redactor = wiring.redactor(self.settings, stores=False)
            problems = redacted_problems(problems, redactor)
        empty = parsing.ParseReport(
            path_problems=problems,
            other_files=self.paths.other_files,
            dry_run=self.dry_run,
            is_shard=self.shard is not None,
        )
        return with_name_collisions(sum(batches, empty))

    def _parse(self, archives: Sequence[Path], done_before: int) -> parsing.ParseReport:
        total = len(self.paths.archives)

        def progress(done: int, _: int) -> None:
            self.progress(ProgressUpdate("parse", "archives", done_before + done, total))

        return parsing.parse_archives(
            archives,
            wiring.lake(self.settings),
            redactor=wiring.redactor(self.settings, stores=not self.dry_run),
            grouping=self.grouping,
            explicit_format=self.known,
            jobs=wiring.jobs(self.settings),
            files=self.files,
            dry_run=self.dry_run,
            progress=progress,
        )


def batch_name(
    archives: Sequence[Path],
    before: int,
    total: int,
    *,
    with_files: bool = True,
    files: ArchiveFiles = LOCAL,
) -> str:
    """Return the name of a unit of parsing: `archives 201-400 of 1,234, 45.0 MB`."""
    if not archives:
        return "no archives"
    last = before + len(archives)
    numbers = f"{last:,}" if len(archives) == 1 else f"{before + 1:,}-{last:,}"
    size = sum(archive_size(path, files) for path in archives)
    names = dict.fromkeys(path.name for path in (archives[0], archives[-1]))
    is_shown = with_files and all(map(is_plain, names))
    shown = f": {' to '.join(names)}" if is_shown else ""
    return f"archives {numbers} of {total:,}, {text.size(size)}{shown}"


def archive_size(archive: Path, files: ArchiveFiles) -> int:
    """Return the bytes of an archive; 0 if it is gone, which the parsing reports."""
    try:
        return files.state(archive).size
    except BadArchive:
        return 0


def plan_parse(
    paths: Sequence[str],
    settings: Settings,
    *,
    format_name: str | None = None,
    dry_run: bool = False,
    progress: Progress = ignore_progress,
    group: GroupId | None = None,
    shard: Shard | None = None,
) -> ParsePlan:
    """Find the archives and check how they are parsed. Opens no archive.

    Args:
        group: the group of all archives, whatever its name; None: as the settings say.
        shard: only the archives that it owns; None: all.

    Raises:
        BadUsage: an unknown format, or a grouping that is not valid.
        Fatal, ArchivesBusy: an object store cannot be used, or does not respond.
    """
    files = wiring.archive_files()
    return ParsePlan(
        paths=own_archives(shard, parsing.expand(paths, files)),
        files=files,
        settings=settings,
        grouping=parsing.Grouping(existing=group)
        if group is not None
        else wiring.archive_grouping(settings, stores=not dry_run),
        known=wiring.format_named(format_name),
        dry_run=dry_run,
        progress=progress,
        shard=shard,
    )


def parse_archives(
    paths: Sequence[str],
    settings: Settings,
    *,
    format_name: str | None = None,
    dry_run: bool = False,
    shard: Shard | None = None,
    progress: Progress = ignore_progress,
) -> parsing.ParseReport:
    """Parse archives into turn tables; unchanged archives are not opened. See `plan_parse`."""
    plan = plan_parse(
        paths, settings, format_name=format_name, dry_run=dry_run, shard=shard, progress=progress
    )
    return plan.report(work() for work in plan.batches(None))


def sources(
    settings: Settings,
    machine: AgentMachine,
    clock: Clock,
    *,
    progress: Progress = ignore_progress,
) -> SourcesReport:
    """Return where the agents of a machine keep archives, and what is new. Writes nothing."""
    return find_sources(
        machine,
        wiring.lake(settings),
        clock(),
        progress=lambda done, total: progress(ProgressUpdate("sources", "archives", done, total)),
    )
