"""The public function that writes deferred summaries.

The public function that builds communities.
"""

from collections.abc import Sequence

from turnetl import pipeline
from turnetl.base.clock import now
from turnetl.base.progress import Progress, ignore_progress
from turnetl.ingestion.community_build import CommunityReport
from turnetl.ingestion.summarize_report import SummarizeReport
from turnetl.pipeline.run_communities import CommunityOptions
from turnetl.settings import Settings, load_settings


async def summarize(
    settings: Settings | None = None,
    groups: Sequence[str] = (),
    *,
    dry_run: bool = False,
    edited: bool = False,
    audit: int | None = None,
    progress: Progress = ignore_progress,
) -> SummarizeReport:
    """Write the summaries of entities that runs deferred and did not write.

    Args:
        settings: everything that is configured; None: as the command line would load it.
        groups: group ids or project names; all groups if empty.
        dry_run: write nothing and send no request; count what would be written.
        edited: also write those again that were edited by hand, from their facts.
        audit: also compare at most this many summaries of each group, which turns kept, with new
            ones; with it nothing is written. A model is asked for them, unless it is a dry run.
        progress: called after each group.

    Returns:
        The report, also on groups that could not be written: `error` says why.

    Raises:
        BadUsage: an unknown group, `audit` is below 1, or no model is configured.
        GraphBusy: the graph did not respond, or another process writes it.
        GraphUnusable: there is no graph, or it cannot be opened.
    """
    loaded = settings or load_settings()
    return await pipeline.summarize(
        loaded, now, groups, dry_run=dry_run, edited=edited, audit=audit, progress=progress
    )


async def build_communities(
    settings: Settings | None = None,
    options: CommunityOptions | None = None,
    *,
    progress: Progress = ignore_progress,
) -> CommunityReport:
    """Build the communities of the graph; only those are written whose members changed.

    Args:
        settings: everything that is configured; None: as the command line would load it. An
            extractor that uses a model lets it name and summarise them.
        options: which groups, and how; None: all groups, as the command does.
        progress: called after each batch.

    Returns:
        The report, also on groups that could not be finished: `error` says why.

    Raises:
        BadUsage: an unknown group, Leiden is not installed, or no model is configured.
        GraphBusy: the graph did not respond, or another process writes it.
        GraphUnusable: there is no graph, or it cannot be opened.
    """
    loaded, chosen = settings or load_settings(), options or CommunityOptions()
    return await pipeline.build_communities(loaded, chosen, now, progress=progress)
