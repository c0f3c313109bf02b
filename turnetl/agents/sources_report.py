"""The archives of the agents of a machine, compared with the lake, and how long agents keep them.

Claude Code deletes transcripts `cleanupPeriodDays` after their last change (30 by default), when it
starts; Gemini CLI deletes chats after `general.sessionRetention.maxAge`. Codex and OpenCode delete
nothing. Settings of single projects are not read.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from functools import reduce
from pathlib import Path
from typing import Annotated, Any

import msgspec

from turnetl.agents.locations import CLAUDE_CODE, GEMINI, Location
from turnetl.base.reason import SkipReason, add_counts
from turnetl.base.results import INLINED, described

_DEFAULT = timedelta(days=30)
_UNITS = {
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
    "w": timedelta(weeks=1),
    "m": timedelta(days=30),
}
_AGE = re.compile(r"(\d{1,6})([hdwm])")
_MAX_DAYS = 1_000_000


@dataclass(frozen=True, slots=True)
class Retention:
    """How long an agent keeps an archive after its last change."""

    period: timedelta | None
    """None: it deletes none."""
    setting: Annotated[
        Path | None,
        described(
            "The settings file that says so; null if it is the agent's default.", name="kept_by"
        ),
    ] = None
    problems: tuple[str, ...] = ()
    """A sentence for each settings file that cannot be used."""

    @property
    def kept_days(
        self,
    ) -> Annotated[
        float | None,
        described(
            "Days after its last change for which the agent keeps an archive; null: forever."
        ),
    ]:
        return None if self.period is None else self.period / timedelta(days=1)


def read_retention(location: Location) -> Retention:
    """Return how long the agent of a folder keeps its archives. Raises nothing."""
    find = _FINDERS.get(location.agent)
    if find is None:
        return Retention(None)
    problems: list[str] = []
    for path in location.settings:
        try:
            if (period := find(_settings(path))) is not _NOT_SET:
                return Retention(period, path, tuple(problems))
        except (OSError, ValueError, msgspec.DecodeError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            problems.append(
                f"`{path}` cannot be used ({reason}); {location.agent} is taken to keep archives "
                f"for {_DEFAULT.days} days"
            )
    return Retention(_DEFAULT, None, tuple(problems))


_NOT_SET = timedelta(-1)


def _settings(path: Path) -> dict[str, Any]:
    """Return the object in a settings file; an empty one if there is no file."""
    try:
        data = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return {}
    return msgspec.json.decode(data, type=dict[str, Any])


def _claude_period(settings: dict[str, Any]) -> timedelta | None:
    days = settings.get("cleanupPeriodDays")
    if days is None:
        return _NOT_SET
    if not isinstance(days, int | float) or isinstance(days, bool) or not 0 <= days <= _MAX_DAYS:
        raise ValueError("`cleanupPeriodDays` is not a number of days")
    return timedelta(days=days)


def _gemini_period(settings: dict[str, Any]) -> timedelta | None:
    general = settings.get("general")
    retention = general.get("sessionRetention") if isinstance(general, dict) else None
    if not isinstance(retention, dict):
        return _NOT_SET
    if retention.get("enabled") is False:
        return None
    age = retention.get("maxAge")
    if age is None:
        return _NOT_SET
    match = _AGE.fullmatch(age) if isinstance(age, str) else None
    if match is None:
        raise ValueError("`general.sessionRetention.maxAge` is not a time such as `30d`")
    return int(match[1]) * _UNITS[match[2]]


_FINDERS: dict[str, Callable[[dict[str, Any]], timedelta | None]] = {
    CLAUDE_CODE: _claude_period,
    GEMINI: _gemini_period,
}
DELETION_HINTS = {
    CLAUDE_CODE: "`cleanupPeriodDays` in its settings.json",
    GEMINI: "`general.sessionRetention` in its settings.json",
}
"""The setting with which an agent keeps archives longer."""


class ArchiveState(StrEnum):
    """What the lake knows of an archive."""

    NEW = "new"
    CHANGED = "changed"
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
        return tuple(source for source in self.sources if source.exists)

    @property
    def other_files(self) -> Mapping[SkipReason, int]:
        """Return the number of files in all folders that are no archives, by reason."""
        none: Mapping[SkipReason, int] = {}
        return reduce(add_counts, (source.other_files for source in self.sources), none)

    @property
    def pending(self) -> tuple[Source, ...]:
        return tuple(source for source in self.sources if source.pending)

    @property
    def paths(self) -> tuple[str, ...]:
        """Return what `turnetl backfill` takes for all archives that it would read."""
        return tuple(path for source in self.pending for path in source.paths)
