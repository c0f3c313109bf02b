"""The state of every group: what the graph holds, what is pending, and why."""

import logging
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import cache
from pathlib import Path

from turnetl import wiring
from turnetl.base.clock import Clock
from turnetl.base.errors import (
    ArchivesBusy,
    BadArchive,
    Fatal,
    IndexBusy,
    IndexUnusable,
    Retryable,
    TableUnusable,
    TurnetlError,
)
from turnetl.base.model import GroupId, Usage
from turnetl.base.object_url import url_text
from turnetl.base.reason import SkipReason
from turnetl.graph.port import GraphStore
from turnetl.index.catalog_state import BUSY_TIMEOUT
from turnetl.index.files import DamagedIndex
from turnetl.index.snapshot import IndexSnapshot, turns_behind
from turnetl.lake import ArchiveMetadata, Lake
from turnetl.lake.paths import file_holding
from turnetl.parsing.archive_files import ArchiveFiles
from turnetl.parsing.archive_paths import StandsFor, find_archive, is_redacted
from turnetl.pipeline.group_plans import TurnFiles, plan_groups_in, turn_files
from turnetl.pipeline.run_options import RunOptions
from turnetl.redact.port import MARK
from turnetl.settings import Settings
from turnetl.status_report import GroupStatus, StatusReport

log = logging.getLogger(__name__)


async def status(
    settings: Settings,
    options: RunOptions,
    clock: Clock,
    *,
    busy_timeout: float = BUSY_TIMEOUT,
) -> StatusReport:
    """Report on every group of lake or graph, including missing archives. Writes nothing.

    While another process writes an embedded graph, the report is that of the search index.
    """
    lake = wiring.lake(settings)
    files = turn_files(lake)
    damaged = _damaged_tables(lake, files)
    with _snapshot(settings, busy_timeout) as index:
        report = await _status(index, files, settings, options, clock)
    archives = {group: [file.metadata for file in of_group] for group, of_group in files.items()}
    names = {one.archive for of_group in archives.values() for one in of_group}
    is_present = archive_finder(settings, names)
    return replace(
        report,
        index_problem=await _index_problem(settings, busy_timeout),
        damaged_tables=damaged,
        spent=_spent(settings, clock),
        groups=tuple(
            replace(
                group,
                missing_archives=missing_archives(archives.get(group.group, ()), is_present),
                retained_turns=sum(one.retained_turns for one in archives.get(group.group, ())),
            )
            for group in report.groups
        ),
    )


def _spent(settings: Settings, clock: Clock) -> Usage | None:
    """Return the usage of the responses in the journal; None if it cannot be read."""
    with suppress(TurnetlError), wiring.journal(settings, clock) as journal:
        return journal.stats().total.usage
    return None


def _damaged_tables(lake: Lake, files: TurnFiles) -> int:
    """Count the tables that are known to be damaged without reading all of them."""
    known = {file.path: file for of_group in files.values() for file in of_group}
    damaged = {path for path in lake.turn_paths() if path not in known}
    damaged |= {path for path, file in known.items() if file.metadata.group != path.parent.name}
    for group in files:
        damaged |= {path for path in lake.changed_turns(group) if not lake.is_whole(path)}
        try:
            lake.episodes_metadata(group)
        except TableUnusable as error:
            damaged.add(error.path)
    return len(damaged)


def archive_finder(settings: Settings, names: Iterable[str]) -> Callable[[str], bool]:
    """Return whether an archive exists that is in an object store or has a redacted path.

    One of which that is not known counts as existing. The names are those of all archives: objects
    are looked up concurrently.
    """
    files = wiring.archive_files()
    objects_answer = _look_up(files, names)

    @cache
    def stands_for() -> StandsFor | None:
        try:
            return wiring.redactor(settings, stores=False).stands_for
        except Fatal as error:
            log.warning("%s; archives with a redacted path are not looked for", error)
            return None

    def is_present(archive: str) -> bool:
        if url_text(archive) is not None and not objects_answer:
            return True
        path = Path(archive)
        try:
            if is_redacted(archive):
                if (found := stands_for()) is None:
                    return True
                path = find_archive(archive, found, files)
            return files.is_file(file_holding(path))
        except BadArchive as error:
            return error.reason is not SkipReason.MISSING

    return is_present


def _look_up(files: ArchiveFiles, names: Iterable[str]) -> bool:
    """Ask the object stores for the archives in them; return whether they answer."""
    objects = (name for name in names if url_text(name) is not None and not is_redacted(name))
    try:
        files.look_up(map(Path, sorted(objects)))
    except (Fatal, ArchivesBusy) as error:
        log.warning("%s; archives in object stores are not looked for", error)
        return False
    return True


async def _status(
    index: IndexSnapshot | None,
    files: TurnFiles,
    settings: Settings,
    options: RunOptions,
    clock: Clock,
) -> StatusReport:
    """Report on the groups of the graph, or if it is busy on those of its index."""
    has_turns = index is not None and bool(await index.groups())
    try:
        async with wiring.store(settings, write=False, wait=not has_turns) as store:
            migrations = {
                one.group_id: one for one in await store.migration_summaries() if one.is_open
            }
            others = sorted({*await store.session_level_groups(), *migrations})
            planned = await plan_groups_in(store, files, settings, options, clock, others=others)
            groups = [
                replace(GroupStatus.of(group), migration=migrations.get(group.group))
                for group in planned.report.groups
            ]
            groups = await _with_session_level(groups, store, others)
            if index is None:
                return StatusReport(tuple(groups))
            behind = turns_behind(index.status(), await store.versions())
            return StatusReport(tuple(groups), replace(index.status(), turns_behind=behind))
    except Retryable as error:
        if index is None or not has_turns:
            raise
        report = (await plan_groups_in(index, files, settings, options, clock)).report
        return StatusReport(
            tuple(map(GroupStatus.of, report.groups)), index.status(), unread=str(error)
        )


async def _with_session_level(
    reports: Sequence[GroupStatus], store: GraphStore, groups: Sequence[GroupId]
) -> list[GroupStatus]:
    """Return the reports with what no turn states in those of the groups that are named.

    While a migration moves data, its turns cannot be told from session-level data.
    """
    counts = {
        group.group: (await store.session_level(group.group, vectors=False)).counts
        for group in reports
        if group.group in groups and not (group.migration and group.migration.phase.moves_data)
    }
    found = {group: one for group, one in counts.items() if one.episodes}
    return [replace(group, session_level=found.get(group.group)) for group in reports]


@contextmanager
def _snapshot(settings: Settings, busy_timeout: float) -> Iterator[IndexSnapshot | None]:
    """Open the index for reading; None if there is none that can be read."""
    with ExitStack() as opened:
        index = None
        with suppress(IndexUnusable, IndexBusy):
            index = opened.enter_context(wiring.index_snapshot(settings, busy_timeout=busy_timeout))
        yield index


async def _index_problem(settings: Settings, busy_timeout: float) -> str | None:
    """Return why a search would not use the index as it is, and what to do; None if it would."""
    if not wiring.has_index(settings):
        return None
    try:
        async with wiring.embedder(settings) as embedder:
            wiring.check_index(settings, embedder, busy_timeout=busy_timeout)
    except DamagedIndex as error:
        return f"{error.damage}; the next search rebuilds it"
    except (Fatal, IndexBusy) as error:
        return str(error)
    return None


_ESCAPED_BYTE = re.compile(r"\\udc([89a-f][0-9a-f])")
"""How `lake.path_text` writes a byte of a file name that is not UTF-8."""


def missing_archives(
    archives: Iterable[ArchiveMetadata], is_present: Callable[[str], bool]
) -> tuple[str, ...]:
    """Return the archives of this machine that do not exist, sorted. Opens none.

    Args:
        is_present: whether an archive exists that is in an object store, or of whose path parts are
            redacted.
    """
    paths = (archive.archive for archive in archives if not archive.machine)
    return tuple(sorted(path for path in paths if not _is_present(path, is_present)))


def _is_present(archive: str, is_present: Callable[[str], bool]) -> bool:
    if MARK in archive or url_text(archive) is not None:
        return is_present(archive)
    return _exists(archive) or _exists(_ESCAPED_BYTE.sub(_byte, archive))


def _byte(match: re.Match[str]) -> str:
    return chr(0xDC00 + int(match[1], 16))


def _exists(path: str) -> bool:
    """Return whether the file exists; one that may not be examined counts as existing."""
    try:
        os.stat(file_holding(Path(path)))  # noqa: PTH116 - thousands
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True
