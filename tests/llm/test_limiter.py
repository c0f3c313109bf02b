"""Limits of requests, tokens and calls in flight, against providers that count too."""

import asyncio
import math
import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.llm import virtual_clock
from turnetl.errors import ModelBusy, ModelRefused
from turnetl.llm.chat import ChatMessage, ChatRequest, ChatResponse
from turnetl.llm.limiter import LimitedModel, Limiter

MINUTE = 60.0


@dataclass
class Counting:
    """A provider that takes so much in any minute, on its own clock, and answers after a while."""

    requests: int | None = None
    tokens: int | None = None
    seconds: Callable[[], float] = lambda: 1.0
    travel: Callable[[], float] = lambda: 0.0
    """Seconds until a request is there."""
    name: str = "canned/m"
    taken: deque[tuple[float, int]] = field(default_factory=deque)
    arrived: list[tuple[float, str]] = field(default_factory=list)
    refused: int = 0
    concurrency: int = 0
    max_in_flight: int = 0

    async def complete(self, request: ChatRequest) -> ChatResponse:
        await asyncio.sleep(self.travel())
        self.concurrency += 1
        self.max_in_flight = max(self.max_in_flight, self.concurrency)
        try:
            return await self._answer(request)
        finally:
            self.concurrency -= 1

    async def _answer(self, request: ChatRequest) -> ChatResponse:
        now = virtual_clock.now()
        self.arrived.append((now, request.prompt_name))
        while self.taken and self.taken[0][0] <= now - MINUTE:
            self.taken.popleft()
        tokens = len(request.messages[0].text) // 4 + 50
        if self._is_over(tokens):
            self.refused += 1
            raise ModelBusy("too many", self.taken[0][0] + MINUTE - now)
        self.taken.append((now, tokens))
        await asyncio.sleep(self.seconds())
        return ChatResponse("{}", tokens - 50, 50, truncated=False)

    def _is_over(self, tokens: int) -> bool:
        if self.requests is not None and len(self.taken) >= self.requests:
            return True
        used = sum(taken for _, taken in self.taken)
        return self.tokens is not None and used + tokens > self.tokens

    async def close(self) -> None:
        pass


def request(name: object = "p", characters: int = 400) -> ChatRequest:
    return ChatRequest(str(name), (ChatMessage("user", "x" * characters),), None, 1000)


def limiter(
    requests: int | None = None, tokens: int | None = None, concurrency: int = 1000
) -> Limiter:
    return Limiter(requests, tokens, concurrency, clock=virtual_clock.now)


def sent(provider: Counting, limits: Callable[[], Limiter], calls: list[ChatRequest]) -> float:
    """Send all calls at once; return the seconds until the last answer."""

    async def main() -> float:
        model = LimitedModel(provider, limits())
        await asyncio.gather(*(model.complete(call) for call in calls), return_exceptions=True)
        return virtual_clock.now()

    return virtual_clock.run(main())


@pytest.mark.parametrize("requests", [1, 3, 10, 60, 500, 2000])
@pytest.mark.parametrize("seed", range(3))
def test_almost_the_whole_request_limit_is_used_and_never_exceeded(
    requests: int, seed: int
) -> None:
    dice = random.Random(seed)  # noqa: S311 - nothing is kept secret by it
    provider = Counting(
        requests,
        seconds=lambda: dice.uniform(0.1, 3.0),
        travel=lambda: dice.uniform(0.0, 0.5),
    )
    minutes = 6 if requests < 1000 else 3
    calls = [request() for _ in range(requests * minutes)]
    sent(provider, lambda: limiter(requests), calls)
    assert provider.refused == 0
    if requests > 1:
        first, last = provider.arrived[0][0], provider.arrived[-1][0]
        used = (len(calls) - 1) / ((last - first) / MINUTE) / requests
        assert used >= 0.95


def test_requests_are_spaced_evenly_after_a_first_burst() -> None:
    provider = Counting(600)
    sent(provider, lambda: limiter(600), [request() for _ in range(600)])
    for second in range(58):
        within = sum(second <= at < second + 1 for at, _ in provider.arrived)
        assert within <= (70 if second == 0 else 11)


def test_requests_catch_up_after_a_pause_within_the_limit() -> None:
    provider = Counting(60)

    async def main() -> None:
        model = LimitedModel(provider, limiter(60))
        await asyncio.gather(*(model.complete(request()) for _ in range(30)))
        await asyncio.sleep(200)
        began = virtual_clock.now()
        await asyncio.gather(*(model.complete(request()) for _ in range(6)))
        assert virtual_clock.now() - began == 1.0

    virtual_clock.run(main())
    assert provider.refused == 0


def test_almost_the_whole_token_limit_is_used_and_never_exceeded() -> None:
    dice = random.Random(1)  # noqa: S311 - as above
    provider = Counting(tokens=100_000, seconds=lambda: dice.uniform(0.1, 3.0))
    calls = [request(characters=dice.randint(400, 12_000)) for _ in range(400)]
    sent(provider, lambda: limiter(tokens=100_000, concurrency=8), calls)
    first, last = provider.arrived[0][0], provider.arrived[-1][0]
    used = sum(len(call.messages[0].text) // 4 + 50 for call in calls)
    assert used / ((last - first) / MINUTE) >= 90_000
    assert provider.refused == 0


def test_a_request_above_the_token_limit_waits_for_all_others_and_is_sent() -> None:
    provider = Counting()
    calls = [request("a"), request("big", 100_000), request("b")]
    seconds = sent(provider, lambda: limiter(tokens=10_000), calls)
    assert [name for _, name in provider.arrived] == ["a", "big", "b"]
    assert seconds < 3 * MINUTE


def test_the_concurrency_is_fully_used_and_never_exceeded() -> None:
    provider = Counting()
    seconds = sent(provider, lambda: limiter(concurrency=4), [request() for _ in range(20)])
    assert provider.max_in_flight == 4
    assert seconds == 5.0


@pytest.mark.parametrize("limits", [{"requests": 30}, {"tokens": 3_000}, {"concurrency": 2}])
def test_requests_are_admitted_in_order_of_arrival(limits: dict[str, int]) -> None:
    provider = Counting()
    sent(provider, lambda: limiter(**limits), [request(n) for n in range(50)])
    assert [name for _, name in provider.arrived] == [str(n) for n in range(50)]


def test_a_requested_wait_pauses_all_requests_to_that_model_and_no_others() -> None:
    provider, other = Counting(requests=2), Counting(name="canned/small")

    async def main() -> None:
        shared = limiter(concurrency=1)
        model, small = LimitedModel(provider, shared), LimitedModel(other, shared)
        calls = [model.complete(request(n)) for n in range(5)]
        calls += [small.complete(request(n)) for n in range(5)]
        done = await asyncio.gather(*calls, return_exceptions=True)
        assert [type(one) for one in done].count(ModelBusy) == 1

    virtual_clock.run(main())
    assert provider.refused == 1, "the others waited"
    assert len(provider.arrived) == 5
    assert other.arrived[-1][0] < MINUTE < provider.arrived[-1][0]


def test_during_a_pause_above_the_maximum_requests_fail_without_being_sent() -> None:
    provider = Counting(requests=0, taken=deque([(3600.0, 0)]))

    async def main() -> list[Any]:
        model = LimitedModel(provider, limiter(concurrency=1))
        calls = [model.complete(request(n)) for n in range(9)]
        return await asyncio.gather(*calls, return_exceptions=True)

    errors = virtual_clock.run(main())
    assert [type(error) for error in errors] == [ModelBusy] * 9
    assert {error.retry_after for error in errors} == {3660.0}
    assert provider.refused == 1


def test_no_further_request_is_sent_to_a_refused_model() -> None:
    class Refusing(Counting):
        async def _answer(self, request: ChatRequest) -> ChatResponse:
            self.arrived.append((0.0, request.prompt_name))
            raise ModelRefused("no credit")

    provider = Refusing()

    async def main() -> list[Any]:
        model = LimitedModel(provider, limiter(concurrency=1))
        calls = [model.complete(request(n)) for n in range(9)]
        return await asyncio.gather(*calls, return_exceptions=True)

    assert {str(error) for error in virtual_clock.run(main())} == {"no credit"}
    assert len(provider.arrived) == 1


@pytest.mark.parametrize("where", [0, 1, 2, 3, 7])
@pytest.mark.parametrize("limits", [{"requests": 10}, {"tokens": 1_500}, {"concurrency": 2}])
def test_a_cancelled_waiting_request_consumes_nothing(limits: dict[str, int], where: int) -> None:
    def served(cancelled: int | None) -> tuple[list[str], float]:
        provider = Counting()

        async def main() -> float:
            model = LimitedModel(provider, limiter(**limits))
            tasks = [asyncio.create_task(model.complete(request(n))) for n in range(30)]
            await asyncio.sleep(0.5)
            if cancelled is not None:
                tasks[15 + cancelled].cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            return virtual_clock.now()

        seconds = virtual_clock.run(main())
        return [name for _, name in provider.arrived], seconds

    names, seconds = served(where)
    all_names, all_seconds = served(None)
    assert names == [name for name in all_names if name != str(15 + where)]
    assert seconds <= all_seconds


def test_a_request_cancelled_in_flight_frees_its_slot() -> None:
    provider = Counting(seconds=lambda: math.inf if len(provider.arrived) == 1 else 1.0)

    async def main() -> None:
        model = LimitedModel(provider, limiter(concurrency=1))
        hung = asyncio.create_task(model.complete(request()))
        next_one = asyncio.create_task(model.complete(request()))
        await asyncio.sleep(5)
        hung.cancel()
        await next_one

    virtual_clock.run(main())
    assert len(provider.arrived) == 2


def test_token_estimates_adapt_to_reported_counts() -> None:
    """A provider whose tokens are shorter than thought: soon no request is one too many."""
    provider = Counting(tokens=20_000)
    calls = [request(characters=100) for _ in range(600)]
    sent(provider, lambda: limiter(tokens=20_000, concurrency=4), calls)
    assert provider.refused == 0
