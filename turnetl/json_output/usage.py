"""Calls of models, their tokens and their cost."""

from collections.abc import Mapping
from typing import Annotated, Any

from turnetl.base.model import Usage
from turnetl.base.results import JsonOutput, described


class UsageOutput(JsonOutput):
    """Calls of models, their tokens and their cost."""

    calls: Annotated[int, described("Calls: attempts of requests, including failed ones.")]
    prompt_tokens: Annotated[int, described("Tokens of the requests.")]
    cached_tokens: Annotated[
        int, described("Prompt tokens that the provider took from its own cache.")
    ]
    completion_tokens: Annotated[int, described("Tokens of the responses.")]
    seconds: Annotated[float, described("Time spent waiting for responses.")]
    cost: Annotated[
        float | None, described("US dollars; null if a model without a price was used.")
    ]


def usage_output(usage: Usage) -> UsageOutput:
    return UsageOutput(**usage_values(usage))


def usage_values(usage: Usage) -> dict[str, Any]:
    """Return the values of `UsageOutput`, for the objects that extend it."""
    return {
        "calls": usage.calls,
        "prompt_tokens": usage.prompt_tokens,
        "cached_tokens": usage.cached_tokens,
        "completion_tokens": usage.completion_tokens,
        "seconds": round(usage.seconds, 3),
        "cost": rounded_cost(usage.cost),
    }


def rounded_cost(usd: float | None) -> float | None:
    """Return US dollars with six decimals."""
    return None if usd is None else round(usd, 6)


def total_usage(usage_by_prompt: Mapping[str, Usage]) -> Usage:
    return sum(usage_by_prompt.values(), Usage())
