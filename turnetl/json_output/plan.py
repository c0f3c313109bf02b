"""`turnetl plan --json`."""

from dataclasses import dataclass
from typing import Annotated, Literal

from turnetl.base.results import INLINED, JsonOutput, described
from turnetl.estimation.report import Estimate, GroupEstimate, PilotSummary, PlanReport
from turnetl.estimation.usage_range import UsageRange
from turnetl.ingestion.estimate_record import EstimateMethod
from turnetl.ingestion.reasons import PendingReason
from turnetl.json_output import fields
from turnetl.json_output.estimates import RangeOutput, optional_range, range_output
from turnetl.json_output.usage import UsageOutput, rounded_cost, usage_output
from turnetl.parsing import ParseReport


class GroupEstimateOutput(JsonOutput):
    """The turns of a group that would be ingested, and what they are expected to take."""

    group: fields.GroupField
    turns: Annotated[int, described("Turns to ingest.")]
    chunks: Annotated[int, described("Episodes as which they are ingested.")]
    chars: Annotated[int, described("Characters of these episodes.")]
    text_tokens: Annotated[int, described("Estimated tokens of these episodes.")]
    requests: Annotated[int, described("Expected attempts of requests.")]
    tokens: Annotated[int, described("Expected tokens of prompts and responses.")]
    cost: Annotated[float | None, described("Expected US dollars; null if a price is unknown.")]


class UsageRangeOutput(JsonOutput):
    """Requests, tokens and cost, each with its interval."""

    requests: Annotated[RangeOutput, described("Attempts of requests to send.")]
    prompt_tokens: Annotated[RangeOutput, described("Tokens of the requests.")]
    completion_tokens: Annotated[RangeOutput, described("Tokens of the responses.")]
    tokens: Annotated[RangeOutput, described("Tokens of both.")]
    cost: Annotated[
        RangeOutput | None, described("US dollars; null if the price of a model is unknown.")
    ]


class PilotOutput(JsonOutput):
    """What the pilot did."""

    asked: Annotated[int, described("Turns that were asked for.")]
    turns: Annotated[int, described("Turns that it extracted; at most the pending ones.")]
    failed: Annotated[int, described("Turns of these that cannot be ingested.")]
    usage: Annotated[UsageOutput, described("What it paid.")]
    by_prompt: Annotated[dict[str, UsageOutput], described("The same per prompt, sorted by name.")]
    stopped: Annotated[str | None, described("Why it ended early; null if it did not.")]


class EstimateOutput(JsonOutput):
    """What turns will take from now on."""

    method: Annotated[
        EstimateMethod,
        described(
            "`pilot`: turns extracted now; `history`: turns that the model extracted before; "
            "`bounds`: the prompts of the extraction alone, so that all amounts are lower bounds; "
            "`journal`: every response is known; `no_model`: no request is sent."
        ),
    ]
    basis: Annotated[int, described("Turns from which it was computed.")]
    extractor: Annotated[str, described("Extractor of the run.")]
    model: Annotated[str | None, described("Model with its provider; null without a model.")]
    turns: Annotated[int, described("Turns to ingest.")]
    groups: Annotated[list[GroupEstimateOutput], described("The groups, sorted by name.")]
    total: Annotated[UsageRangeOutput, described("All requests that the run will send.")]
    by_prompt: Annotated[
        dict[str, UsageRangeOutput],
        described("The same per prompt, sorted by name; the ends do not add up to the total's."),
    ]
    answered_turns: Annotated[
        int, described("Turns of which the journal answers every request: they cost nothing.")
    ]
    answered_requests: Annotated[
        int, described("Requests of the turns that the journal answers, and that are not sent.")
    ]
    answered: Annotated[UsageOutput, described("What these responses cost when they were paid.")]
    seconds: Annotated[RangeOutput | None, described("Wall time; null if it is unknown.")]
    disk: Annotated[
        dict[str, RangeOutput],
        described("Bytes by what grows: graph, index, journal. Without a graph on a server."),
    ]
    pilot: Annotated[PilotOutput | None, described("The pilot; null if there was none.")]
    missing_prices: Annotated[
        list[str], described("How to add the prices of models that have none.")
    ]


@dataclass(frozen=True, slots=True)
class PlanOutput:
    """What the turns of a run will take from now on."""

    estimate: Annotated[EstimateOutput, INLINED]
    work: Annotated[
        Literal["ingest", "backfill", "redo"], described("The command that ingests the turns.")
    ]
    left_out: Annotated[
        dict[PendingReason, int],
        described("Pending turns that the run would leave out.", keys=PendingReason),
    ]
    parsed: Annotated[
        ParseReport | None, described("What a backfill would read; null without archives.")
    ]
    errors: Annotated[list[str], described("Groups that are not part of it, and why.")]


def plan_output(report: PlanReport) -> PlanOutput:
    return PlanOutput(
        work=report.work,
        estimate=estimate_output(report.estimate),
        left_out=dict(report.pending),
        parsed=report.parsed,
        errors=list(report.errors),
    )


def estimate_output(estimate: Estimate) -> EstimateOutput:
    return EstimateOutput(
        method=estimate.method,
        basis=estimate.basis,
        extractor=estimate.extractor,
        model=estimate.model,
        turns=estimate.turns,
        groups=[_group(group) for group in estimate.groups],
        total=_usage(estimate.total),
        by_prompt={prompt: _usage(usage) for prompt, usage in estimate.by_prompt.items()},
        answered_turns=estimate.answered_turns,
        answered_requests=estimate.answered_requests,
        answered=usage_output(estimate.answered),
        seconds=optional_range(estimate.seconds, 1),
        disk=_disk(estimate),
        pilot=None if estimate.pilot is None else _pilot(estimate.pilot),
        missing_prices=list(estimate.missing_prices),
    )


def _group(group: GroupEstimate) -> GroupEstimateOutput:
    return GroupEstimateOutput(
        group=group.group,
        turns=group.turns,
        chunks=group.chunks,
        chars=group.chars,
        text_tokens=group.text_tokens,
        requests=round(group.requests),
        tokens=round(group.tokens),
        cost=rounded_cost(group.cost),
    )


def _usage(usage: UsageRange) -> UsageRangeOutput:
    return UsageRangeOutput(
        requests=range_output(usage.requests),
        prompt_tokens=range_output(usage.prompt_tokens),
        completion_tokens=range_output(usage.completion_tokens),
        tokens=range_output(usage.tokens),
        cost=optional_range(usage.cost, 6),
    )


def _disk(estimate: Estimate) -> dict[str, RangeOutput]:
    return {name: range_output(size) for name, size in estimate.disk.items()}


def _pilot(pilot: PilotSummary) -> PilotOutput:
    return PilotOutput(
        asked=pilot.asked,
        turns=pilot.turns,
        failed=pilot.failed,
        usage=usage_output(pilot.usage),
        by_prompt={name: usage_output(one) for name, one in pilot.usage_by_prompt.items()},
        stopped=pilot.stopped,
    )
