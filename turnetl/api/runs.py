"""The public functions that run the stages, report what they did, verify it, and list the runs.

The public function that finds the archives of the agents of this machine.
"""

from collections.abc import Iterable, Sequence

from turnetl import pipeline, wiring
from turnetl.agent_sources import SourcesReport
from turnetl.api.arguments import Path, archive_paths, check_limit
from turnetl.backfill_report import BackfillReport
from turnetl.base.clock import now
from turnetl.base.progress import Progress, ignore_progress
from turnetl.base.shard import Shard
from turnetl.episodes import FilterReport
from turnetl.ingestion.ingest_report import IngestReport
from turnetl.ingestion.run_report import RecordedRun, RunsReport
from turnetl.parsing import ParseReport
from turnetl.pipeline.run_options import RunOptions
from turnetl.settings import Settings, load_settings
from turnetl.status_report import StatusReport
from turnetl.verification.verify_report import VerifyReport


def parse(
    archives: Path | Iterable[Path],
    settings: Settings | None = None,
    *,
    format_name: str | None = None,
    dry_run: bool = False,
    shard: Shard | None = None,
    progress: Progress = ignore_progress,
) -> ParseReport:
    """Parse archives into turn tables; unchanged archives are not opened.

    Args:
        archives: files, folders or globs, also as URLs of an object store; one, or several.
        settings: everything that is configured; None: as the command line would load it.
        format_name: the format of all archives; None: each is detected by its content.
        dry_run: write nothing; report what would be done.
        shard: only the archives that it owns; None: all.
        progress: called after each archive.

    Raises:
        BadUsage: settings or arguments that are not valid.
        Fatal: the lake cannot be written.
    """
    return pipeline.parse_archives(
        archive_paths(archives),
        settings or load_settings(),
        format_name=format_name,
        dry_run=dry_run,
        shard=shard,
        progress=progress,
    )


def filter(  # noqa: A001 - named as the command
    settings: Settings | None = None,
    groups: Sequence[str] = (),
    *,
    shard: Shard | None = None,
    progress: Progress = ignore_progress,
) -> FilterReport:
    """Mark noise in the turn tables and render the episodes.

    Args:
        settings: everything that is configured; None: as the command line would load it.
        groups: group ids or project names; all groups if empty.
        shard: only the groups that it owns among them; None: all.
        progress: called after each group.

    Raises:
        BadUsage: an unknown group, or settings that are not valid.
        Fatal: the lake cannot be written.
    """
    return pipeline.filter_turns(
        settings or load_settings(), groups, shard=shard, progress=progress
    )


async def ingest(
    settings: Settings | None = None,
    options: RunOptions | None = None,
    *,
    progress: Progress = ignore_progress,
) -> IngestReport:
    """Ingest the pending turns into the graph, oldest first, one transaction per turn.

    Args:
        settings: everything that is configured; None: as the command line would load it.
        options: which groups and turns, and how they are extracted in this run.
        progress: called after each turn.

    Returns:
        The report, also on groups that could not be finished: `error` says why.

    Raises:
        BadUsage: settings or options that are not valid.
    """
    return await pipeline.ingest(
        settings or load_settings(), options or RunOptions(), now, progress=progress
    )


async def backfill(
    archives: Path | Iterable[Path],
    settings: Settings | None = None,
    options: RunOptions | None = None,
    *,
    format_name: str | None = None,
    progress: Progress = ignore_progress,
) -> BackfillReport:
    """Parse, filter and ingest archives; what an earlier run did is not repeated.

    Args:
        archives: files, folders or globs, also as URLs of an object store; one, or several.
        settings: everything that is configured; None: as the command line would load it.
        options: which turns, and how they are extracted in this run. The groups are those of the
            archives; of a shard, those of them that it owns.
        format_name: the format of all archives; None: each is detected by its content.
        progress: called after each archive, group and turn.

    Raises:
        BadUsage: settings or options that are not valid; raised before any work.
        Fatal: the lake cannot be written.
    """
    return await pipeline.backfill(
        archive_paths(archives),
        settings or load_settings(),
        options or RunOptions(),
        now,
        format_name=format_name,
        progress=progress,
    )


async def status(
    settings: Settings | None = None, options: RunOptions | None = None
) -> StatusReport:
    """Report what the graph holds of each group, what is pending, and why. Writes nothing.

    Args:
        settings: everything that is configured; None: as the command line would load it.
        options: which groups, and how a run would extract their turns.

    Raises:
        BadUsage: an unknown group, or settings that are not valid.
        GraphUnusable: the graph cannot be opened.
    """
    return await pipeline.status(settings or load_settings(), options or RunOptions(), now)


async def runs(
    settings: Settings | None = None, groups: Sequence[str] = (), *, limit: int | None = None
) -> RunsReport:
    """Return the runs that wrote to the graph, newest first. Writes nothing.

    Args:
        settings: everything that is configured; None: as the command line would load it.
        groups: only runs that had turns for one of these groups: ids or project names; all runs if
            empty.
        limit: at most this number of runs; None: all.

    Raises:
        BadUsage: an unknown group, or a limit below 1.
        GraphBusy: the graph did not respond, or another process writes an embedded one.
        GraphUnusable: there is no graph, or it cannot be opened.
    """
    if limit is not None:
        check_limit(limit)
    return await pipeline.runs(settings or load_settings(), groups, limit=limit)


async def run(run_id: str, settings: Settings | None = None) -> RecordedRun:
    """Return who started a run, what it did, what it cost, and how it ended. Writes nothing.

    Args:
        run_id: the id of the run, or the beginning of one.
        settings: everything that is configured; None: as the command line would load it.

    Raises:
        BadUsage: the id begins no run, or several.
        GraphBusy, GraphUnusable: as `runs`.
    """
    return await pipeline.show_run(settings or load_settings(), run_id)


def sources(
    settings: Settings | None = None, *, progress: Progress = ignore_progress
) -> SourcesReport:
    """Return where the agents of this machine keep archives, and what is new. Writes nothing.

    Args:
        settings: the lake; None: as the command line would load it.
        progress: called after each archive that is opened.

    Raises:
        BadUsage: settings that are not valid, or the lake is a file.
        Fatal: the lake has another schema version.
    """
    return pipeline.sources(
        settings or load_settings(), wiring.this_machine(), now, progress=progress
    )


async def verify(
    settings: Settings | None = None,
    groups: Sequence[str] = (),
    *,
    fix: bool = False,
    examples: int = 5,
    vectors: bool = False,
    progress: Progress = ignore_progress,
) -> VerifyReport:
    """Compare the graph with itself, with the lake and with the search index; check permissions.

    Args:
        settings: everything that is configured; None: as the command line would load it.
        groups: group ids or project names; all groups if empty.
        fix: repair what is safe, one transaction each, and verify again. Without it nothing is
            written.
        examples: of each finding, at most.
        vectors: compare every vector too, with the built-in embedder by computing it again.
        progress: called after each group and each repair.

    Raises:
        BadUsage: an unknown group, or settings that are not valid.
        GraphBusy: the graph did not respond, or another process writes the graph.
        GraphUnusable: there is no graph, or it cannot be opened.
    """
    loaded = settings or load_settings()
    options = pipeline.VerifyOptions(tuple(groups), examples, vectors)
    report = await pipeline.verify(loaded, options, progress)
    if not (fix and report.can_repair):
        return report
    return await pipeline.repair_graph(loaded, report, options, now, progress)
