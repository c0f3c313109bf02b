"""`turnetl ingest --json` and `turnetl retry --json`."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import msgspec

from turnetl.base.model import Usage
from turnetl.base.progress import RunCost
from turnetl.base.results import JsonOutput, described
from turnetl.extraction.discard_reasons import DiscardReason
from turnetl.extraction.request_preview import RequestPreview
from turnetl.ingestion.report import GroupReport, IngestReport
from turnetl.json_output import fields
from turnetl.json_output.estimates import RunEstimateOutput, run_estimate_output
from turnetl.json_output.status import GroupOutput, group_values
from turnetl.json_output.usage import (
    UsageOutput,
    rounded_cost,
    total_usage,
    usage_output,
    usage_values,
)
from turnetl.summaries.reasons import GateReason, refreshed, skipped


class RunUsageOutput(UsageOutput):
    """Usage of a run."""

    journal_hits: Annotated[
        int,
        described("Responses that the journal already held; they cost nothing."),
    ]
    expected_tokens: Annotated[
        int | None,
        described("Tokens that all planned turns are expected to use; null if no turn says so."),
    ]
    expected_cost: Annotated[
        float | None,
        described("The same in US dollars; null if a model without a price was used, too."),
    ]
    committed_cost: Annotated[
        float | None,
        described("US dollars that were paid for committed turns; null without a budget."),
    ]
    repeated_responses: Annotated[
        int,
        described("Responses requested again, because a limit below the longest truncated them."),
    ]
    unused_tokens: Annotated[
        int,
        described("Tokens of responses to requests that ran ahead and that no turn needed."),
    ]
    by_prompt: Annotated[dict[str, UsageOutput], described("The same per prompt, sorted by name.")]


class InvalidationOutput(JsonOutput):
    """A turn that invalidated many facts."""

    turn_id: fields.TurnIdField
    archive: Annotated[str, described("Path of the archive that holds it.")]
    first_line: Annotated[int, described("Its first line in the archive, from 1.")]
    facts: Annotated[int, described("Facts that it invalidated.")]


class IngestGroupOutput(GroupOutput):
    """Result of a run for one group."""

    turns: Annotated[int, described("Turns in the lake.")]
    committed: Annotated[int, described("Turns that this run committed.")]
    already_committed: Annotated[
        int, described("Turns in the graph that another run committed, before or meanwhile.")
    ]
    discarded: Annotated[
        dict[DiscardReason, int],
        described(
            "Extracted entities and facts that were discarded, by reason.", keys=DiscardReason
        ),
    ]
    summary_refreshed: Annotated[
        dict[GateReason, int],
        described("Summaries of entities that this run wrote, by reason.", keys=GateReason),
    ]
    summary_skipped: Annotated[
        dict[GateReason, int],
        described("Decisions to keep the summary of an entity, by reason.", keys=GateReason),
    ]
    invalidations: Annotated[
        list[InvalidationOutput],
        described("Turns that invalidated more facts than `invalidation_alert`."),
    ]


class MessageOutput(JsonOutput):
    """A message of a request."""

    role: Annotated[Literal["system", "user", "assistant"], described("The author of the message.")]
    text: Annotated[str, described("The text of the message.")]


class RequestOutput(JsonOutput):
    """A request that a run would send to a model."""

    turn_id: fields.TurnIdField
    prompt: Annotated[str, described("Name of the prompt.")]
    model: Annotated[str, described("Provider and model.")]
    messages: Annotated[list[MessageOutput], described("The messages, in order.")]
    schema: Annotated[str, described("Name of the schema of the response; empty if it has none.")]
    tokens: Annotated[int, described("Estimated tokens of the messages.")]
    max_tokens: Annotated[int, described("Limit of the tokens of the response.")]
    body: Annotated[
        dict[str, Any] | None,
        described("The body of the HTTP request; null if it is not known."),
    ]
    is_cached: Annotated[
        bool, described("Whether the journal holds the response: nothing would be sent.")
    ]
    has_placeholder: Annotated[
        bool,
        described("Whether a placeholder replaces what an earlier response would name."),
    ]


class IngestOutput(JsonOutput):
    """Result of an ingest, or the preview of a dry run."""

    run_id: Annotated[str | None, described("Id of the run; null if it wrote nothing.")]
    committed: Annotated[int, described("Turns that this run committed.")]
    already_committed: Annotated[
        int, described("Turns in the graph that another run committed, before or meanwhile.")
    ]
    quarantined: Annotated[int, described("Turns that failed; `turnetl retry` tries them again.")]
    pending: Annotated[int, described("Turns that are not in the graph yet.")]
    turns_with_assumed_time: Annotated[
        int, described("Turns whose time was given with --assume-time.")
    ]
    usage: Annotated[RunUsageOutput, described("Usage of this run.")]
    estimate: Annotated[
        RunEstimateOutput | None,
        described("What `turnetl plan` predicted of these turns; null if it did not."),
    ]
    groups: Annotated[list[IngestGroupOutput], described("The groups, sorted by name.")]
    error: Annotated[
        str | None, described("Error before any group was ingested; null if there was none.")
    ]
    requests: Annotated[
        list[RequestOutput] | None,
        described("With --dry-run: the requests that extract the next turns; else null."),
    ]
    request_tokens: Annotated[
        int | None,
        described("Estimated tokens of those requests that the journal does not answer."),
    ]


def ingest_output(report: IngestReport) -> IngestOutput:
    return IngestOutput(**ingest_values(report))


def ingest_values(report: IngestReport) -> dict[str, Any]:
    """Return the values of `IngestOutput`, for the objects that extend it."""
    requests = report.requests
    return {
        "run_id": report.run_id,
        "committed": report.committed,
        "already_committed": report.already_committed,
        "quarantined": report.quarantined,
        "pending": report.pending,
        "turns_with_assumed_time": sum(group.turns_with_assumed_time for group in report.groups),
        "usage": run_usage_output(report.usage_by_prompt, report.journal_hits, report.cost),
        "estimate": run_estimate_output(report.estimate),
        "groups": [_ingest_group(group) for group in report.groups],
        "error": report.error,
        "requests": None if requests is None else [_request(preview) for preview in requests],
        "request_tokens": None if requests is None else _uncached_tokens(requests),
    }


def run_usage_output(
    by_prompt: Mapping[str, Usage], journal_hits: int, run_cost: RunCost | None
) -> RunUsageOutput:
    cost = run_cost or RunCost(0, None)
    return RunUsageOutput(
        **usage_values(total_usage(by_prompt)),
        journal_hits=journal_hits,
        expected_tokens=cost.expected_tokens,
        expected_cost=rounded_cost(cost.expected_usd),
        committed_cost=rounded_cost(cost.committed_usd),
        repeated_responses=cost.repeated_responses,
        unused_tokens=cost.unused_tokens,
        by_prompt={prompt: usage_output(usage) for prompt, usage in by_prompt.items()},
    )


def _ingest_group(report: GroupReport) -> IngestGroupOutput:
    return IngestGroupOutput(
        **group_values(report),
        turns=report.turns,
        committed=report.committed,
        already_committed=report.already_committed,
        discarded=dict(report.discarded or {}),
        summary_refreshed=refreshed(report.summaries or {}),
        summary_skipped=skipped(report.summaries or {}),
        invalidations=[
            InvalidationOutput(
                turn_id=turn.turn_id,
                archive=turn.archive,
                first_line=turn.first_line,
                facts=turn.facts,
            )
            for turn in report.invalidations
        ],
    )


def _uncached_tokens(requests: Sequence[RequestPreview]) -> int:
    return sum(preview.tokens for preview in requests if not preview.is_cached)


def _request(preview: RequestPreview) -> RequestOutput:
    return RequestOutput(
        turn_id=preview.turn_id,
        prompt=preview.prompt,
        model=preview.model,
        messages=[
            MessageOutput(role=message.role, text=message.text) for message in preview.messages
        ],
        schema=preview.schema,
        tokens=preview.tokens,
        max_tokens=preview.max_tokens,
        body=None if preview.body is None else msgspec.to_builtins(preview.body, enc_hook=dict),
        is_cached=preview.is_cached,
        has_placeholder=preview.has_placeholder,
    )
