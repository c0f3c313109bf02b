"""Find the archives of agents, and compare each with its turns file in the lake.

An archive with the size and modification time of its turns file is not opened. The turns of others
are counted as long as that is cheap.
"""

import glob
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from stat import S_ISDIR

from turnetl import formats
from turnetl.agents.locations import AgentMachine, Location, agent_locations
from turnetl.agents.sources_report import (
    DELETION_HINTS,
    ArchiveState,
    FoundArchive,
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
    known = _known([path for one in listed for path in one.archives], lake)
    compared = [_compare(path, metadata) for path, metadata in known.items()]
    opened = {one.path: one for one in _opened(compared, counted_bytes, progress)}
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


def source_paths(machine: AgentMachine) -> tuple[str, ...]:
    """Return what `turnetl backfill` takes for all archives of a machine's agents."""
    listed = map(_list, agent_locations(machine))
    return tuple(path for one in listed if one.archives for path in one.source.paths)


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
        problems=(*source.problems, *problems, *_databases(location)),
        other_files=expanded.other_files,
    )
    return _Listed(source, expanded.archives)


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


def _compare(path: Path, metadata: ArchiveMetadata | None) -> _Archive:
    try:
        stat = stat_archive(path)
    except BadArchive:
        return _Archive(path, ArchiveState.UNREADABLE)
    if metadata is None:
        return _Archive(path, ArchiveState.NEW, stat)
    is_same = stat.is_state_of(metadata)
    state = ArchiveState.UNCHANGED if is_same else ArchiveState.CHANGED
    return _Archive(path, state, stat, metadata.turns)


def _opened(
    archives: Sequence[_Archive],
    counted_bytes: int,
    progress: Callable[[int, int], None] | None,
) -> Iterator[_Archive]:
    """Yield the archives, and once more each that is new or changed, with what opening it shows."""
    yield from archives
    pending = [
        (one.stat.size, one.path, one, one.stat)
        for one in archives
        if one.stat is not None and one.state is not ArchiveState.UNCHANGED
    ]
    histories = PromptHistories()
    read = 0
    for done, (size, _, one, stat) in enumerate(sorted(pending, key=lambda each: each[:2]), 1):
        read += size
        try:
            yield _counted(one, histories) if read <= counted_bytes else _detected(one, stat)
        except BadArchive:
            yield replace(one, state=ArchiveState.UNREADABLE)
        if progress is not None:
            progress(done, len(pending))


def _counted(archive: _Archive, histories: PromptHistories) -> _Archive:
    data = read_archive(archive.path, histories=histories)
    if (detected := formats.sniff(data)) is None:
        return replace(archive, state=ArchiveState.UNKNOWN_FORMAT)
    try:
        turns = len(detected.read(data).turns)
    except TooManyRows:
        return archive
    return replace(archive, new_turns=max(turns - archive.stored_turns, 0))


def _detected(archive: _Archive, stat: ArchiveStat) -> _Archive:
    is_known = formats.sniff(read_head(stat)) is not None
    return archive if is_known else replace(archive, state=ArchiveState.UNKNOWN_FORMAT)


def _found(archive: _Archive, period: timedelta | None) -> FoundArchive:
    return FoundArchive(
        path=archive.path,
        state=archive.state,
        size=archive.stat.size if archive.stat is not None else 0,
        new_turns=archive.new_turns,
        deleted_at=_deleted_at(archive, period),
    )


def _deleted_at(archive: _Archive, period: timedelta | None) -> datetime | None:
    """Return when the agent may delete an archive; None: it keeps it, as the history of prompts."""
    if period is None or archive.stat is None or is_project_archive(archive.path):
        return None
    changed = datetime.fromtimestamp(archive.stat.mtime_ns / 1e9, UTC)
    return changed + period if period < _LAST - changed else None
