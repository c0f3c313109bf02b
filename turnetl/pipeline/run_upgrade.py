"""Carry the file of an embedded graph over into the storage version of the installed release."""

from pathlib import Path

from turnetl.base import stop_signals
from turnetl.base.progress import Progress, ignore_progress
from turnetl.graph.open import upgrade_graph
from turnetl.graph.upgrade_report import GraphUpgrade
from turnetl.settings import Settings


async def upgrade(
    settings: Settings, release: Path | None, *, progress: Progress = ignore_progress
) -> GraphUpgrade:
    """Upgrade the graph of the settings; arguments and errors as of `upgrade_graph`."""
    # Ctrl-C ends it immediately: what it leaves is deleted by the next call.
    with stop_signals.current().blocking():
        return upgrade_graph(settings.graph_url, release, progress)
