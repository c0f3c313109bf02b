"""Reports on parsed archives: the outcome of each archive and the counts of its lines."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from turnetl.base.model import GroupId
from turnetl.base.reason import add_counts
from turnetl.base.skip_reasons import SkipReason
from turnetl.formats.kit.counts import ParseCounts
from turnetl.parsing.grouping import NameCollision


class Outcome(StrEnum):
    """The outcome of parsing one archive."""

    NEW = "new"
    CHANGED = "changed"
    UNCHANGED = "unchanged"
    UNKNOWN = "unknown"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True)
class Problem:
    """A skipped path or part of an archive, with a sentence that says what to do."""

    path: str
    line: int | None
    reason: SkipReason
    message: str

    def of(self, path: str) -> "Problem":
        """Return the problem with another name of the path, also in the message."""
        message = self.message.replace(self.path, path)
        return replace(self, path=path, message=message)


@dataclass(frozen=True, slots=True)
class ArchiveReport:
    """The report on one archive. The counts of an unchanged one are those of its last parse."""

    archive: str
    """Its path as the user gave it; if it holds a secret, its absolute path, redacted."""
    outcome: Outcome
    format: str | None = None
    group: GroupId | None = None
    counts: ParseCounts = field(default_factory=ParseCounts)
    problem: Problem | None = None
    cwd: str | None = None
    """The first working directory that the archive names, redacted; None if it names none."""
    retained_turns: int = 0
    """Turns that the archive held once and no longer holds; they stay in the lake."""

    table_problem: Problem | None = None
    """Damage of its previous turns file, which may have held turns that it no longer holds."""
    group_is_intended: bool = False
    """Whether a fixed name or the group map file decided the group."""

    @property
    def was_read(self) -> bool:
        return self.outcome in (Outcome.NEW, Outcome.CHANGED)


@dataclass(frozen=True, slots=True)
class ParseReport:
    """The report on one run over archives, in the order given. Reports of batches can be added."""

    archives: tuple[ArchiveReport, ...] = ()
    path_problems: tuple[Problem, ...] = ()
    """One for each given path that led to no archive."""
    other_files: Mapping[SkipReason, int] = field(default_factory=dict)
    """The number of files in folders that are no archives, by reason. Each is counted once."""
    dry_run: bool = False
    """Nothing was written: the outcomes are those that a run would have."""
    name_collisions: tuple[NameCollision, ...] = ()
    """Groups that join the folders of several projects. A sum has those of its parts."""
    removed_temporary_files: int = 0
    """Temporary files of killed runs that this run removed from the lake."""
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
    def outcomes(self) -> Counter[Outcome]:
        """The number of archives with each outcome."""
        return Counter(archive.outcome for archive in self.archives)

    @property
    def read(self) -> ParseCounts:
        """The sum of the counts of the archives that this run read."""
        return sum((archive.counts for archive in self.archives if archive.was_read), ParseCounts())

    @property
    def retained_turns(self) -> int:
        """Turns that the archives that this run read no longer hold; they stay in the lake."""
        return sum(archive.retained_turns for archive in self.archives if archive.was_read)

    @property
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
    def groups(self) -> tuple[GroupId, ...]:
        """The groups of all these archives, sorted."""
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
