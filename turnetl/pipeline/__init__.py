"""The stages wired together: opens lake, graph and model, and hands them down.

The command line and the flows are two thin callers of what stands here.
"""

from collections.abc import Sequence
from dataclasses import replace

from turnetl import episodes, wiring
from turnetl.backfill_report import BackfillReport
from turnetl.ingest.report import IngestReport
from turnetl.lake import Lake
from turnetl.pipeline.groups import accounted, all_of, find, ingest, ingest_group, status
from turnetl.pipeline.models import check_model, journal_prune, journal_stats, templates
from turnetl.pipeline.previews import requests
from turnetl.pipeline.tables import explain, filter_turns, parse_archives
from turnetl.progress import Progress, silent
from turnetl.run_options import Clock, RunOptions, for_run, has_work, new_run
from turnetl.settings import Settings

__all__ = [
    "RunOptions",
    "accounted",
    "all_of",
    "backfill",
    "check_model",
    "explain",
    "filter_turns",
    "find",
    "for_run",
    "has_work",
    "ingest",
    "ingest_group",
    "journal_prune",
    "journal_stats",
    "new_run",
    "parse_archives",
    "requests",
    "status",
    "templates",
]


async def backfill(
    archives: Sequence[str],
    settings: Settings,
    limits: RunOptions,
    clock: Clock,
    *,
    format_name: str | None = None,
    one_off: bool = False,
    progress: Progress = silent,
) -> BackfillReport:
    """Parse, filter and ingest: the main job. The arguments are those of the three stages."""
    once = for_run(settings, limits)
    wiring.check(once, limits.preprocessing)
    parsed = parse_archives(archives, settings, format_name=format_name, progress=progress)
    if not parsed.groups:
        return BackfillReport(parsed, episodes.FilterReport(()), IngestReport(None, ()))
    emptied = Lake(settings.lake).emptied()
    one_off = one_off or limits.preprocessing is not None
    filtered = filter_turns(once, [*parsed.groups, *emptied], one_off=one_off, progress=progress)
    ingested = await ingest(
        settings, replace(limits, groups=parsed.groups), clock, progress=progress
    )
    return BackfillReport(parsed, filtered, ingested)
