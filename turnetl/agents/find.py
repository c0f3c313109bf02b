"""Find the archives of agents, and compare each with its turns file in the lake.

An archive with the size and modification time of its turns file is not opened. The turns of others
are counted as long as that is cheap.
"""

import glob
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from stat import S_ISDIR

from turnetl import formats
from turnetl.agents.locations import AgentMachine, Location, agent_locations
from turnetl.agents.sources_report import (
    DELETION_HINTS,
    ArchiveState,
    FoundArchive,
    Retention,
    Source,
    SourcesReport,
    read_retention,
)
from turnetl.base.errors import BadArchive
from turnetl.base.reason import SkipReason
from turnetl.formats.kit.counts import TooManyRows
from turnetl.lake import ArchiveMetadata, Lake, archive_digests
from turnetl.parsing import expand
from turnetl.parsing.prompt_history import PromptHistories, is_project_archive
from turnetl.parsing.sources import ArchiveStat, read_archive, read_head, stat_archive

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
    paths = [path for one in listed for path in one.archives]
    known = _known(paths, lake)
    compared = {path: _compare(path, metadata) for path, metadata in known.items()}
    counted = _counted(list(compared.values()), counted_bytes, progress)
    return SourcesReport(tuple(_source(one, compared, counted) for one in listed), now)


def source_paths(machine: AgentMachine) -> tuple[str, ...]:
    """Return what `turnetl backfill` takes for all archives of a machine's agents."""
    listed = map(_list, agent_locations(machine))
    return tuple(path for one in listed if one.archives for path in one.paths)


@dataclass(frozen=True, slots=True)
class _Listed:
    """A folder of an agent, before its archives are opened."""

    location: Location
    retention: Retention
    exists: bool
    paths: tuple[str, ...] = ()
    archives: tuple[Path, ...] = ()
    problems: tuple[str, ...] = ()
    other_files: Mapping[SkipReason, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Compared:
    """An archive that was compared with its turns file, and not opened."""

    path: Path
    state: ArchiveState
    stat: ArchiveStat | None = None
    stored_turns: int = 0


@dataclass(frozen=True, slots=True)
class _Counted:
    """What opening an archive showed."""

    is_known_format: bool
    turns: int | None = None


def _list(location: Location) -> _Listed:
    retention = read_retention(location)
    try:
        found = os.stat(location.folder)  # noqa: PTH116 - `exists` hides that it is unreadable
    except (FileNotFoundError, NotADirectoryError):
        return _Listed(location, retention, exists=False)
    except OSError as error:
        problem = f"`{location.folder}` cannot be read ({error.strerror}); check its permissions"
        return _Listed(location, retention, exists=True, problems=(problem,))
    if not S_ISDIR(found.st_mode):
        problem = f"`{location.folder}` is no folder: an agent keeps its archives in one"
        return _Listed(location, retention, exists=True, problems=(problem,))
    paths = tuple(path for path in location.archives if _is_present(path))
    expanded = expand(paths)
    problems = [problem.message for problem in expanded.problems if problem.reason not in _EXPECTED]
    return _Listed(
        location,
        retention,
        exists=True,
        paths=paths,
        archives=expanded.archives,
        problems=(*problems, *_databases(location)),
        other_files=expanded.other_files,
    )


_EXPECTED = (SkipReason.EMPTY, SkipReason.MISSING)
"""Problems of a folder without archives, which an agent has before its first session."""


def _is_present(path: str) -> bool:
    return os.path.lexists(path) or bool(glob.has_magic(path) and glob.glob(path))  # noqa: PTH207


def _databases(location: Location) -> Iterator[str]:
    for pattern in location.databases:
        for path in sorted(glob.glob(pattern)):  # noqa: PTH207 - absolute patterns
            yield (
                f"`{path}` is a database with sessions of {location.agent}, which turnetl does not "
                "read; write each session to a file with `opencode export`"
            )


def _known(paths: Sequence[Path], lake: Lake) -> dict[Path, ArchiveMetadata | None]:
    """Return the metadata of the turns file of each archive; None if there is none."""
    files = {path.stem: path for path in lake.turn_paths()}
    stored = [files.get(digest) for digest in archive_digests(paths)]
    known = [path for path in stored if path is not None]
    metadata = dict(zip(known, lake.archives_metadata(known), strict=True))
    return {
        path: None if file is None else metadata[file]
        for path, file in zip(paths, stored, strict=True)
    }


def _compare(path: Path, metadata: ArchiveMetadata | None) -> _Compared:
    try:
        stat = stat_archive(path)
    except BadArchive:
        return _Compared(path, ArchiveState.UNREADABLE)
    if metadata is None:
        return _Compared(path, ArchiveState.NEW, stat)
    is_same = (stat.size, stat.mtime_ns) == (metadata.size, metadata.mtime_ns)
    state = ArchiveState.UNCHANGED if is_same else ArchiveState.CHANGED
    return _Compared(path, state, stat, metadata.turns)


def _counted(
    archives: Sequence[_Compared],
    counted_bytes: int,
    progress: Callable[[int, int], None] | None,
) -> dict[Path, _Counted | None]:
    """Return what opening shows of each archive that is new or changed; None: it is unreadable."""
    opened = [
        (one.stat.size, one.path, one.stat)
        for one in archives
        if one.stat is not None and one.state is not ArchiveState.UNCHANGED
    ]
    found: dict[Path, _Counted | None] = {}
    histories = PromptHistories()
    read = 0
    for done, (size, path, stat) in enumerate(sorted(opened, key=lambda one: one[:2]), 1):
        read += size
        with suppress(BadArchive):
            found[path] = _count(path, histories) if read <= counted_bytes else _detect(stat)
        found.setdefault(path, None)
        if progress is not None:
            progress(done, len(opened))
    return found


def _count(path: Path, histories: PromptHistories) -> _Counted:
    data = read_archive(path, histories=histories)
    detected = formats.sniff(data)
    if detected is None:
        return _Counted(is_known_format=False)
    try:
        return _Counted(is_known_format=True, turns=len(detected.read(data).turns))
    except TooManyRows:
        return _Counted(is_known_format=True)


def _detect(stat: ArchiveStat) -> _Counted:
    return _Counted(is_known_format=formats.sniff(read_head(stat)) is not None)


def _source(
    listed: _Listed,
    compared: dict[Path, _Compared],
    counted: dict[Path, _Counted | None],
) -> Source:
    location, period = listed.location, listed.retention.period
    return Source(
        agent=location.agent,
        folder=location.folder,
        variable=location.variable or None,
        exists=listed.exists,
        paths=listed.paths,
        archives=tuple(_found(compared[path], counted, period) for path in listed.archives),
        retention=listed.retention,
        retention_hint=DELETION_HINTS.get(location.agent, ""),
        problems=(*listed.retention.problems, *listed.problems),
        other_files=listed.other_files,
    )


def _found(
    archive: _Compared, counted: dict[Path, _Counted | None], period: timedelta | None
) -> FoundArchive:
    state, turns = archive.state, None
    if archive.path in counted:
        opened = counted[archive.path]
        if opened is None:
            state = ArchiveState.UNREADABLE
        elif not opened.is_known_format:
            state = ArchiveState.UNKNOWN_FORMAT
        elif opened.turns is not None:
            turns = max(opened.turns - archive.stored_turns, 0)
    return FoundArchive(
        path=archive.path,
        state=state,
        size=archive.stat.size if archive.stat is not None else 0,
        new_turns=turns,
        deleted_at=_deleted_at(archive, period),
    )


def _deleted_at(archive: _Compared, period: timedelta | None) -> datetime | None:
    """Return when the agent may delete an archive; None: it keeps it, as the history of prompts."""
    if period is None or archive.stat is None or is_project_archive(archive.path):
        return None
    changed = datetime.fromtimestamp(archive.stat.mtime_ns / 1e9, UTC)
    return changed + period if period < _LAST - changed else None
