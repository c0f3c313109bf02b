"""Verify the files of the lake, and the graph against lake and index; repair what is safe.

Also carry the file of an embedded graph over into the storage version of the installed release.
"""

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import polars as pl

from turnetl import wiring
from turnetl.base import stop_signals
from turnetl.base.clock import Clock
from turnetl.base.errors import Fatal, GraphUnusable, IndexBusy, IndexUnusable
from turnetl.base.model import GroupId
from turnetl.base.private_files import (
    LooseFile,
    loose_beside,
    loose_in_lake,
    loose_private,
    tighten_rights,
)
from turnetl.base.progress import Progress, ProgressUpdate, ignore_progress
from turnetl.graph.group_repair import GroupRepair
from turnetl.graph.migrations import moved_groups
from turnetl.graph.open import embedded_file, upgrade_graph
from turnetl.graph.port import GraphStore
from turnetl.graph.upgrade_report import GraphUpgrade
from turnetl.ingestion.held_lease import held_lease
from turnetl.ingestion.ingest_run import IngestRun
from turnetl.lake import Lake
from turnetl.pipeline.group_names import select_groups
from turnetl.pipeline.index import check_graph, update_index
from turnetl.pipeline.lake_check import check_lake, mend_lake
from turnetl.pipeline.run_options import new_ingest_run
from turnetl.settings import Settings, secret_files
from turnetl.verification.check import Check
from turnetl.verification.graph_checks import Examples, vector_checks
from turnetl.verification.verify import (
    IndexedTurns,
    file_findings,
    group_repairs,
    permission_finding,
    read_group,
    verify_group,
)
from turnetl.verification.verify_report import FileProblem, GroupVerification, VerifyReport

_STAGE = "verify"
_LAKE_COLUMNS = ("turn_id", "content_hash", "noise")


@dataclass(frozen=True, slots=True)
class VerifyOptions:
    groups: tuple[str, ...] = ()
    """Group ids or project names; all groups if empty."""
    examples: int = 5
    """Of each finding, at most."""
    vectors: bool = False
    """Compare every vector, with the built-in embedder by computing it again. Reads all entities
    and facts of a group into memory."""
    config: Path | None = None
    """A config file beside those in the usual places, whose permissions are checked too."""


@dataclass(frozen=True, slots=True)
class _IndexRead:
    path: Path | None = None
    groups: Mapping[GroupId, IndexedTurns] = field(default_factory=dict)
    problem: str | None = None


async def verify(
    settings: Settings, options: VerifyOptions, progress: Progress = ignore_progress
) -> VerifyReport:
    """Verify the files of the lake, the groups of the graph, the index and permissions.

    Writes nothing. A graph that cannot be used is a finding, if there is a table to verify.
    """
    files = check_lake(settings, progress)
    if not files.tables and not files.problems:
        check_graph(settings)
    problems = [*files.problems, *graph_file_problems(settings)]
    report = VerifyReport((), None, tables=files.tables, table_bytes=files.table_bytes)
    if any(problem.check is Check.UNREADABLE_GRAPH for problem in problems):
        report = replace(report, graph_problem="it cannot be read")
    else:
        try:
            verified = await _verify_graph(settings, options, progress)
            report = replace(verified, tables=files.tables, table_bytes=files.table_bytes)
        except GraphUnusable as error:
            if not files.tables:
                raise
            report = replace(report, graph_problem=str(error))
            problems.append(_unusable_graph(settings, error))
    loose = loose_files(settings, options.config)
    return replace(
        report,
        loose_files=loose,
        permissions=permission_finding(loose, examples=options.examples),
        file_problems=tuple(problems),
        files=file_findings(problems, examples=options.examples),
    )


def _unusable_graph(settings: Settings, error: GraphUnusable) -> FileProblem:
    graph = embedded_file(settings.graph_url)
    path = settings.lake if graph is None else graph
    return FileProblem(Check.UNREADABLE_GRAPH, path, str(path), f"was not verified: {error}")


async def _verify_graph(
    settings: Settings, options: VerifyOptions, progress: Progress
) -> VerifyReport:
    check_graph(settings)
    # Before the graph: what the index has read by now is in the graph.
    index, lake = _read_index(settings), wiring.lake(settings)
    async with wiring.store(settings, write=False) as store:
        versions = await store.versions()
        existing = {*versions, *index.groups, *lake.groups(), *await store.groups()}
        selected = select_groups(sorted(existing), options.groups)
        moved = moved_groups(await store.migration_summaries())
        verified: list[GroupVerification] = []
        for group in selected:
            state = await read_group(store, group)
            turns, problem = _lake_turns(lake, group)
            indexed = index.groups.get(group, IndexedTurns(0, "", ())) if index.path else None
            found = verify_group(
                state,
                turns,
                indexed,
                versions.get(group),
                vectors=await _vector_checks(store, group, settings) if options.vectors else (),
                examples=options.examples,
            )
            verified.append(replace(found, lake_problem=problem, migration=moved.get(group)))
            progress(ProgressUpdate(_STAGE, "groups", len(verified), len(selected)))
    return VerifyReport(tuple(verified), index.path, index.problem)


async def repair_graph(
    settings: Settings,
    report: VerifyReport,
    options: VerifyOptions,
    clock: Clock,
    progress: Progress = ignore_progress,
) -> VerifyReport:
    """Make the repairs of a report, one transaction each, and verify its groups again.

    What is no longer found, under the lease of the group, is not repaired.
    """
    repaired = 0
    if report.repairs:
        async with wiring.store(settings, write=True) as store:
            run = new_ingest_run(settings, clock)
            for group, repairs in report.repairs.items():
                repaired += await _repair_group(store, group, repairs, run, progress)
    repaired += take_rights_away(report.loose_files)
    repaired += mend_lake(settings, report.file_problems, progress)
    accept_graph(settings, report.file_problems)
    is_damaged = any(one.check is Check.DAMAGED_INDEX for one in report.file_problems)
    if is_damaged or any(group.index_is_wrong for group in report.groups):
        await update_index(settings, clock, rebuild=is_damaged, progress=progress)
        repaired += is_damaged
    return replace(await verify(settings, options, progress), repaired=repaired)


async def _repair_group(
    store: GraphStore,
    group: GroupId,
    repairs: Sequence[GroupRepair],
    run: IngestRun,
    progress: Progress,
) -> int:
    """Make those of the repairs that are still needed; return their number."""
    profile = await store.profile(group)
    if profile is None:
        return 0
    async with held_lease(store, group, profile, run) as lease:
        current = set(group_repairs(await read_group(store, group)))
        needed = [repair for repair in repairs if repair in current]
        for done, repair in enumerate(needed, start=1):
            await store.repair(lease, repair, now=run.clock(), ttl=run.lease_ttl)
            progress(ProgressUpdate("repair", group, done, len(needed)))
    return len(needed)


async def _vector_checks(
    store: GraphStore, group: GroupId, settings: Settings
) -> Sequence[Examples]:
    """Check the vectors of a group; only the built-in embedder computes them again for nothing."""
    contents = await store.load(group)
    async with wiring.embedder(settings) as embedder:
        is_own = contents.profile is not None and embedder.name == contents.profile.embedder
        is_free = is_own and wiring.is_built_in(settings)
        return await vector_checks(contents, embedder.embed if is_free else None)


def _read_index(settings: Settings) -> _IndexRead:
    try:
        with wiring.index_snapshot(settings) as snapshot:
            if snapshot is None:
                return _IndexRead()
            status = snapshot.status()
            groups = {
                group.group_id: IndexedTurns(
                    group.sequence, group.creation_id, snapshot.turn_ids(group.group_id)
                )
                for group in status.groups
            }
            return _IndexRead(status.path, groups)
    except (IndexBusy, IndexUnusable) as error:
        return _IndexRead(problem=str(error))


def _lake_turns(lake: Lake, group: GroupId) -> tuple[pl.DataFrame | None, str | None]:
    """Return the rows of the episodes table that are compared; or None, and why."""
    try:
        with lake.reading_episodes(group):
            return lake.scan_episodes(group).select(_LAKE_COLUMNS).collect(), None
    except Fatal as error:
        return None, str(error)


def graph_file_problems(settings: Settings) -> Iterator[FileProblem]:
    """Yield what is wrong with the file of an embedded graph; a server has its own checks."""
    path = embedded_file(settings.graph_url)
    if path is None or not path.exists():
        return
    # Only here: it imports the database.
    from turnetl.graph.ladybug.checksum import (  # noqa: PLC0415 - as above
        ChecksumMatch,
        checksum_path,
    )
    from turnetl.graph.ladybug.file import check_file  # noqa: PLC0415 - as above

    found = check_file(path)
    if found.problem is not None:
        remedy = found.remedy or (
            "restore it from a backup; keep the damaged file until that is done"
        )
        if found.is_emptied:
            remedy = (
                f"restore it from a backup, or move it and `{checksum_path(path)}` away: `turnetl "
                "ingest` then fills a new graph with the turns of the lake"
            )
        yield FileProblem(Check.UNREADABLE_GRAPH, path, str(path), found.problem, remedy)
    elif found.comparison is ChecksumMatch.DAMAGED:
        problem = "differs from what turnetl wrote, as no program changes it; it can be read"
        remedy = f"to take it as it is all the same, move `{checksum_path(path)}` away"
        yield FileProblem(Check.DAMAGED_GRAPH, path, str(path), problem, remedy)
    elif found.comparison is ChecksumMatch.CHANGED:
        problem = "is not as it was when turnetl closed it"
        yield FileProblem(Check.CHANGED_GRAPH, path, str(path), problem)
    elif found.comparison is ChecksumMatch.UNRECORDED:
        problem = "has no checksum; all of it was read"
        yield FileProblem(Check.UNRECORDED_GRAPH, path, str(path), problem)


def accept_graph(settings: Settings, problems: Sequence[FileProblem]) -> None:
    path = embedded_file(settings.graph_url)
    accepted = (Check.CHANGED_GRAPH, Check.UNRECORDED_GRAPH)
    if path is None or not any(problem.check in accepted for problem in problems):
        return
    from turnetl.graph.ladybug import checksum  # noqa: PLC0415 - as above
    from turnetl.graph.ladybug.file import lock_graph  # noqa: PLC0415 - as above

    lock = lock_graph(path, write=True)
    try:
        checksum.accept(path)
    finally:
        if lock is not None:
            lock.close()


_log = logging.getLogger(__name__)


def loose_files(settings: Settings, config: Path | None) -> tuple[LooseFile, ...]:
    """Return what of lake, graph, trust store and configuration too many users may use, sorted."""
    folders = {settings.lake, wiring.lake(settings).root}
    found = {file for folder in folders for file in loose_in_lake(folder)}
    graph = embedded_file(settings.graph_url)
    if graph is not None and not graph.resolve().is_relative_to(settings.lake.resolve()):
        found.update(loose_beside(graph))
    for path in secret_files(config):
        found.update(loose_private(path))
    return tuple(sorted(found))


def take_rights_away(files: Iterable[LooseFile]) -> int:
    """Take the rights away that are too many; return the number of files."""
    count = 0
    for file in files:
        try:
            tighten_rights(file)
        except OSError as error:
            _log.warning("`%s` keeps its permissions: %s", file.path, error.strerror)
        else:
            count += 1
    return count


async def upgrade(
    settings: Settings, release: Path | None, *, progress: Progress = ignore_progress
) -> GraphUpgrade:
    """Upgrade the graph of the settings; arguments and errors as of `upgrade_graph`."""
    # Ctrl-C ends it immediately: what it leaves is deleted by the next call.
    with stop_signals.current().blocking():
        return upgrade_graph(settings.graph_url, release, progress)
