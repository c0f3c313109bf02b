"""The public function that finds the archives of the agents of this machine."""

from turnetl import pipeline, wiring
from turnetl.agents import SourcesReport
from turnetl.base.clock import now
from turnetl.base.progress import Progress, ignore_progress
from turnetl.settings import Settings, load_settings


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
