"""Limits of requests, tokens and concurrency, against a provider that enforces them."""

import asyncio
import itertools
import math
import random
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import pytest

from tests.llm import virtual_clock
from turnetl.base.errors import ModelBusy, ModelUnusable
from turnetl.llm.chat import ChatMessage, ChatRequest, ChatResponse
from turnetl.llm.costs import Account, charged_to
from turnetl.llm.limiter import AdmissionLimits, LimitedModel, Limiter, ProviderLimits
from turnetl.llm.shared_limits import SharedLimits, own_limits
from turnetl.llm.shared_limits.store import SqliteLimits

MINUTE = 60.0


@dataclass
class CountingProvider:
    """A provider with a limit per minute, its own clock and a latency."""

    requests: int | None = None
    tokens: int | None = None
    seconds: Callable[[], float] = lambda: 1.0
    latency: Callable[[], float] = lambda: 0.0
    """Seconds until a request arrives."""
    name: str = "canned/m"
    window: deque[tuple[float, int]] = field(default_factory=deque)
    arrived: list[tuple[float, str]] = field(default_factory=list)
    rejected: int = 0
    concurrency: int = 0
    max_in_flight: int = 0

    async def complete(self, request: ChatRequest) -> ChatResponse:
        await asyncio.sleep(self.latency())
        self.concurrency += 1
        self.max_in_flight = max(self.max_in_flight, self.concurrency)
        try:
            return await self._respond(request)
        finally:
            self.concurrency -= 1

    async def _respond(self, request: ChatRequest) -> ChatResponse:
        now = virtual_clock.now()
        self.arrived.append((now, request.prompt_name))
        while self.window and self.window[0][0] <= now - MINUTE:
            self.window.popleft()
        tokens = len(request.messages[0].text) // 4 + 50
        if self._is_over(tokens):
            self.rejected += 1
            raise ModelBusy("too many", self.window[0][0] + MINUTE - now)
        self.window.append((now, tokens))
        await asyncio.sleep(self.seconds())
        return ChatResponse("{}", tokens - 50, 50, truncated=False)

    def _is_over(self, tokens: int) -> bool:
        if self.requests is not None and len(self.window) >= self.requests:
            return True
        if self.tokens is None:
            return False
        return sum(used for _, used in self.window) + tokens > self.tokens

    async def close(self) -> None:
        pass


def chat_request(name: object = "p", characters: int = 400) -> ChatRequest:
    return ChatRequest(str(name), (ChatMessage("user", "x" * characters),), None, 1000)


class MakeLimiter(Protocol):
    """Returns a limiter over limits of one implementation, on the virtual clock."""

    def __call__(
        self, requests: int | None = None, tokens: int | None = None, concurrency: int = 1000
    ) -> Limiter: ...


@pytest.fixture(params=["own", "shared"])
def limiter(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MakeLimiter]:
    files: list[SqliteLimits] = []

    def make(
        requests: int | None = None, tokens: int | None = None, concurrency: int = 1000
    ) -> Limiter:
        limits = ProviderLimits(requests, tokens, concurrency)
        return Limiter(of(limits), clock=virtual_clock.now)

    def of(limits: ProviderLimits) -> AdmissionLimits:
        if request.param == "own":
            return own_limits(limits, request_seconds=120, clock=virtual_clock.now)
        files.append(SqliteLimits(tmp_path / "limits.sqlite", clock=virtual_clock.now))
        return SharedLimits(
            files[-1],
            "name",
            limits,
            owner="this",
            request_seconds=120,
            clock=virtual_clock.now,
        )

    yield make
    for file in files:
        virtual_clock.run(file.close())


def send(
    provider: CountingProvider, limits: Callable[[], Limiter], requests: list[ChatRequest]
) -> float:
    """Send all requests concurrently; return the seconds until the last response."""

    async def main() -> float:
        model = LimitedModel(provider, limits())
        await asyncio.gather(*(model.complete(call) for call in requests), return_exceptions=True)
        return virtual_clock.now()

    return virtual_clock.run(main())


LOW_RATES, HIGH_RATES = (1, 3, 10, 60), (500, 2000)
"""Requests per minute. A case with a high rate sends thousands of requests."""


@pytest.mark.parametrize(
    ("per_minute", "seed"),
    [
        *itertools.product(LOW_RATES, (0,)),
        *(
            pytest.param(rate, seed, marks=pytest.mark.full)
            for rates, seeds in (
                (LOW_RATES, (1, 2)),
                (HIGH_RATES[:1], range(3)),
                (HIGH_RATES[1:], (0,)),
            )
            for rate, seed in itertools.product(rates, seeds)
        ),
    ],
)
def test_almost_the_whole_request_limit_is_used_and_never_exceeded(
    limiter: MakeLimiter, per_minute: int, seed: int
) -> None:
    random_source = random.Random(seed)
    provider = CountingProvider(
        per_minute,
        seconds=lambda: random_source.uniform(0.1, 3.0),
        latency=lambda: random_source.uniform(0.0, 0.5),
    )
    minutes = 6 if per_minute in LOW_RATES else 3
    requests = [chat_request() for _ in range(per_minute * minutes)]
    send(provider, lambda: limiter(per_minute), requests)
    assert provider.rejected == 0
    if per_minute > 1:
        first, last = provider.arrived[0][0], provider.arrived[-1][0]
        used = (len(requests) - 1) / ((last - first) / MINUTE) / per_minute
        assert used >= 0.95


def test_requests_are_spaced_evenly_after_a_first_burst(limiter: MakeLimiter) -> None:
    provider = CountingProvider(600)
    send(provider, lambda: limiter(600), [chat_request() for _ in range(600)])
    for second in range(58):
        in_second = sum(second <= time < second + 1 for time, _ in provider.arrived)
        assert in_second <= (70 if second == 0 else 11)


def test_requests_catch_up_after_a_pause_within_the_limit(limiter: MakeLimiter) -> None:
    provider = CountingProvider(60)

    async def main() -> None:
        model = LimitedModel(provider, limiter(60))
        await asyncio.gather(*(model.complete(chat_request()) for _ in range(30)))
        await asyncio.sleep(200)
        started = virtual_clock.now()
        await asyncio.gather(*(model.complete(chat_request()) for _ in range(6)))
        assert virtual_clock.now() - started == 1.0

    virtual_clock.run(main())
    assert provider.rejected == 0


@pytest.mark.full
def test_almost_the_whole_token_limit_is_used_and_never_exceeded(limiter: MakeLimiter) -> None:
    random_source = random.Random(1)
    provider = CountingProvider(tokens=100_000, seconds=lambda: random_source.uniform(0.1, 3.0))
    requests = [chat_request(characters=random_source.randint(400, 12_000)) for _ in range(400)]
    send(provider, lambda: limiter(tokens=100_000, concurrency=8), requests)
    first, last = provider.arrived[0][0], provider.arrived[-1][0]
    used = sum(len(call.messages[0].text) // 4 + 50 for call in requests)
    assert used / ((last - first) / MINUTE) >= 90_000
    assert provider.rejected == 0


def test_a_request_above_the_token_limit_waits_for_all_others_and_is_sent(
    limiter: MakeLimiter,
) -> None:
    provider = CountingProvider()
    requests = [chat_request("a"), chat_request("big", 100_000), chat_request("b")]
    seconds = send(provider, lambda: limiter(tokens=10_000), requests)
    assert [name for _, name in provider.arrived] == ["a", "big", "b"]
    assert seconds < 3 * MINUTE


def test_the_concurrency_is_fully_used_and_never_exceeded(limiter: MakeLimiter) -> None:
    provider = CountingProvider()
    seconds = send(provider, lambda: limiter(concurrency=4), [chat_request() for _ in range(20)])
    assert provider.max_in_flight == 4
    assert seconds == 5.0


@pytest.mark.parametrize("limits", [{"requests": 30}, {"tokens": 3_000}, {"concurrency": 2}])
def test_requests_are_admitted_in_order_of_arrival(
    limiter: MakeLimiter, limits: dict[str, int]
) -> None:
    provider = CountingProvider()
    send(provider, lambda: limiter(**limits), [chat_request(n) for n in range(50)])
    assert [name for _, name in provider.arrived] == [str(n) for n in range(50)]


@pytest.mark.parametrize("limits", [{"concurrency": 1}, {"requests": 10, "concurrency": 1}])
def test_requests_of_earlier_turns_go_first_also_if_they_move_up_while_they_wait(
    limiter: MakeLimiter, limits: dict[str, int]
) -> None:
    provider = CountingProvider()

    async def main() -> None:
        model = LimitedModel(provider, limiter(**limits))
        accounts = [Account(lambda _: None) for _ in range(12)]
        tasks = []
        for number, account in enumerate(accounts):
            account.place = 12 - number
            with charged_to(account):
                tasks.append(asyncio.create_task(model.complete(chat_request(number))))
        await asyncio.sleep(0.5)
        accounts[5].place = 0
        await asyncio.gather(*tasks)

    virtual_clock.run(main())
    # The first is sent immediately, and the second is the next one by the time it is chosen.
    names = [int(name) for _, name in provider.arrived]
    assert names[:1] == [0]
    rest = [name for name in names[2:] if name != 5]
    assert rest == sorted(rest, reverse=True)
    assert 5 in names[1:3]


def test_a_requested_wait_pauses_all_requests_to_that_model_and_no_others(
    limiter: MakeLimiter,
) -> None:
    provider, other = CountingProvider(requests=2), CountingProvider(name="canned/small")

    async def main() -> None:
        shared = limiter(concurrency=1)
        model, small = LimitedModel(provider, shared), LimitedModel(other, shared)
        requests = [model.complete(chat_request(n)) for n in range(4)]
        requests += [small.complete(chat_request(n)) for n in range(5)]
        done = await asyncio.gather(*requests, return_exceptions=True)
        assert [type(result) for result in done].count(ModelBusy) == 1

    virtual_clock.run(main())
    assert provider.rejected == 1, "the last one waited"
    assert len(provider.arrived) == 4
    assert other.arrived[-1][0] < MINUTE <= provider.arrived[-1][0]


def test_during_a_pause_above_the_maximum_requests_fail_without_being_sent(
    limiter: MakeLimiter,
) -> None:
    provider = CountingProvider(requests=0, window=deque([(3600.0, 0)]))

    async def main() -> list[Any]:
        model = LimitedModel(provider, limiter(concurrency=1))
        requests = [model.complete(chat_request(n)) for n in range(9)]
        return await asyncio.gather(*requests, return_exceptions=True)

    errors = virtual_clock.run(main())
    assert [type(error) for error in errors] == [ModelBusy] * 9
    assert {error.retry_after for error in errors} == {3660.0}
    assert provider.rejected == 1


def test_no_further_request_is_sent_to_a_blocked_model(limiter: MakeLimiter) -> None:
    class RefusingProvider(CountingProvider):
        async def _respond(self, request: ChatRequest) -> ChatResponse:
            self.arrived.append((0.0, request.prompt_name))
            raise ModelUnusable("no credit")

    provider = RefusingProvider()

    async def main() -> list[Any]:
        model = LimitedModel(provider, limiter(concurrency=1))
        requests = [model.complete(chat_request(n)) for n in range(9)]
        return await asyncio.gather(*requests, return_exceptions=True)

    assert {str(error) for error in virtual_clock.run(main())} == {"no credit"}
    assert len(provider.arrived) == 1


@pytest.mark.full
@pytest.mark.parametrize("position", [0, 1, 2, 3, 7])
@pytest.mark.parametrize("limits", [{"requests": 10}, {"tokens": 1_500}, {"concurrency": 2}])
def test_a_cancelled_waiting_request_consumes_nothing(
    limiter: MakeLimiter, limits: dict[str, int], position: int
) -> None:
    def arrivals(cancelled: int | None) -> tuple[list[str], float]:
        provider = CountingProvider()

        async def main() -> float:
            model = LimitedModel(provider, limiter(**limits))
            tasks = [asyncio.create_task(model.complete(chat_request(n))) for n in range(30)]
            await asyncio.sleep(0.5)
            if cancelled is not None:
                tasks[15 + cancelled].cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            return virtual_clock.now()

        seconds = virtual_clock.run(main())
        return [name for _, name in provider.arrived], seconds

    names, seconds = arrivals(position)
    all_names, all_seconds = arrivals(None)
    assert names == [name for name in all_names if name != str(15 + position)]
    assert seconds <= all_seconds


def test_a_request_cancelled_in_flight_frees_its_slot(limiter: MakeLimiter) -> None:
    provider = CountingProvider(seconds=lambda: math.inf if len(provider.arrived) == 1 else 1.0)

    async def main() -> None:
        model = LimitedModel(provider, limiter(concurrency=1))
        hanging = asyncio.create_task(model.complete(chat_request()))
        following = asyncio.create_task(model.complete(chat_request()))
        await asyncio.sleep(5)
        hanging.cancel()
        await following

    virtual_clock.run(main())
    assert len(provider.arrived) == 2


def test_token_estimates_adapt_to_reported_counts(limiter: MakeLimiter) -> None:
    """The provider counts more tokens than estimated; the estimate adapts before the limit."""
    provider = CountingProvider(tokens=20_000)
    requests = [chat_request(characters=100) for _ in range(600)]
    send(provider, lambda: limiter(tokens=20_000, concurrency=4), requests)
    assert provider.rejected == 0
