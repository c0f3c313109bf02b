"""The archives of the agents of a machine, compared with the lake, and how long agents keep them.

An archive with the size and modification time of its turns file is not opened. The turns of others
are counted as long as that is cheap.

Claude Code deletes transcripts `cleanupPeriodDays` after their last change (30 by default), when it
starts; Gemini CLI deletes chats after `general.sessionRetention.maxAge`. Codex and OpenCode delete
nothing. Settings of single projects are not read.
"""

import glob
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import reduce
from pathlib import Path
from stat import S_ISDIR
from typing import Annotated, Any

import msgspec

from turnetl import formats
from turnetl.agent_sources.locations import (
    CLAUDE_CODE,
    GEMINI,
    AgentMachine,
    Location,
    agent_locations,
)
from turnetl.base.errors import BadArchive
from turnetl.base.reason import SkipReason, add_counts
from turnetl.base.results import INLINED, described
from turnetl.formats.kit.counts import TooManyRows
from turnetl.lake import ArchiveMetadata, Lake, archive_digests
from turnetl.lake.paths import is_in_database, is_in_history
from turnetl.parsing import expand
from turnetl.parsing.prompt_history import PromptHistories
from turnetl.parsing.session_databases import SessionDatabases
from turnetl.parsing.sources import ArchiveStat, read_archive, read_head, stat_archives

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
    @described("Days after its last change for which the agent keeps an archive; null: forever.")
    def kept_days(self) -> float | None:
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

    changed_at: Annotated[
        datetime | None, described("When it was last changed; null if it cannot be read.")
    ] = None
    is_subagent: bool = False
    """Whether it was opened, now or by a parse, and holds only what subagents did."""

    @property
    def is_session(self) -> bool:
        """Return whether it holds a session of its own."""
        is_subagent = self.is_subagent or "subagents" in self.path.parts
        return not is_subagent and not is_in_history(self.path)

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
    @described("Its archives without transcripts of subagents and histories of prompts.")
    def sessions(self) -> int:
        return sum(archive.is_session for archive in self.archives)

    @property
    def new_archives(self) -> Annotated[int, described("Archives that the lake lacks.")]:
        return self._count(ArchiveState.NEW)

    @property
    @described("Archives that were written to since they were parsed.")
    def changed_archives(self) -> int:
        return self._count(ArchiveState.CHANGED)

    def _count(self, state: ArchiveState) -> int:
        return sum(archive.state == state for archive in self.archives)

    @property
    def pending(self) -> tuple[FoundArchive, ...]:
        """Archives that the lake lacks, in whole or in part."""
        return tuple(archive for archive in self.archives if archive.is_pending)

    @property
    @described("Turns in these archives that the lake lacks; null if not all were counted.")
    def new_turns(self) -> int | None:
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
        """Sources whose folder exists."""
        return tuple(source for source in self.sources if source.exists)

    @property
    def other_files(self) -> Mapping[SkipReason, int]:
        """Return the number of files in all folders that are no archives, by reason."""
        none: Mapping[SkipReason, int] = {}
        return reduce(add_counts, (source.other_files for source in self.sources), none)

    @property
    def pending(self) -> tuple[Source, ...]:
        """Sources with archives that the lake lacks."""
        return tuple(source for source in self.sources if source.pending)

    @property
    def paths(self) -> tuple[str, ...]:
        """Return what `turnetl backfill` takes for all archives that it would read."""
        return tuple(path for source in self.pending for path in source.paths)

    @property
    def all_paths(self) -> tuple[str, ...]:
        """Return what `turnetl backfill` takes for all archives, also those that it has read."""
        return tuple(path for source in self.sources if source.archives for path in source.paths)


COUNTED_BYTES = 256 << 20
"""Bytes of new archives of which the turns are counted: some seconds."""
_LAST = datetime.max.replace(tzinfo=UTC)


def find_sources(
    machine: AgentMachine,
    lake: Lake,
    now: datetime,
    *,
    counted_bytes: int = COUNTED_BYTES,
    progress: Callable[[int, int], None] | None = None,
) -> SourcesReport:
    """Return the archives of all agents. Writes nothing.

    Args:
        lake: the archives are compared with it. It need not exist.
        counted_bytes: the turns of new archives are counted, smallest archives first, until they
            have this many bytes; the format of the others is detected.
        progress: called after each archive that is opened, with the number of opened archives and
            the total.
    """
    lake.check_version()
    listed = [_list(location) for location in agent_locations(machine)]
    known = _known([path for one in listed for path in one.archives], lake)
    compared = [
        _compare(path, metadata, stat)
        for (path, metadata), stat in zip(known.items(), stat_archives(known), strict=True)
    ]
    opened = {one.path: one for one in compared}
    opened |= {one.path: one for one in _opened(compared, counted_bytes, progress)}
    sources = [
        replace(
            one.source,
            archives=tuple(
                _found(opened[path], one.source.retention.period) for path in one.archives
            ),
        )
        for one in listed
    ]
    return SourcesReport(tuple(sources), now)


@dataclass(frozen=True, slots=True)
class _Listed:
    """A folder of an agent, before its archives are opened."""

    source: Source
    """Without its archives."""
    archives: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class _Archive:
    """An archive that was compared with its turns file, and then perhaps opened."""

    path: Path
    state: ArchiveState
    stat: ArchiveStat | None = None
    stored_turns: int = 0
    new_turns: int | None = None
    is_subagent: bool = False


def _list(location: Location) -> _Listed:
    retention = read_retention(location)
    source = Source(
        agent=location.agent,
        folder=location.folder,
        variable=location.variable or None,
        exists=True,
        paths=(),
        archives=(),
        retention=retention,
        retention_hint=DELETION_HINTS.get(location.agent, ""),
        problems=retention.problems,
    )
    try:
        found = os.stat(location.folder)  # noqa: PTH116 - `exists` hides that it is unreadable
    except (FileNotFoundError, NotADirectoryError):
        return _Listed(replace(source, exists=False))
    except OSError as error:
        problem = f"`{location.folder}` cannot be read ({error.strerror}); check its permissions"
        return _Listed(replace(source, problems=(*source.problems, problem)))
    if not S_ISDIR(found.st_mode):
        problem = f"`{location.folder}` is no folder: an agent keeps its archives in one"
        return _Listed(replace(source, problems=(*source.problems, problem)))
    paths = tuple(path for path in location.archives if _is_present(path))
    expanded = expand(paths)
    problems = [problem.message for problem in expanded.problems if problem.reason not in _EXPECTED]
    source = replace(
        source,
        paths=paths,
        problems=(*source.problems, *problems),
        other_files=expanded.other_files,
    )
    return _Listed(source, expanded.archives)


_EXPECTED = (SkipReason.EMPTY, SkipReason.MISSING)
"""Problems of a folder without archives, which an agent has before its first session."""


def _is_present(path: str) -> bool:
    return os.path.lexists(path) or bool(glob.has_magic(path) and glob.glob(path))  # noqa: PTH207


def _known(paths: Sequence[Path], lake: Lake) -> dict[Path, ArchiveMetadata | None]:
    files = {path.stem: path for path in lake.turn_paths()}
    stored = [files.get(digest) for digest in archive_digests(paths)]
    known = [path for path in stored if path is not None]
    metadata = dict(zip(known, lake.archives_metadata(known), strict=True))
    return {
        path: None if file is None else metadata[file]
        for path, file in zip(paths, stored, strict=True)
    }


def _compare(
    path: Path, metadata: ArchiveMetadata | None, stat: ArchiveStat | BadArchive
) -> _Archive:
    if isinstance(stat, BadArchive):
        return _Archive(path, ArchiveState.UNREADABLE)
    if metadata is None:
        return _Archive(path, ArchiveState.NEW, stat)
    is_same = stat.is_state_of(metadata)
    state = ArchiveState.UNCHANGED if is_same else ArchiveState.CHANGED
    is_subagent = not metadata.turns and bool(metadata.counts.get("sidechain_rows"))
    return _Archive(path, state, stat, metadata.turns, is_subagent=is_subagent)


def _opened(
    archives: Sequence[_Archive],
    counted_bytes: int,
    progress: Callable[[int, int], None] | None,
) -> Iterator[_Archive]:
    """Yield each archive that is new or changed, with what opening it shows."""
    pending = [
        (one.stat.size, one.path, one, one.stat)
        for one in archives
        if one.stat is not None and one.state is not ArchiveState.UNCHANGED
    ]
    histories = PromptHistories()
    read = 0
    with SessionDatabases() as databases:
        for done, (size, _, one, stat) in enumerate(sorted(pending, key=lambda each: each[:2]), 1):
            read += size
            try:
                if read <= counted_bytes:
                    yield _counted(
                        one, read_archive(stat, histories=histories, databases=databases)
                    )
                else:
                    yield _detected(one, stat)
            except BadArchive:
                yield replace(one, state=ArchiveState.UNREADABLE)
            if progress is not None:
                progress(done, len(pending))


def _counted(archive: _Archive, data: bytes) -> _Archive:
    if (detected := formats.sniff(data)) is None:
        return replace(archive, state=ArchiveState.UNKNOWN_FORMAT)
    try:
        parsed = detected.read(data)
    except TooManyRows:
        return archive
    turns = len(parsed.turns)
    return replace(
        archive,
        new_turns=max(turns - archive.stored_turns, 0),
        is_subagent=not turns and parsed.counts.sidechain_rows > 0,
    )


def _detected(archive: _Archive, stat: ArchiveStat) -> _Archive:
    # The tables of a database have shown whose sessions it holds.
    is_known = is_in_database(archive.path) or formats.sniff(read_head(stat)) is not None
    return archive if is_known else replace(archive, state=ArchiveState.UNKNOWN_FORMAT)


def _found(archive: _Archive, period: timedelta | None) -> FoundArchive:
    return FoundArchive(
        path=archive.path,
        state=archive.state,
        size=archive.stat.size if archive.stat is not None else 0,
        new_turns=archive.new_turns,
        is_subagent=archive.is_subagent,
        deleted_at=_deleted_at(archive, period),
        changed_at=_changed_at(archive.stat),
    )


def _changed_at(stat: ArchiveStat | None) -> datetime | None:
    return None if stat is None else datetime.fromtimestamp(stat.mtime_ns / 1e9, UTC)


def _deleted_at(archive: _Archive, period: timedelta | None) -> datetime | None:
    """Return when the agent may delete an archive; None: it keeps it, as the history of prompts."""
    changed = _changed_at(archive.stat)
    if period is None or changed is None or is_in_history(archive.path):
        return None
    return changed + period if period < _LAST - changed else None
