"""The archives of the agents of a machine, compared with the lake."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from functools import reduce
from pathlib import Path

from turnetl.agents.retention import Retention
from turnetl.base.reason import add_counts
from turnetl.base.skip_reasons import SkipReason


class ArchiveState(StrEnum):
    """What the lake knows of an archive."""

    NEW = "new"
    CHANGED = "changed"
    """It was written to since it was parsed."""
    UNCHANGED = "unchanged"
    UNKNOWN_FORMAT = "unknown_format"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True)
class FoundArchive:
    """An archive of an agent."""

    path: Path
    state: ArchiveState
    size: int
    """In bytes."""
    new_turns: int | None
    """Turns that the lake lacks, with those that other archives repeat; None: not counted."""
    deleted_at: datetime | None
    """When the agent may delete it, at its next start; None: it keeps it."""

    @property
    def is_pending(self) -> bool:
        """Return whether a backfill would read it."""
        return self.state in (ArchiveState.NEW, ArchiveState.CHANGED)


@dataclass(frozen=True, slots=True)
class Source:
    """A folder of an agent with its archives."""

    agent: str
    folder: Path
    variable: str
    """The environment variable that names the folder; empty: it is the default."""
    exists: bool
    paths: tuple[str, ...]
    """What `turnetl backfill` takes for all of its archives."""
    archives: tuple[FoundArchive, ...]
    """Sorted by path."""
    retention: Retention
    retention_hint: str
    """The setting with which the agent keeps archives longer; empty: there is none."""
    problems: tuple[str, ...] = ()
    """A sentence for each part of the folder that cannot be read."""
    other_files: Mapping[SkipReason, int] = field(default_factory=dict)
    """The number of files in `paths` that are no archives, by reason."""

    @property
    def pending(self) -> tuple[FoundArchive, ...]:
        """Return the archives that a backfill would read."""
        return tuple(archive for archive in self.archives if archive.is_pending)

    @property
    def new_turns(self) -> int | None:
        """Return the number of turns that the lake lacks; None: not all archives are counted."""
        turns = [archive.new_turns for archive in self.pending]
        return None if None in turns else sum(count or 0 for count in turns)

    def deleted_before(self, end: datetime) -> tuple[FoundArchive, ...]:
        """Return the archives that the agent may delete before a time, the next one first."""
        due = [
            (archive.deleted_at, archive.path, archive)
            for archive in self.archives
            if archive.deleted_at is not None and archive.deleted_at < end
        ]
        return tuple(archive for _, _, archive in sorted(due, key=lambda entry: entry[:2]))


@dataclass(frozen=True, slots=True)
class SourcesReport:
    """The folders of all agents that turnetl reads."""

    sources: tuple[Source, ...]
    at: datetime
    """When the folders were read."""

    @property
    def found(self) -> tuple[Source, ...]:
        """Return the folders that exist."""
        return tuple(source for source in self.sources if source.exists)

    @property
    def other_files(self) -> Mapping[SkipReason, int]:
        """Return the number of files in all folders that are no archives, by reason."""
        none: Mapping[SkipReason, int] = {}
        return reduce(add_counts, (source.other_files for source in self.sources), none)

    @property
    def pending(self) -> tuple[Source, ...]:
        """Return the folders with archives that a backfill would read."""
        return tuple(source for source in self.sources if source.pending)

    @property
    def paths(self) -> tuple[str, ...]:
        """Return what `turnetl backfill` takes for all archives that it would read."""
        return tuple(path for source in self.pending for path in source.paths)
