"""`turnetl redo --json`."""

from typing import Annotated

from turnetl.base.results import JsonOutput, described
from turnetl.ingestion.reasons import StaleReason
from turnetl.ingestion.redo_report import GroupRedo, RedoReport, RequestCounts
from turnetl.json_output import fields
from turnetl.json_output.estimates import RunEstimateOutput, run_estimate_output
from turnetl.json_output.ingest import RunUsageOutput, run_usage_output
from turnetl.json_output.status import (
    QuarantinedTurnOutput,
    StalePartOutput,
    quarantined_turn_output,
    stale_part_output,
)
from turnetl.json_output.undo import UndoneTurnOutput, undone_turn_output
from turnetl.json_output.usage import UsageOutput, usage_output


class ExtractionRequestsOutput(JsonOutput):
    """The requests that extract the turns; those that resolve them depend on the responses."""

    requests: Annotated[int, described("Requests to send.")]
    tokens: Annotated[int, described("Estimated tokens of these requests.")]
    answered: Annotated[int, described("Requests that the journal answers; they cost nothing.")]


class GroupRedoOutput(JsonOutput):
    """The redo of the turns of one group."""

    group: fields.GroupField
    turns: Annotated[list[UndoneTurnOutput], described("The selected turns, oldest commit first.")]
    later: Annotated[
        list[UndoneTurnOutput],
        described("Turns that were committed later and are repeated too, oldest commit first."),
    ]
    dependents: Annotated[
        list[str],
        described("Ids of those later turns that built on selected ones, sorted."),
    ]
    stale_reasons: Annotated[
        dict[StaleReason, int], described("Stale ones of all these turns.", keys=StaleReason)
    ]
    stale_parts: Annotated[
        list[StalePartOutput], described("What changed in the recipes of these turns.")
    ]
    noise: Annotated[
        dict[str, int],
        described("Turns that are noise today, by rule: they are not ingested again."),
    ]
    extraction: Annotated[ExtractionRequestsOutput, described("Requests that extract the turns.")]
    used: Annotated[UsageOutput, described("Usage of these turns when they were ingested.")]
    undone: Annotated[int, described("Turns undone by this command.")]
    committed: Annotated[int, described("Turns ingested again by this command.")]
    pending: Annotated[
        int, described("Turns that were undone and not ingested again; the next ingest takes them.")
    ]
    quarantined_turns: Annotated[
        list[QuarantinedTurnOutput], described("Turns that were undone and failed.")
    ]
    error: Annotated[
        str | None, described("Why the group is not redone, or what stopped it; null if nothing.")
    ]


class RedoOutput(JsonOutput):
    """What a redo repeats; `undone` says whether it was carried out."""

    run_id: Annotated[str | None, described("Id of the run; null if it wrote nothing.")]
    groups: Annotated[list[GroupRedoOutput], described("The groups, sorted by name.")]
    turns: Annotated[int, described("Turns to repeat.")]
    extraction: Annotated[ExtractionRequestsOutput, described("Requests that extract all turns.")]
    used: Annotated[UsageOutput, described("Usage of all turns when they were ingested.")]
    undone: Annotated[int, described("Turns undone by this command.")]
    committed: Annotated[int, described("Turns ingested again by this command.")]
    ready: Annotated[
        int, described("Turns that were not in the graph before, and that an ingest would commit.")
    ]
    usage: Annotated[RunUsageOutput, described("Usage of this run.")]
    estimate: Annotated[
        RunEstimateOutput | None,
        described("What `turnetl plan --redo` predicted of these turns; null if it did not."),
    ]


def redo_output(report: RedoReport) -> RedoOutput:
    return RedoOutput(
        run_id=report.run_id,
        groups=[_group(group) for group in report.groups],
        turns=report.turns,
        extraction=_requests(report.extraction),
        used=usage_output(report.used),
        undone=report.undone,
        committed=report.committed,
        ready=report.ready,
        usage=run_usage_output(report.usage_by_prompt, report.journal_hits, report.cost),
        estimate=run_estimate_output(report.estimate),
    )


def _group(group: GroupRedo) -> GroupRedoOutput:
    failed = group.ingested.quarantined_turns if group.ingested else ()
    return GroupRedoOutput(
        group=group.group,
        turns=[undone_turn_output(turn) for turn in group.selected],
        later=[undone_turn_output(turn) for turn in group.later],
        dependents=sorted(group.dependents),
        stale_reasons=dict(group.stale_reasons),
        stale_parts=[stale_part_output(part) for part in group.stale_parts],
        noise=dict(group.left_out),
        extraction=_requests(group.extraction),
        used=usage_output(group.used),
        undone=group.undone,
        committed=group.committed,
        pending=group.pending,
        quarantined_turns=[quarantined_turn_output(entry) for entry in failed],
        error=group.error,
    )


def _requests(counts: RequestCounts) -> ExtractionRequestsOutput:
    return ExtractionRequestsOutput(counts.requests, counts.tokens, counts.answered)
