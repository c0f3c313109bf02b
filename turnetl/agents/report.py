"""The archives of the agents of a machine, compared with the lake."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from functools import reduce
from pathlib import Path
from typing import Annotated

from turnetl.agents.retention import Retention
from turnetl.base.reason import add_counts
from turnetl.base.results import INLINED, described
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

    path: Annotated[Path, described("Its path.")]
    state: Annotated[
        ArchiveState,
        described(
            "`new`: the lake lacks it; `changed`: it was written to since it was parsed; "
            "`unknown_format`: a backfill skips it."
        ),
    ]
    size: Annotated[int, described("Its size.", name="bytes")]
    new_turns: Annotated[
        int | None,
        described(
            "Turns that the lake lacks, with those that other archives repeat; null if they were "
            "not counted."
        ),
    ]
    deleted_at: Annotated[
        datetime | None,
        described(
            "From this time on, the agent deletes it when it starts; null if it does not delete it."
        ),
    ]

    @property
    def is_pending(self) -> bool:
        """Return whether a backfill would read it."""
        return self.state in (ArchiveState.NEW, ArchiveState.CHANGED)


@dataclass(frozen=True, slots=True)
class Source:
    """A folder of an agent."""

    agent: Annotated[str, described("Name of the agent.")]
    folder: Annotated[Path, described("Path of its folder.")]
    variable: Annotated[
        str | None,
        described("The environment variable that names the folder; null if it is the default."),
    ]
    exists: Annotated[bool, described("Whether the folder exists.")]
    paths: Annotated[
        tuple[str, ...], described("What `turnetl backfill` takes for all of its archives.")
    ]
    archives: Annotated[tuple[FoundArchive, ...], described("Its archives, sorted by path.")]
    retention: Annotated[Retention, INLINED]
    retention_hint: str
    """The setting with which the agent keeps archives longer; empty: there is none."""
    problems: Annotated[
        tuple[str, ...], described("A sentence for each part of the folder that cannot be read.")
    ] = ()
    other_files: Annotated[
        Mapping[SkipReason, int],
        described("Files beside its archives that are none, by reason.", keys=SkipReason),
    ] = field(default_factory=dict)

    @property
    def new_archives(self) -> Annotated[int, described("Archives that the lake lacks.")]:
        return self._count(ArchiveState.NEW)

    @property
    def changed_archives(
        self,
    ) -> Annotated[int, described("Archives that were written to since they were parsed.")]:
        return self._count(ArchiveState.CHANGED)

    def _count(self, state: ArchiveState) -> int:
        return sum(archive.state == state for archive in self.archives)

    @property
    def pending(self) -> tuple[FoundArchive, ...]:
        """Return the archives that a backfill would read."""
        return tuple(archive for archive in self.archives if archive.is_pending)

    @property
    def new_turns(
        self,
    ) -> Annotated[
        int | None,
        described("Turns in these archives that the lake lacks; null if not all were counted."),
    ]:
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
    """Where the agents of this machine keep archives, compared with the lake."""

    sources: Annotated[
        tuple[Source, ...],
        described("The folders of all agents, also those that are missing."),
    ]
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
