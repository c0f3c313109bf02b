"""The backfill: parse, filter and ingest, each unit of work run by an executor."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace

from turnetl import episodes, parsing, wiring
from turnetl.backfill_report import BackfillReport
from turnetl.base.clock import Clock
from turnetl.base.model import GroupId
from turnetl.base.progress import Progress, ignore_progress
from turnetl.base.shard import Shard
from turnetl.base.text import plural
from turnetl.ingestion.ingest_report import IngestReport
from turnetl.parsing.expand import other_archives, own_archives
from turnetl.pipeline.executor import Executor, InProcess, Stage, Unit
from turnetl.pipeline.parse_plan import ParsePlan, plan_parse
from turnetl.pipeline.run_ingest import ingest
from turnetl.pipeline.run_options import RunOptions, settings_for_run
from turnetl.pipeline.tables import filter_turns
from turnetl.settings import Settings

log = logging.getLogger(__name__)

_TAKEN_OVER = 200
"""Archives of other shards that are compared with the lake, and parsed, at once."""


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

    A shard parses its archives, and then those that the other shards did not parse yet: when it
    filters and ingests its groups, they are complete, whatever the other shards do.

    The groups of the options are those of the archives. Errors in settings and options are raised
    before any work. `on_parsed` is called once, before anything is filtered.
    """
    run_settings = settings_for_run(settings, options)
    wiring.check(run_settings, options.preprocessing)
    plan = plan_parse(archives, settings, format_name=format_name, progress=progress)
    parsed, groups = await _parse_archives_and_groups(plan, options.shard, executor)
    on_parsed(parsed)
    if not groups:
        return BackfillReport(parsed, episodes.FilterReport(()), IngestReport(None, ()))
    filtered = await _filter(groups, run_settings, options, executor, progress, one_off=one_off)
    of_archives = replace(options, groups=groups, archives=tuple(archives))
    ingested = await ingest(settings, of_archives, clock, executor=executor, progress=progress)
    return BackfillReport(parsed, filtered, ingested)


async def parse(
    archives: Sequence[str],
    settings: Settings,
    *,
    format_name: str | None = None,
    shard: Shard | None = None,
    executor: Executor = InProcess(),  # noqa: B008 - a frozen value
    progress: Progress = ignore_progress,
) -> parsing.ParseReport:
    """Parse archives into turn tables, in the batches of the executor. See `parse_archives`."""
    plan = plan_parse(archives, settings, format_name=format_name, shard=shard, progress=progress)
    return plan.report(await _parse_batches(plan, executor, executor.batch_size))


async def _parse_archives_and_groups(
    plan: ParsePlan, shard: Shard | None, executor: Executor
) -> tuple[parsing.ParseReport, tuple[GroupId, ...]]:
    """Parse all archives; return the report, and the groups of all archives.

    The report of a shard is on its own archives, and on those of others that it read.
    """
    if shard is None:
        parsed = plan.report(await _parse_batches(plan, executor, executor.batch_size))
        return parsed, parsed.groups
    own = replace(plan, shard=shard, paths=own_archives(shard, plan.paths))
    others = replace(plan, shard=shard, paths=other_archives(shard, plan.paths))
    reports = await _parse_batches(own, executor, executor.batch_size)
    # In small batches: what another shard parses meanwhile is not parsed again.
    of_others = await _parse_batches(others, executor, executor.batch_size or _TAKEN_OVER)
    everything = own.report([*reports, *of_others])
    read = [archive for batch in of_others for archive in batch.archives if archive.was_read]
    archives = [archive for batch in reports for archive in batch.archives]
    return replace(everything, archives=(*archives, *read)), everything.groups


async def _parse_batches(
    plan: ParsePlan, executor: Executor, size: int | None
) -> list[parsing.ParseReport]:
    return [
        await executor.run_blocking(Unit(Stage.PARSE, name), work)
        for name, work in zip(plan.batch_names(size), plan.batches(size), strict=True)
    ]


async def _filter(
    of_archives: Sequence[GroupId],
    settings: Settings,
    options: RunOptions,
    executor: Executor,
    progress: Progress,
    *,
    one_off: bool,
) -> episodes.FilterReport:
    """Filter the groups of the archives, and those whose archives moved to other groups."""
    groups = [*of_archives, *wiring.lake(settings).groups_without_turns()]
    one_off = one_off or options.preprocessing is not None
    return await executor.run_blocking(
        Unit(Stage.FILTER, plural(len(groups), "group")),
        lambda: filter_turns(
            settings,
            groups,
            one_off=one_off,
            shard=options.shard,
            progress=progress,
            # The ingest reports the group as not filtered, and the others are ingested.
            on_damaged=lambda error: log.error("%s", error),
        ),
    )
