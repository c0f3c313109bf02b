"""The backfill: parse, filter and ingest, each unit of work run by an executor."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace

from turnetl import episodes, parsing, wiring
from turnetl.backfill_report import BackfillReport
from turnetl.clock import Clock
from turnetl.ingestion.report import IngestReport
from turnetl.lake import Lake
from turnetl.pipeline.executor import Executor, InProcess, Stage, Unit
from turnetl.pipeline.run_ingest import ingest
from turnetl.pipeline.tables import filter_turns, plan_parse
from turnetl.progress import Progress, ignore_progress
from turnetl.report.layout import plural
from turnetl.run_options import RunOptions, settings_for_run
from turnetl.settings import Settings

log = logging.getLogger(__name__)


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
    on_parsed: Callable[[parsing.ParseReport], None] = lambda _: None,
) -> BackfillReport:
    """Parse, filter and ingest archives; what an earlier run did is not repeated.

    Args:
        archives: files, folders or globs.
        settings: everything that is configured.
        options: which turns are ingested, and how; the groups are those of the archives.
        clock: returns the current time.
        format_name: the format of all archives; None: each is detected by its content.
        one_off: the noise rules apply to this run only.
        executor: runs the units of work.
        progress: called after each archive, group and turn.
        on_parsed: called once, after all archives are parsed and before anything is filtered.

    Raises:
        BadUsage: settings or options that are not valid; raised before any work.
        Fatal: the lake cannot be written.
    """
    run_settings = settings_for_run(settings, options)
    wiring.check(run_settings, options.preprocessing)
    parsed = await parse(
        archives, settings, format_name=format_name, executor=executor, progress=progress
    )
    on_parsed(parsed)
    if not parsed.groups:
        return BackfillReport(parsed, episodes.FilterReport(()), IngestReport(None, ()))
    filtered = await _filter(parsed, run_settings, options, executor, progress, one_off=one_off)
    of_archives = replace(options, groups=parsed.groups, archives=tuple(archives))
    ingested = await ingest(settings, of_archives, clock, executor=executor, progress=progress)
    return BackfillReport(parsed, filtered, ingested)


async def parse(
    archives: Sequence[str],
    settings: Settings,
    *,
    format_name: str | None = None,
    executor: Executor = InProcess(),  # noqa: B008 - a frozen value
    progress: Progress = ignore_progress,
) -> parsing.ParseReport:
    """Parse archives into turn tables, in the batches of the executor. See `parse_archives`.

    Raises:
        BadUsage: an unknown format, or a grouping that is not valid.
        Fatal: the lake cannot be written.
    """
    plan = plan_parse(archives, settings, format_name=format_name, progress=progress)
    batches = zip(
        plan.batch_names(executor.batch_size), plan.batches(executor.batch_size), strict=True
    )
    return plan.report(
        [await executor.run_blocking(Unit(Stage.PARSE, name), work) for name, work in batches]
    )


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
        Unit(Stage.FILTER, plural(len(groups), "group")),
        lambda: filter_turns(
            settings,
            groups,
            one_off=one_off,
            progress=progress,
            # The ingest reports the group as not filtered, and the others are ingested.
            on_damaged=lambda error: log.error("%s", error),
        ),
    )
