"""All that stands around a call, together: over real HTTP, or on a clock that takes no time."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from tests.llm import virtual_clock
from tests.llm.test_providers import ASKED
from tests.servers.provider import KEY, CannedResponse, FakeProvider, Fault
from turnetl import clock
from turnetl.errors import BadTurn, Exhausted, ModelBusy, TooLong
from turnetl.llm.budget import Budget
from turnetl.llm.chat import ChatMessage, ChatModel, ChatRequest, ChatResponse
from turnetl.llm.cost_bounds import worst_case
from turnetl.llm.journal import Journal
from turnetl.llm.limiter import Limiter
from turnetl.llm.meter import Meter
from turnetl.llm.prices import Price, Prices
from turnetl.llm.providers.registry import PROVIDERS, open_model
from turnetl.llm.retry import RetryPolicy
from turnetl.llm.stack import ModelStack, wrap

PRICES = Prices(({"*": Price(input=1.0, cached_input=0.1, output=4.0)},))
PATIENT = RetryPolicy(attempts=3, first_wait=0, max_responses=3)


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    with closing(Journal(tmp_path / "journal.sqlite", clock=clock.now)) as opened:
        yield opened


def shared(journal: Journal, tokens: int | None = None) -> ModelStack:
    meter = Meter(PRICES)
    budget = Budget(tokens, None, meter, PRICES)
    return ModelStack(journal, budget, PATIENT, Limiter(None, None, 4), meter)


@asynccontextmanager
async def opened(
    provider: FakeProvider, around: ModelStack, name: str = "openai"
) -> AsyncIterator[ChatModel]:
    base = open_model(name, model="canned", base_url=provider.base_url(name), api_key=KEY)
    model = wrap(base, around)
    try:
        yield model
    finally:
        await model.close()


@pytest.mark.parametrize("name", PROVIDERS)
async def test_every_attempt_is_metered_and_only_a_valid_response_is_stored(
    provider: FakeProvider, journal: Journal, name: str
) -> None:
    provider.faults = [Fault(503), Fault(delivery="dropped")]
    provider.responses = ["Sure!", CannedResponse("I will not.", "refused")]
    around = shared(journal)
    async with opened(provider, around, name) as model:
        answer = await model.complete(ASKED)
        again = await model.complete(ASKED)
    assert len(provider.requests) == 5
    assert around.meter is not None
    assert around.meter.total.calls == 5
    assert answer.calls == 3, "those that were answered"
    assert answer.prompt_tokens == around.meter.total.prompt_tokens == 300
    assert answer.cost == around.meter.total.cost
    assert (again.text, again.from_journal) == (answer.text, True)


@pytest.mark.parametrize("name", PROVIDERS)
async def test_invalid_responses_are_never_stored(
    provider: FakeProvider, journal: Journal, name: str
) -> None:
    provider.responses = ["no", '{"edges": 1}', CannedResponse("I will not.", "refused")]
    async with opened(provider, shared(journal), name) as model:
        with pytest.raises(BadTurn, match="3 times"):
            await model.complete(ASKED)
        assert not (await model.complete(ASKED)).from_journal
    assert len(provider.requests) == 4


@pytest.mark.parametrize("name", PROVIDERS)
async def test_a_truncated_response_is_too_long_and_paid_for_once(
    provider: FakeProvider, journal: Journal, name: str
) -> None:
    provider.responses = [CannedResponse('{"edges": [', "truncated")]
    async with opened(provider, shared(journal), name) as model:
        with pytest.raises(TooLong) as long:
            await model.complete(ASKED)
        with pytest.raises(TooLong, match="according to the journal") as again:
            await model.complete(ASKED)
    assert len(provider.requests) == 1
    assert long.value.usage.completion_tokens == 10
    assert long.value.usage.cost
    assert again.value.usage == long.value.usage


async def test_a_request_that_is_too_long_costs_nothing_and_is_not_stored(
    provider: FakeProvider, journal: Journal
) -> None:
    provider.faults = [Fault(400, '{"error": {"code": "context_length_exceeded"}}')]
    async with opened(provider, shared(journal)) as model:
        with pytest.raises(TooLong):
            await model.complete(ASKED)
        assert not (await model.complete(ASKED)).from_journal


async def test_a_budget_is_reserved_for_cache_misses_only(
    provider: FakeProvider, journal: Journal
) -> None:
    async with opened(provider, shared(journal)) as model:
        await model.complete(ASKED)
    async with opened(provider, shared(journal, tokens=1)) as model:
        assert (await model.complete(ASKED)).from_journal
        with pytest.raises(Exhausted):
            await model.complete(replace(ASKED, max_tokens=999))
    assert len(provider.requests) == 1


async def test_invalid_responses_never_exceed_the_budget(
    provider: FakeProvider, journal: Journal
) -> None:
    most = worst_case(ASKED, None).tokens
    around = shared(journal, tokens=most)
    provider.responses = [CannedResponse("no", prompt_tokens=700, completion_tokens=900)] * 3
    async with opened(provider, around) as model:
        with pytest.raises(BadTurn):
            await model.complete(ASKED)
    assert around.meter is not None
    used = around.meter.total
    assert used.prompt_tokens + used.completion_tokens <= most


async def test_retries_are_metered_even_if_all_fail(
    provider: FakeProvider, journal: Journal
) -> None:
    provider.faults = [Fault(503)] * 3
    around = shared(journal)
    async with opened(provider, around) as model:
        with pytest.raises(ModelBusy):
            await model.complete(ASKED)
    assert around.meter is not None
    assert around.meter.by_prompt()[ASKED.prompt_name].calls == 3


@dataclass
class Slow:
    """Answers after two seconds; a request called `busy` is refused the first time."""

    name: str = "canned/m"
    asked: list[tuple[float, str]] = field(default_factory=list)

    async def complete(self, request: ChatRequest) -> ChatResponse:
        first = request.prompt_name not in [prompt for _, prompt in self.asked]
        self.asked.append((virtual_clock.now(), request.prompt_name))
        if request.prompt_name == "busy" and first:
            raise ModelBusy("busy")
        await asyncio.sleep(2)
        return ChatResponse("{}", 100, 10, truncated=False)

    async def close(self) -> None:
        pass


def asked(prompts: list[str], patience: RetryPolicy) -> tuple[Slow, list[ChatResponse]]:
    """Ask all at once, one in flight."""
    slow = Slow()

    async def main() -> list[ChatResponse]:
        limiter = Limiter(None, None, 1, clock=virtual_clock.now)
        meter = Meter(PRICES, clock=virtual_clock.now)
        model = wrap(slow, ModelStack(None, None, patience, limiter, meter))
        requests = [ChatRequest(prompt, (), None, 1000) for prompt in prompts]
        return await asyncio.gather(*map(model.complete, requests))

    return slow, virtual_clock.run(main())


@dataclass
class Fickle:
    """To each request it is busy, then says something else, then answers; always after a while."""

    name: str = "canned/m"
    asked: Counter[str] = field(default_factory=Counter)
    answered: Counter[str] = field(default_factory=Counter)
    gate: asyncio.Event | None = None
    """Answers wait for it."""
    waiting: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once one does."""

    async def complete(self, request: ChatRequest) -> ChatResponse:
        self.asked[request.prompt_name] += 1
        for _ in range(3):
            await asyncio.sleep(0)
        if self.gate is not None:
            self.waiting.set()
            await self.gate.wait()
        match self.asked[request.prompt_name]:
            case 1:
                raise ModelBusy("busy")
            case 2:
                return ChatResponse("Sure!", 100, 10, truncated=False)
        self.answered[request.prompt_name] += 1
        return ChatResponse("{}", 100, 10, truncated=False)

    async def close(self) -> None:
        pass


def told(name: str) -> ChatRequest:
    return ChatRequest(name, (ChatMessage("user", name),), None, 100)


def one_at_a_time(journal: Journal) -> ModelStack:
    """A budget that bears one call at a time, and as many as there are one after the other."""
    meter = Meter(PRICES)
    budget = Budget(worst_case(told("a"), None).tokens + 1_000, None, meter, PRICES)
    return ModelStack(journal, budget, PATIENT, Limiter(10_000, None, 1), meter)


@pytest.mark.parametrize("step", range(40))
async def test_a_call_cancelled_at_any_step_holds_no_slot_and_is_paid_for_once(
    journal: Journal, step: int
) -> None:
    fickle, around = Fickle(), one_at_a_time(journal)
    model = wrap(fickle, around)
    await model.complete(told("to open the journal"))
    before = asyncio.all_tasks()
    one, two = (asyncio.create_task(model.complete(told(name))) for name in "ab")
    for _ in range(step):
        await asyncio.sleep(0)
    one.cancel()
    async with asyncio.timeout(60):
        await two
        await model.close()
    assert asyncio.all_tasks() == before
    again = wrap(fickle, around)
    assert (await again.complete(told("b"))).from_journal
    await again.complete(told("a"))
    assert fickle.answered == {"to open the journal": 1, "a": 1, "b": 1}


@pytest.mark.parametrize("step", range(0, 60, 3))
async def test_a_run_that_ends_at_any_step_leaves_no_open_call_and_pays_once(
    journal: Journal, step: int
) -> None:
    fickle, around = Fickle(), one_at_a_time(journal)
    model = wrap(fickle, around)
    before = asyncio.all_tasks()
    askers = [asyncio.create_task(model.complete(told(name))) for name in "abc"]
    for _ in range(step):
        await asyncio.sleep(0)
    for asker in askers:
        asker.cancel()
    await asyncio.gather(*askers, return_exceptions=True)
    await model.close()
    assert asyncio.all_tasks() == before
    again = wrap(fickle, around)
    for name in "abc":
        await again.complete(told(name))
    assert fickle.answered == {"a": 1, "b": 1, "c": 1}


async def test_a_queued_request_is_never_sent_after_the_end_of_a_run(journal: Journal) -> None:
    fickle = Fickle(asked=Counter(abc=2), gate=asyncio.Event())
    model = wrap(fickle, one_at_a_time(journal))
    askers = [asyncio.create_task(model.complete(told(name))) for name in ("abc", "b", "c")]
    await fickle.waiting.wait()
    for asker in askers:
        asker.cancel()
    closing_it = asyncio.create_task(model.close())
    await asyncio.sleep(0.01)
    assert fickle.gate is not None
    fickle.gate.set()
    await closing_it
    assert fickle.asked == {"abc": 3}
    assert (await wrap(fickle, one_at_a_time(journal)).complete(told("abc"))).from_journal


def test_the_seconds_of_a_response_exclude_the_wait_for_a_slot() -> None:
    _, answers = asked(["a", "b", "c"], PATIENT)
    assert [answer.seconds for answer in answers] == [2, 2, 2]


def test_a_call_that_waits_for_a_retry_holds_no_slot() -> None:
    slow, _ = asked(["busy", "a", "b"], RetryPolicy(first_wait=30))
    assert [prompt for _, prompt in slow.asked] == ["busy", "a", "b", "busy"]
    assert slow.asked[2][0] == 2
