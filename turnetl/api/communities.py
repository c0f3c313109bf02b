"""The public function that builds communities."""

from turnetl import pipeline
from turnetl.base.clock import now
from turnetl.base.progress import Progress, ignore_progress
from turnetl.ingestion.community_report import CommunityReport
from turnetl.pipeline.run_communities import CommunityOptions
from turnetl.settings import Settings, load_settings


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
