"""Reports on parsed archives: outcomes, counts of lines, and groups that join several projects."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Annotated

from turnetl.base.model import GroupId
from turnetl.base.reason import SkipReason, add_counts
from turnetl.base.results import INLINED, described
from turnetl.formats.kit.counts import ParseCounts
from turnetl.parsing.grouping import NameCollision, find_name_collisions


class Outcome(StrEnum):
    """The outcome of parsing one archive."""

    NEW = "new"
    CHANGED = "changed"
    UNCHANGED = "unchanged"
    UNKNOWN = "unknown"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True)
class Problem:
    """An archive, or a part of it, that was skipped."""

    path: Annotated[str, described("Path of the file.")]
    line: Annotated[int | None, described("Line number, from 1; null for the file.")]
    reason: Annotated[SkipReason, described("Why it was skipped.")]
    message: Annotated[str, described("What happened and what to do, in one sentence.")]

    def of(self, path: str) -> "Problem":
        """Return the problem with another name of the path, also in the message."""
        message = self.message.replace(self.path, path)
        return replace(self, path=path, message=message)


@dataclass(frozen=True, slots=True)
class ArchiveReport:
    """An archive and its lines. Of an unchanged archive: as they were when it was read."""

    archive: Annotated[str, described("Path of the archive.")]
    """As the user gave it; if it holds a secret, its absolute path, redacted."""
    outcome: Annotated[Outcome, described("Outcome of the archive.")]
    format: Annotated[str | None, described("Name of its format; null if unknown.")] = None
    group: Annotated[GroupId | None, described("Group of its turns; null if it has none.")] = None
    counts: Annotated[ParseCounts, INLINED] = field(default_factory=ParseCounts)
    problem: Problem | None = None
    cwd: Annotated[
        str | None, described("The first working directory in the archive; null if none.")
    ] = None
    """Redacted."""
    retained_turns: Annotated[
        int, described("Turns that the archive held once and no longer holds; they stay.")
    ] = 0
    table_problem: Problem | None = None
    """Damage of its previous turns file, which may have held turns that it no longer holds."""
    group_is_intended: bool = False
    """Whether a fixed name or the group map file decided the group."""
    forgotten_runs: frozenset[str] = field(default=frozenset(), repr=False)
    """Keys of runs for what it holds of forgotten turns: `forgetting.keys_of_runs`.

    With any, the archive is not written yet: these runs are to be forgotten before."""

    @property
    def was_read(self) -> bool:
        """Whether it is new or changed, so that its turns were read."""
        return self.outcome in (Outcome.NEW, Outcome.CHANGED)


@dataclass(frozen=True, slots=True)
class ParseReport:
    """Outcome of archives and their lines.

    Reports of batches can be added.
    """

    archives: tuple[ArchiveReport, ...] = ()
    """In the order given."""
    path_problems: tuple[Problem, ...] = ()
    """One for each given path that led to no archive."""
    other_files: Annotated[
        Mapping[SkipReason, int],
        described("Files in folders that are no archives, by reason.", keys=SkipReason),
    ] = field(default_factory=dict)
    """Each is counted once."""
    dry_run: bool = False
    """Nothing was written: the outcomes are those that a run would have."""
    name_collisions: Annotated[
        tuple[NameCollision, ...],
        described("Groups that several folders share only by their name."),
    ] = ()
    """A sum has those of its parts."""
    removed_temporary_files: Annotated[
        int, described("Temporary files of killed runs that were removed from the lake.")
    ] = 0
    is_shard: bool = False
    """The archives are those of one shard: there may be none."""

    def __add__(self, other: "ParseReport") -> "ParseReport":
        return ParseReport(
            self.archives + other.archives,
            self.path_problems + other.path_problems,
            add_counts(self.other_files, other.other_files),
            self.dry_run or other.dry_run,
            self.name_collisions + other.name_collisions,
            self.removed_temporary_files + other.removed_temporary_files,
            self.is_shard or other.is_shard,
        )

    @property
    @described("Archives by outcome.", keys=Outcome, name="archives")
    def outcomes(self) -> Counter[Outcome]:
        counts = dict.fromkeys(Outcome, 0)
        return Counter(counts | Counter(archive.outcome for archive in self.archives))

    @property
    @described("Sums over the archives that were read in this run.")
    def read(self) -> ParseCounts:
        return sum((archive.counts for archive in self.archives if archive.was_read), ParseCounts())

    @property
    @described("Turns that the archives read in this run no longer hold; they stay.")
    def retained_turns(self) -> int:
        return sum(archive.retained_turns for archive in self.archives if archive.was_read)

    @property
    @described("What was skipped, and why.")
    def problems(self) -> tuple[Problem, ...]:
        archive_problems = (
            problem
            for archive in self.archives
            for problem in (archive.problem, archive.table_problem)
        )
        return (
            *self.path_problems,
            *(problem for problem in archive_problems if problem is not None),
        )

    @property
    @described("Groups of all these archives, sorted.")
    def groups(self) -> tuple[GroupId, ...]:
        return tuple(
            sorted({archive.group for archive in self.archives if archive.group is not None})
        )

    @property
    def folders(self) -> dict[GroupId, tuple[str, ...]]:
        """For each group, the first working directories of its archives, sorted; possibly none."""
        return {group: tuple(sorted(self._folders(group))) for group in self.groups}

    def _folders(self, group: GroupId) -> set[str]:
        archives = (archive for archive in self.archives if archive.group == group)
        return {archive.cwd for archive in archives if archive.cwd is not None}


@dataclass(frozen=True, slots=True)
class ParsedFiles:
    """Outcome of archives and their lines, with each archive."""

    report: Annotated[ParseReport, INLINED]

    @property
    @described("The archives, in order.")
    def files(self) -> tuple[ArchiveReport, ...]:
        return self.report.archives


def with_name_collisions(report: ParseReport) -> ParseReport:
    """Add the name collisions of the groups that received a new archive, or would in a dry run.

    Other groups are omitted, so that a nightly run does not repeat the message. The report is of a
    whole run, because archives of two batches may belong to one group.
    """
    groups = {
        archive.group
        for archive in report.archives
        if report.dry_run or archive.outcome is Outcome.NEW
    }
    archives = (
        (archive.cwd, archive.group)
        for archive in report.archives
        if archive.group is not None and archive.group in groups and not archive.group_is_intended
    )
    return replace(report, name_collisions=find_name_collisions(archives))
