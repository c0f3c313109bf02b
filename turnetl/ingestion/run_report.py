"""Reports of the runs that wrote to a graph."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from turnetl.base.graph_model import TurnRun
from turnetl.base.results import INLINED, described
from turnetl.ingestion.estimate_record import EstimateField
from turnetl.summaries.reasons import GateReason, reason_counts, refreshed, skipped


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
    """A run that wrote to the graph. Without an end, its counts are those of its turns in it."""

    run: Annotated[TurnRun, INLINED]
    state: Annotated[
        RunState,
        described(
            "`running`, or how it ended; `interrupted` also if its process was killed; `undone` if "
            "all its turns were undone."
        ),
    ]
    in_graph: Annotated[int, described("Turns of these that are in the graph now.")]
    estimate: EstimateField = None
    """None also if it did so in another lake."""

    @property
    @described(
        "Summaries of entities that it wrote, by reason; empty without an end.", keys=GateReason
    )
    def summary_refreshed(self) -> Mapping[GateReason, int]:
        return refreshed(reason_counts(self.run.summary_reasons))

    @property
    @described("Its decisions to keep a summary, by reason; empty without an end.", keys=GateReason)
    def summary_skipped(self) -> Mapping[GateReason, int]:
        return skipped(reason_counts(self.run.summary_reasons))


@dataclass(frozen=True, slots=True)
class RunsReport:
    """The runs that wrote to the graph."""

    runs: Annotated[tuple[RecordedRun, ...], described("The runs, newest first.")]
    count: Annotated[int, described("Runs that meet the conditions, also beyond the limit.")]
