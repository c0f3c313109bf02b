"""What became of every archive and of every line."""

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum

from turnetl.formats.base import ParseCounts
from turnetl.model import GroupId
from turnetl.parse.grouping import NameCollision


class Outcome(StrEnum):
    NEW = "new"
    CHANGED = "changed"
    UNCHANGED = "unchanged"
    UNKNOWN = "unknown"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that was passed over, in one sentence that says what to do."""

    path: str
    line: int | None
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class ArchiveReport:
    """One archive. The counts of an unchanged one are those of when it was read."""

    archive: str
    outcome: Outcome
    format: str | None = None
    group: GroupId | None = None
    counts: ParseCounts = field(default_factory=ParseCounts)
    problem: Problem | None = None
    cwd: str | None = None
    """The first folder that the archive names, redacted; None if it names none."""

    @property
    def was_read(self) -> bool:
        return self.outcome in (Outcome.NEW, Outcome.CHANGED)


@dataclass(frozen=True, slots=True)
class ParseReport:
    """One run over some archives, in the order they were given. Reports of batches add up."""

    archives: tuple[ArchiveReport, ...] = ()
    path_problems: tuple[Problem, ...] = ()
    """One for each path given that led to no archive."""
    dry_run: bool = False
    """Nothing was written: the outcomes are what would have become of the archives."""
    name_collisions: tuple[NameCollision, ...] = ()
    """Groups to which several projects' folders lead; of a sum those of its parts."""

    def __add__(self, other: "ParseReport") -> "ParseReport":
        return ParseReport(
            self.archives + other.archives,
            self.path_problems + other.path_problems,
            self.dry_run or other.dry_run,
            self.name_collisions + other.name_collisions,
        )

    @property
    def outcomes(self) -> Counter[Outcome]:
        """How many archives were new, changed, unchanged, unknown, unreadable."""
        return Counter(archive.outcome for archive in self.archives)

    @property
    def read(self) -> ParseCounts:
        """Sums over the archives that were read in this run."""
        return sum((of.counts for of in self.archives if of.was_read), ParseCounts())

    @property
    def problems(self) -> tuple[Problem, ...]:
        return self.path_problems + tuple(
            of.problem for of in self.archives if of.problem is not None
        )

    @property
    def groups(self) -> tuple[GroupId, ...]:
        """The groups of all these archives, sorted."""
        return tuple(sorted({of.group for of in self.archives if of.group is not None}))

    @property
    def folders(self) -> dict[GroupId, tuple[str, ...]]:
        """The folders that the archives of each group name first, sorted; of some groups none."""
        return {group: tuple(sorted(self._folders(group))) for group in self.groups}

    def _folders(self, group: GroupId) -> set[str]:
        return {of.cwd for of in self.archives if of.group == group and of.cwd is not None}
