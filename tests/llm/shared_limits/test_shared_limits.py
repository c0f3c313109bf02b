"""Several workers with shared limits, against a provider that counts, on a virtual clock."""

import asyncio
import logging
import random
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from tests.llm import virtual_clock
from tests.llm.shared_limits.workers import MINUTE, CountedProvider, Worker, until
from turnetl.base.errors import ModelBusy, ModelUnusable
from turnetl.llm.limiter import ProviderLimits
from turnetl.llm.shared_limits.store import Change, MemoryLimits

MINUTES = 5
ENDLESS = 10**9


class SlowStore(MemoryLimits):
    """A store on another machine; may fail."""

    def __init__(self, seconds: float = 0.003) -> None:
        super().__init__(virtual_clock.now)
        self.seconds = seconds
        self.error: Exception | None = None
        self.loses_response = False
        self.updates = 0

    async def update(self, name: str, change: Change) -> None:
        self.updates += 1
        await asyncio.sleep(self.seconds)
        if self.error is not None and not self.loses_response:
            raise self.error
        await super().update(name, change)
        await asyncio.sleep(self.seconds)
        if self.error is not None:
            raise self.error


@dataclass
class Fleet:
    """Workers over one store and one provider."""

    workers: list[Worker]
    store: SlowStore
    provider: CountedProvider


def fleet(count: int, limits: ProviderLimits, seconds: Callable[[], float] | None = None) -> Fleet:
    random_source = random.Random(count)
    provider = CountedProvider(seconds or (lambda: random_source.uniform(0.1, 3.0)))
    store = SlowStore()
    workers = [Worker(store, provider, f"worker{number}", limits) for number in range(count)]
    return Fleet(workers, store, provider)


def used(provider: CountedProvider) -> float:
    """Return the requests per minute after the first one."""
    return provider.between(MINUTE, MINUTES * MINUTE) / (MINUTES - 1)


@pytest.mark.full
@pytest.mark.parametrize(("count", "active"), [(1, 1), (2, 2), (2, 1), (4, 4), (12, 12)])
@pytest.mark.parametrize("per_minute", [1, 10, 60, 600])
def test_almost_all_requests_per_minute_are_used_and_never_more(
    count: int, active: int, per_minute: int
) -> None:
    workers = fleet(count, ProviderLimits(per_minute, None, 100))
    work = [worker.work(ENDLESS) for worker in workers.workers[:active]]
    virtual_clock.run(until(MINUTES * MINUTE, *work))
    assert workers.provider.most_requests() <= per_minute
    assert used(workers.provider) >= 0.95 * per_minute


@pytest.mark.full
@pytest.mark.parametrize(("count", "active"), [(2, 2), (2, 1), (4, 4)])
def test_almost_all_tokens_per_minute_are_used_and_never_more(count: int, active: int) -> None:
    workers = fleet(count, ProviderLimits(None, 100_000, 100))
    work = [worker.work(ENDLESS, characters=4_000) for worker in workers.workers[:active]]
    virtual_clock.run(until(MINUTES * MINUTE, *work))
    assert workers.provider.most_tokens() <= 100_000
    assert used(workers.provider) * 1_050 >= 95_000


@pytest.mark.full
@pytest.mark.parametrize("concurrency", [1, 3, 8])
@pytest.mark.parametrize(("count", "active"), [(2, 2), (2, 1), (4, 4)])
def test_almost_all_slots_are_used_and_never_more(
    count: int, active: int, concurrency: int
) -> None:
    workers = fleet(count, ProviderLimits(None, None, concurrency), lambda: 1.0)
    work = [worker.work(ENDLESS) for worker in workers.workers[:active]]
    virtual_clock.run(until(MINUTES * MINUTE, *work))
    assert workers.provider.most_in_flight == concurrency
    assert used(workers.provider) >= 0.9 * 60 * concurrency


@pytest.mark.full
@pytest.mark.parametrize(
    "limits", [ProviderLimits(60, None, 100), ProviderLimits(None, None, 4)], ids=["rate", "slots"]
)
def test_workers_that_want_the_same_get_about_the_same(limits: ProviderLimits) -> None:
    workers = fleet(4, limits)
    virtual_clock.run(until(MINUTES * MINUTE, *(one.work(ENDLESS) for one in workers.workers)))
    sent = [worker.sent for worker in workers.workers]
    assert min(sent) >= 0.7 * max(sent)


def test_two_workers_take_turns_at_one_request_per_minute() -> None:
    workers = fleet(2, ProviderLimits(1, None, 8))
    virtual_clock.run(until(12 * MINUTE, *(one.work(ENDLESS) for one in workers.workers)))
    assert workers.provider.most_requests() == 1
    assert min(worker.sent for worker in workers.workers) >= 3


def test_what_a_worker_returns_another_one_uses_at_once() -> None:
    workers = fleet(2, ProviderLimits(600, None, 8))

    async def main() -> None:
        first, second = workers.workers
        await first.work(30)
        await first.limits.close()
        begin = virtual_clock.now()
        await second.work(30, at_once=8)
        assert virtual_clock.now() - begin < 60

    virtual_clock.run(main())
    assert workers.provider.most_in_flight == 8


@pytest.mark.parametrize("concurrency", [1, 8])
def test_the_capacity_of_a_killed_worker_expires(concurrency: int) -> None:
    workers = fleet(2, ProviderLimits(60, None, concurrency))
    killed, other = workers.workers

    async def main() -> None:
        work = asyncio.ensure_future(killed.work(ENDLESS))
        await asyncio.sleep(30)
        # Its requests and its exchanges end, and it returns nothing.
        work.cancel()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()
        await asyncio.sleep(3 * MINUTE)
        begin = virtual_clock.now()
        await until(MINUTE, other.work(ENDLESS))
        assert workers.provider.between(begin, begin + MINUTE) >= 25 * min(concurrency, 2)

    virtual_clock.run(main())
    assert workers.provider.most_requests() <= 60
    assert workers.provider.most_in_flight <= concurrency


@pytest.mark.parametrize("loses_response", [False, True])
def test_nothing_is_sent_while_the_store_fails_and_all_of_it_after(loses_response: bool) -> None:
    workers = fleet(1, ProviderLimits(60, None, 8), lambda: 0.5)
    (worker,) = workers.workers

    async def main() -> None:
        await worker.work(5)
        workers.store.error = ModelBusy("no answer")
        workers.store.loses_response = loses_response
        with pytest.raises(ModelBusy, match="no answer"):
            await worker.work(ENDLESS)
        begin = virtual_clock.now()
        for _ in range(5):
            with pytest.raises(ModelBusy):
                await worker.work(1)
            await asyncio.sleep(2)
        assert workers.provider.between(begin, begin + 10) == 0
        workers.store.error = None
        await worker.work(5)

    virtual_clock.run(main())
    assert workers.provider.most_requests() <= 60


def test_a_store_that_cannot_be_used_ends_the_requests_with_its_reason() -> None:
    workers = fleet(1, ProviderLimits(60, None, 8))
    workers.store.error = ModelUnusable("wrong password")
    with pytest.raises(ModelUnusable, match="wrong password"):
        virtual_clock.run(workers.workers[0].work(1))


@pytest.mark.parametrize("content", [b"", b"{", b'{"version":2}', b'{"members":{"a":[]}}'])
def test_a_state_of_another_version_is_rejected_with_what_to_do(content: bytes) -> None:
    workers = fleet(1, ProviderLimits(60, None, 8))

    async def main() -> None:
        await workers.store.update("name", lambda _, __: content)
        await workers.workers[0].work(1)

    with pytest.raises(ModelUnusable, match="end all runs that use it, move it away"):
        virtual_clock.run(main())


def test_limits_that_differ_are_named_once_and_the_lower_one_holds(
    caplog: pytest.LogCaptureFixture,
) -> None:
    workers = fleet(1, ProviderLimits(600, None, 8))
    low = Worker(workers.store, workers.provider, "low", ProviderLimits(30, None, 8))

    async def main() -> None:
        await until(MINUTES * MINUTE, low.work(ENDLESS), workers.workers[0].work(ENDLESS))

    with caplog.at_level(logging.WARNING):
        virtual_clock.run(main())
    assert workers.provider.most_requests() <= 30
    (record,) = caplog.records
    assert "llm.requests_per_minute 30 instead of 600; set the same" in record.getMessage()


def test_an_idle_worker_asks_the_store_for_nothing() -> None:
    workers = fleet(1, ProviderLimits(600, None, 8))

    async def main() -> None:
        await workers.workers[0].work(10)
        await asyncio.sleep(10)
        updates = workers.store.updates
        await asyncio.sleep(3600)
        assert workers.store.updates == updates
        await workers.workers[0].work(10)

    virtual_clock.run(main())


def test_a_worker_with_enough_capacity_exchanges_once_a_second() -> None:
    workers = fleet(1, ProviderLimits(100_000, None, 8), lambda: 0.1)
    virtual_clock.run(until(MINUTE, workers.workers[0].work(ENDLESS, at_once=8)))
    assert workers.provider.between(0, MINUTE) >= 8 * 10 * 60 * 0.95
    assert workers.store.updates <= 80


def test_a_request_that_is_cancelled_while_it_waits_consumes_nothing() -> None:
    workers = fleet(1, ProviderLimits(2, None, 8))

    async def main() -> None:
        (worker,) = workers.workers
        await worker.work(2)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(worker.work(1), 10)
        await asyncio.sleep(MINUTE)
        begin = virtual_clock.now()
        await worker.work(2, at_once=1)
        assert virtual_clock.now() - begin < MINUTE

    virtual_clock.run(main())
