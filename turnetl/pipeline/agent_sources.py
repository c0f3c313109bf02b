"""The archives of the agents of a machine, compared with the lake of the settings."""

from turnetl import wiring
from turnetl.agents import AgentMachine, SourcesReport, find_sources
from turnetl.base.clock import Clock
from turnetl.base.progress import Progress, ProgressUpdate, ignore_progress
from turnetl.settings import Settings


def sources(
    settings: Settings,
    machine: AgentMachine,
    clock: Clock,
    *,
    progress: Progress = ignore_progress,
) -> SourcesReport:
    """Return where the agents of a machine keep archives, and what is new. Writes nothing.

    Args:
        settings: the lake.
        machine: where the agents keep their files.
        clock: returns the current time.
        progress: called after each archive that is opened.

    Raises:
        BadUsage: the lake is a file.
        Fatal: the lake has another schema version.
    """
    return find_sources(
        machine,
        wiring.lake(settings),
        clock(),
        progress=lambda done, total: progress(ProgressUpdate("sources", "archives", done, total)),
    )
