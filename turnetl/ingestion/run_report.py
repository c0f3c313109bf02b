"""Reports of the runs that wrote to a graph."""

from dataclasses import dataclass
from enum import StrEnum

from turnetl.base.graph_model import TurnRun
from turnetl.ingestion.estimate_record import RecordedEstimate


class RunState(StrEnum):
    """The state of a run: running, or how it ended."""

    RUNNING = "running"
    DONE = "done"
    STOPPED = "stopped"
    INTERRUPTED = "interrupted"
    FAILED = "failed"
    UNDONE = "undone"


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """A run, its state, and what is left of it."""

    run: TurnRun
    """Without an end: with the counts and the usage of its turns in the graph."""
    state: RunState
    """A run without an end is `interrupted` if its process is known to have ended."""
    in_graph: int
    """Turns that it committed and that are in the graph now."""
    estimate: RecordedEstimate | None = None
    """What `turnetl plan` predicted of its turns; None if it did not, or in another lake."""


@dataclass(frozen=True, slots=True)
class RunsReport:
    """Runs, newest first."""

    runs: tuple[RecordedRun, ...]
    count: int
    """All runs that meet the conditions, also beyond the limit."""
