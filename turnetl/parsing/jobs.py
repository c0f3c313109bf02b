"""The jobs of a run and its options, and the decisions that follow: format, group, parse again.

A run in which no archive changed imports none of the steps.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from turnetl import formats
from turnetl.base.model import GroupId
from turnetl.formats import Format
from turnetl.formats.kit.counts import ParseCounts
from turnetl.lake import ArchiveMetadata, Lake, absolute_path_text
from turnetl.lake.forgotten import NOTHING, ForgottenTurns
from turnetl.parsing.archive_files import LOCAL, ArchiveFiles
from turnetl.parsing.archive_paths import is_redacted, shown_path
from turnetl.parsing.grouping import Grouping
from turnetl.parsing.parse_report import ArchiveReport, Outcome
from turnetl.parsing.prompt_history import PromptHistories
from turnetl.parsing.sources import ArchiveStat, ParseLimits
from turnetl.redact import Redactor


@dataclass(frozen=True, slots=True)
class ParseOptions:
    """The options for all archives of a run. Worker processes receive a copy."""

    lake: Lake
    redactor: Redactor
    redactor_version: str
    grouping: Grouping
    """A group that the user named stays until the user names another."""
    explicit_format: str | None
    """The name of the format that the user named, also for archives that are parsed again."""
    limits: ParseLimits
    dry_run: bool
    """Nothing is written; the report has the outcomes that the archives would have."""
    reread: bool = False
    """Unchanged archives are opened too, in case that their turns files are damaged."""
    files: ArchiveFiles = LOCAL
    histories: PromptHistories = field(default_factory=PromptHistories)
    """Reads archives in histories of prompts; each process has its own."""
    forgotten: ForgottenTurns = NOTHING
    """Turns that reach no table."""

    def gives_same_turns(self, metadata: ArchiveMetadata, path: Path) -> bool:
        """Return whether the same bytes give the turns of the stored file, in the same group."""
        group, _ = self.group_of_stored(metadata, path)
        return self._reads_the_same(metadata) and group == metadata.group

    def gives_same_metadata(self, metadata: ArchiveMetadata, path: Path) -> bool:
        """Return whether `gives_same_turns` holds and the user's explicit choices are the same."""
        group = (metadata.group, metadata.group_is_explicit)
        format_is_explicit = self.explicit_format_for(metadata) is not None
        return (
            self._reads_the_same(metadata)
            and self.group_of_stored(metadata, path) == group
            and format_is_explicit == metadata.format_is_explicit
        )

    def group_for(
        self, previous: ArchiveMetadata | None, cwd: str | None, format_name: str, archive: str
    ) -> tuple[GroupId, bool]:
        """Return an archive's group, and whether the user named it, perhaps in an earlier run."""
        explicit = self.grouping.explicit_group(cwd, format_name, archive)
        if explicit is None and previous is not None and previous.group_is_explicit:
            return previous.group, True
        group = explicit or self.grouping.group(cwd, format_name, archive)
        return group, explicit is not None

    def explicit_format_for(self, previous: ArchiveMetadata | None) -> str | None:
        """Return the format that the user named for an archive, in this or an earlier run."""
        if self.explicit_format is not None:
            return self.explicit_format
        return previous.format if previous is not None and previous.format_is_explicit else None

    def detect_format(self, data: bytes, previous: ArchiveMetadata | None) -> Format | None:
        """Return the format that the user named, else the one that the data has."""
        name = self.explicit_format_for(previous)
        explicit = formats.by_name(name) if name is not None and data.strip() else None
        return explicit or formats.sniff(data)

    def _reads_the_same(self, metadata: ArchiveMetadata) -> bool:
        known = formats.by_name(metadata.format)
        versions = (known.version if known is not None else None, self.redactor_version)
        return (
            self.explicit_format in (None, metadata.format)
            and (metadata.reader_version, metadata.redactor_version) == versions
            and not metadata.is_older
        )

    def group_of_stored(self, metadata: ArchiveMetadata, path: Path) -> tuple[GroupId, bool]:
        """Return `group_for` an archive with a turns file, which may have its path redacted."""
        archive = _path_in_full(metadata, path)
        return self.group_for(metadata, metadata.cwd, metadata.format, archive)

    def report(self, metadata: ArchiveMetadata, path: Path, outcome: Outcome) -> ArchiveReport:
        """Return the report on an archive with this turns file."""
        archive = _path_in_full(metadata, path)
        return ArchiveReport(
            archive=shown_path(path, metadata.archive),
            outcome=outcome,
            format=metadata.format,
            group=metadata.group,
            counts=ParseCounts.from_mapping(metadata.counts),
            cwd=metadata.cwd,
            retained_turns=metadata.retained_turns,
            group_is_intended=self.grouping.is_intentional(metadata.cwd, metadata.format, archive),
        )


def _path_in_full(metadata: ArchiveMetadata, path: Path) -> str:
    return absolute_path_text(path) if is_redacted(metadata.archive) else metadata.archive


_ARCHIVE_COST = 64 << 10
"""Bytes that are parsed in the CPU time of everything that is done once for an archive, such as
encoding its 36 columns. The wait for a slow disk is not counted: a process that only waits need not
be started, and with half a megabyte 700 small archives took two processes, and three times as long.
"""
_BATCH_COST = 16 << 20
"""Cost of a batch in bytes: about 250 ms, so that parallel processes finish at nearly the same
time. With a third of it, the setup of the secret search would take a tenth of all time."""


@dataclass(frozen=True, slots=True)
class StoredArchive:
    """The turns files of an archive in the lake."""

    digest: str
    """The name of its turns file."""
    files: tuple[Path, ...] = ()
    """Its turns files, the newest last. Only a dry run leaves more than one."""
    metadata: ArchiveMetadata | None = None
    """Metadata of the newest turns file; None: there is none of this archive."""
    is_misplaced: bool = False
    """Whether the newest turns file is a whole one of another archive or group."""

    @property
    def group(self) -> GroupId | None:
        """The group of the newest turns file, whatever it holds; None: there is no file."""
        return GroupId(self.files[-1].parent.name) if self.files else None


@dataclass(frozen=True, slots=True)
class ArchiveJob:
    """An archive that must be opened."""

    stat: ArchiveStat
    stored: StoredArchive

    @property
    def cost(self) -> int:
        """The cost of the job in bytes: bytes to read, and a constant for each archive."""
        return self.stat.size + _ARCHIVE_COST


NumberedJob = tuple[int, ArchiveJob]
"""An archive's position in the report, and its job."""


def batches(jobs: Iterable[NumberedJob]) -> Iterator[tuple[NumberedJob, ...]]:
    """Yield the jobs, the largest first: one large archive, or many small ones together.

    Parallel processes so finish at nearly the same time, and copies of an archive, which are of the
    same size, are redacted together.
    """
    remaining = deque(sorted(jobs, key=lambda numbered: (-numbered[1].stat.size, numbered[0])))
    while remaining:
        yield tuple(_next_batch(remaining))


def _next_batch(remaining: deque[NumberedJob]) -> Iterator[NumberedJob]:
    cost = 0
    while remaining and (not cost or cost + remaining[0][1].cost <= _BATCH_COST):
        cost += remaining[0][1].cost
        yield remaining.popleft()
