"""`turnetl runs --json` and `turnetl runs show --json`."""

from typing import Annotated, Any

from turnetl.base.result_schema import Timestamp, encoded_type
from turnetl.base.results import JsonOutput, described
from turnetl.ingestion.estimate_record import RecordedEstimate
from turnetl.ingestion.run_report import RecordedRun, RunsReport, RunState
from turnetl.json_output.base import timestamp
from turnetl.json_output.usage import UsageOutput, usage_output
from turnetl.summaries.reasons import GateReason, reason_counts, refreshed, skipped


class RunOutput(JsonOutput):
    """A run that wrote to the graph. Without an end, its counts are those of its turns in it."""

    run_id: Annotated[str, described("Id of the run.")]
    state: Annotated[
        RunState,
        described(
            "`running`, or how it ended; `interrupted` also if its process was killed; `undone` if "
            "all its turns were undone."
        ),
    ]
    error: Annotated[str | None, described("Its first error; null if there was none.")]
    user: Annotated[str, described("Who started it.")]
    host: Annotated[str, described("Where it ran.")]
    started_at: Annotated[Timestamp, described("Time of its first lease.")]
    ended_at: Annotated[Timestamp | None, described("Its end; null if none was recorded.")]
    undone_at: Annotated[
        Timestamp | None, described("When its last turn was undone; null if it was not.")
    ]
    command: Annotated[
        list[str],
        described("Program and arguments, without secrets; empty for a call from Python."),
    ]
    archives: Annotated[
        list[str], described("Archives as they were given; empty if none were read.")
    ]
    groups: Annotated[list[str], described("Groups with turns to ingest, sorted.")]
    extractor: Annotated[str, described("Extractor that made its turns.")]
    model: Annotated[
        str | None, described("Model with its provider; null if the extractor uses none.")
    ]
    recipes: Annotated[list[str], described("Recipes of its groups, sorted.")]
    committed: Annotated[int, described("Turns that it committed.")]
    in_graph: Annotated[int, described("Turns of these that are in the graph now.")]
    quarantined: Annotated[int, described("Turns that failed.")]
    entities_new: Annotated[int, described("Entities that it created.")]
    facts_new: Annotated[int, described("Facts that it created.")]
    facts_invalidated: Annotated[int, described("Facts that it invalidated.")]
    discarded: Annotated[int, described("Extracted entities and facts that were useless.")]
    summary_refreshed: Annotated[
        dict[GateReason, int],
        described(
            "Summaries of entities that it wrote, by reason; empty without an end.", keys=GateReason
        ),
    ]
    summary_skipped: Annotated[
        dict[GateReason, int],
        described(
            "Its decisions to keep a summary, by reason; empty without an end.", keys=GateReason
        ),
    ]
    usage: Annotated[
        UsageOutput, described("All its requests, also those behind no committed turn.")
    ]
    estimate: Annotated[
        encoded_type(RecordedEstimate) | None,  # type: ignore[valid-type]
        described("What `turnetl plan` predicted of these turns; null if it did not."),
    ]


class RunsOutput(JsonOutput):
    """The runs that wrote to the graph."""

    count: Annotated[int, described("Runs that meet the conditions, also beyond the limit.")]
    runs: Annotated[list[RunOutput], described("The runs, newest first.")]


def runs_output(report: RunsReport) -> RunsOutput:
    return RunsOutput(count=report.count, runs=[run_output(run) for run in report.runs])


def run_output(recorded: RecordedRun) -> RunOutput:
    run = recorded.run
    summaries = reason_counts(run.summary_reasons)
    lists: dict[str, Any] = {
        name: list(getattr(run, name)) for name in ("command", "archives", "groups", "recipes")
    }
    same = (
        *("run_id", "error", "user", "host", "extractor", "model", "committed", "quarantined"),
        *("entities_new", "facts_new", "facts_invalidated", "discarded"),
    )
    return RunOutput(
        **{name: getattr(run, name) for name in same},
        **lists,
        state=recorded.state,
        started_at=timestamp(run.started_at),
        ended_at=timestamp(run.ended_at),
        undone_at=timestamp(run.undone_at),
        in_graph=recorded.in_graph,
        summary_refreshed=refreshed(summaries),
        summary_skipped=skipped(summaries),
        usage=usage_output(run.usage),
        estimate=recorded.estimate,
    )
