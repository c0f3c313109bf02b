"""The wall time of a run, from the latency of its requests or from the speed of earlier runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from turnetl.base.model import GroupId
from turnetl.estimation.estimate import PredictedUsage
from turnetl.ingestion.estimate_record import Range

_COMMIT_SECONDS = 0.05
"""Of a turn, without its requests: resolving it in memory, and its transaction."""
_SLOW, _USUAL, _FAST = 20.0, 60.0, 200.0
"""Turns per second of a run without a model, where no earlier run says more."""
_SLOWER = 1.5
"""How much slower provider and machine may be in the run than in the pilot."""
_SPREAD = 2.0
"""How much faster or slower than a single earlier run another one may be."""


@dataclass(frozen=True, slots=True)
class RateLimits:
    """The limits of a run."""

    concurrency: int
    """Requests in flight."""
    group_concurrency: int
    """Groups that are ingested at the same time."""
    requests_per_minute: int | None
    tokens_per_minute: int | None


def from_latency(
    usage: PredictedUsage, turns_by_group: Mapping[GroupId, int], limits: RateLimits
) -> Range:
    """Return seconds: that of the limit which is reached first.

    Requests in flight and requests and tokens per minute limit all requests together. The turns of
    a group are resolved one after the other, each prompt of a turn after the one before it.
    """
    path = sum(usage.seconds_by_prompt.get(prompt, 0.0) for prompt in usage.resolution_prompts)
    paths = [turns * (path + _COMMIT_SECONDS) for turns in turns_by_group.values()]
    serial = max([*paths, sum(paths) / limits.group_concurrency], default=0.0)
    total, expected = usage.total, max(usage.total.requests.expected, 1.0)

    def seconds(requests: float, tokens: float, waiting: float) -> float:
        return max(
            waiting / limits.concurrency,
            serial * requests / expected,
            _minutes(requests, limits.requests_per_minute),
            _minutes(tokens, limits.tokens_per_minute),
        )

    ends = [
        seconds(*amounts)
        for amounts in zip(
            *(
                (one.low, one.expected, one.high or one.expected)
                for one in (total.requests, total.tokens, total.seconds)
            ),
            strict=True,
        )
    ]
    low, middle, high = ends
    return Range(low, middle, high * _SLOWER)


def from_speeds(turns: int, speeds: Sequence[float]) -> Range | None:
    """Return seconds at the speeds of earlier runs, in turns per second; None if there are none."""
    if not speeds:
        return None
    mean = sum(speeds) / len(speeds)
    fastest, slowest = max(*speeds, mean * _SPREAD), min(*speeds, mean / _SPREAD)
    return Range(turns / fastest, turns / mean, turns / slowest)


def without_model(turns: int) -> Range:
    """Return seconds for turns that need no request, without an earlier run."""
    return Range(turns / _FAST, turns / _USUAL, turns / _SLOW)


def from_limits(usage: PredictedUsage, limits: RateLimits) -> Range | None:
    """Return the seconds below which the limits per minute do not let a run end, if any."""
    least = max(
        _minutes(usage.total.requests.low, limits.requests_per_minute),
        _minutes(usage.total.tokens.low, limits.tokens_per_minute),
    )
    return Range(least, least, None) if least else None


def _minutes(amount: float, per_minute: int | None) -> float:
    return 60 * amount / per_minute if per_minute else 0.0
