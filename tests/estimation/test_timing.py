"""How long a run takes."""

from collections.abc import Mapping

import pytest

from turnetl.base.model import GroupId
from turnetl.estimation.extrapolation import PredictedUsage
from turnetl.estimation.sample import UsageRange, exactly
from turnetl.estimation.workloads import RateLimits, from_latency, from_limits, from_speeds

TURNS = {GroupId("a"): 100, GroupId("b"): 20}


def usage(seconds: float) -> PredictedUsage:
    amounts = (exactly(1000.0), exactly(1e6), exactly(1e5), exactly(1.1e6), exactly(seconds))
    latency: Mapping[str, float] = {"extract": 2.0, "dedupe": 1.5, "edges": 0.5}
    total = UsageRange(*amounts, cost=None)
    return PredictedUsage(total, {}, {}, frozenset({"dedupe", "edges"}), latency)


def limits(
    *, concurrency: int = 8, requests: int | None = None, tokens: int | None = None
) -> RateLimits:
    return RateLimits(concurrency, 4, requests, tokens)


def test_the_turns_of_the_largest_group_are_resolved_one_after_the_other() -> None:
    time = from_latency(usage(100.0), TURNS, limits())
    assert time.expected == pytest.approx(100 * (1.5 + 0.5 + 0.05))


def test_few_requests_in_flight_take_longer() -> None:
    assert from_latency(usage(1000.0), TURNS, limits(concurrency=1)).expected == 1000.0


def test_the_limits_per_minute_take_longer() -> None:
    assert from_latency(usage(1.0), TURNS, limits(requests=2)).expected == 30_000
    assert from_latency(usage(1.0), TURNS, limits(tokens=1000)).expected == 66_000


def test_without_a_latency_only_a_limit_per_minute_says_something() -> None:
    assert from_limits(usage(1.0), limits()) is None
    least = from_limits(usage(1.0), limits(requests=2))
    assert least is not None
    assert (least.low, least.high) == (30_000, None)


def test_earlier_runs_say_how_long_it_takes() -> None:
    assert from_speeds(100, []) is None
    time = from_speeds(100, [1.0, 4.0])
    assert time is not None
    assert time.high is not None
    assert (time.low, time.expected, time.high) == (20, 40, 100)
