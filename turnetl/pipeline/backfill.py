"""The backfill: parse, filter and ingest, each unit of work run by an executor."""

from collections.abc import Sequence
from dataclasses import replace

from turnetl import episodes, parsing, wiring
from turnetl.backfill_report import BackfillReport
from turnetl.clock import Clock
from turnetl.ingestion.report import IngestReport
from turnetl.lake import Lake
from turnetl.pipeline.executor import Executor, InProcess, Stage, Unit
from turnetl.pipeline.ingest import ingest
from turnetl.pipeline.tables import filter_turns, plan_parse
from turnetl.progress import Progress, ignore_progress
from turnetl.run_options import RunOptions, settings_for_run
from turnetl.settings import Settings


async def backfill(
    archives: Sequence[str],
    settings: Settings,
    options: RunOptions,
    clock: Clock,
    *,
    format_name: str | None = None,
    one_off: bool = False,
    executor: Executor = InProcess(),  # noqa: B008 - a frozen value
    progress: Progress = ignore_progress,
) -> BackfillReport:
    """Parse, filter and ingest archives; what an earlier run did is not repeated.

    Args:
        archives: files, folders or globs.
        settings: everything that is configured.
        options: which turns are ingested, and how they are extracted in this run. The groups are
            those of the archives.
        clock: returns the current time.
        format_name: the format of all archives; None: each is detected by its content.
        one_off: the noise rules apply to this run only.
        executor: runs the units of work.
        progress: called after each archive, group and turn.

    Raises:
        BadUsage: settings or options that are not valid; raised before any work.
        Fatal: the lake cannot be written.
    """
    run_settings = settings_for_run(settings, options)
    wiring.check(run_settings, options.preprocessing)
    plan = plan_parse(archives, settings, format_name=format_name, progress=progress)
    parsed = plan.report(
        [
            await executor.run_blocking(Unit(Stage.PARSE, f"batch {number}"), work)
            for number, work in enumerate(plan.batches(executor.batch_size), start=1)
        ]
    )
    if not parsed.groups:
        return BackfillReport(parsed, episodes.FilterReport(()), IngestReport(None, ()))
    filtered = await _filter(parsed, run_settings, options, executor, progress, one_off=one_off)
    ingested = await ingest(
        settings,
        replace(options, groups=parsed.groups),
        clock,
        executor=executor,
        progress=progress,
    )
    return BackfillReport(parsed, filtered, ingested)


async def _filter(
    parsed: parsing.ParseReport,
    settings: Settings,
    options: RunOptions,
    executor: Executor,
    progress: Progress,
    *,
    one_off: bool,
) -> episodes.FilterReport:
    """Filter the groups of the archives, and those whose archives moved to other groups."""
    groups = [*parsed.groups, *Lake(settings.lake).groups_without_turns()]
    one_off = one_off or options.preprocessing is not None
    return await executor.run_blocking(
        Unit(Stage.FILTER, "groups"),
        lambda: filter_turns(settings, groups, one_off=one_off, progress=progress),
    )
