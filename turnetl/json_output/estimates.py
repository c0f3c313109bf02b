"""Estimated amounts, as several commands print them beside the actual ones."""

from typing import Annotated

from turnetl.base.result_schema import Timestamp
from turnetl.base.results import JsonOutput, described
from turnetl.ingestion.estimate_record import EstimateMethod, Range, RecordedEstimate
from turnetl.json_output.base import timestamp


class RangeOutput(JsonOutput):
    """An expected amount, and the interval in which the actual one lies in 95 of 100 cases."""

    low: Annotated[float, described("Lower end.")]
    expected: Annotated[float, described("Expected amount; equal to `low` of lower bounds.")]
    high: Annotated[float | None, described("Upper end; null if none is known.")]


class RunEstimateOutput(JsonOutput):
    """What `turnetl plan` predicted of exactly the turns with which the run started."""

    made_at: Annotated[Timestamp, described("When it was made.")]
    method: Annotated[EstimateMethod, described("What it was made from.")]
    turns: Annotated[int, described("Turns.")]
    requests: Annotated[RangeOutput, described("Attempts of requests to send.")]
    tokens: Annotated[RangeOutput, described("Tokens of prompts and responses.")]
    cost: Annotated[
        RangeOutput | None, described("US dollars; null if the price of a model is unknown.")
    ]
    seconds: Annotated[RangeOutput | None, described("Wall time; null if it is unknown.")]


def run_estimate_output(estimate: RecordedEstimate | None) -> RunEstimateOutput | None:
    if estimate is None:
        return None
    return RunEstimateOutput(
        made_at=timestamp(estimate.made_at),
        method=estimate.method,
        turns=estimate.turns,
        requests=range_output(estimate.requests),
        tokens=range_output(estimate.tokens),
        cost=optional_range(estimate.cost, 6),
        seconds=optional_range(estimate.seconds, 1),
    )


def range_output(amount: Range, decimals: int = 0) -> RangeOutput:
    """Return the amount with this number of decimals."""
    high = None if amount.high is None else round(amount.high, decimals)
    return RangeOutput(round(amount.low, decimals), round(amount.expected, decimals), high)


def optional_range(amount: Range | None, decimals: int) -> RangeOutput | None:
    return None if amount is None else range_output(amount, decimals)
