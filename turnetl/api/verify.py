"""The public function that verifies the graph."""

from collections.abc import Sequence

from turnetl import pipeline
from turnetl.base.clock import now
from turnetl.base.progress import Progress, ignore_progress
from turnetl.settings import Settings, load_settings
from turnetl.verification.verify_report import VerifyReport


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
