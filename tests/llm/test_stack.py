"""All wrappers of a model together: over real HTTP, or on a virtual clock."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from tests.fakes.models import FakeModel
from tests.llm import virtual_clock
from tests.llm.test_providers import REQUEST
from tests.servers.provider import KEY, CannedResponse, FakeProvider, Fault
from turnetl.base import clock
from turnetl.base.errors import BadTurn, ModelBusy, RunStopped, TooLong
from turnetl.llm.budget import Budget
from turnetl.llm.chat import ChatMessage, ChatModel, ChatRequest, ChatResponse
from turnetl.llm.costs import worst_case
from turnetl.llm.journal import Journal
from turnetl.llm.limiter import Limiter, Slots
from turnetl.llm.meter import Meter
from turnetl.llm.prices import Price, Prices
from turnetl.llm.providers.registry import PROVIDERS, open_model
from turnetl.llm.retry import RetryPolicy
from turnetl.llm.stack import ModelStack, wrap

PRICES = Prices(({"*": Price(input=1.0, cached_input=0.1, output=4.0)},))
RETRY_POLICY = RetryPolicy(attempts=3, first_wait=0, max_responses=3)


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    with closing(Journal(tmp_path / "journal.sqlite", clock=clock.now)) as open_wrapped:
        yield open_wrapped


def model_stack(journal: Journal, tokens: int | None = None) -> ModelStack:
    meter = Meter(PRICES)
    budget = Budget(tokens, None, meter, PRICES)
    return ModelStack(journal, budget, RETRY_POLICY, Limiter(Slots(4)), meter)


@asynccontextmanager
async def open_wrapped(
    provider: FakeProvider, stack: ModelStack, name: str = "openai"
) -> AsyncIterator[ChatModel]:
    base = open_model(name, model="canned", base_url=provider.base_url(name), api_key=KEY)
    model = wrap(base, stack)
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
    stack = model_stack(journal)
    async with open_wrapped(provider, stack, name) as model:
        response = await model.complete(REQUEST)
        repeated = await model.complete(REQUEST)
    assert len(provider.requests) == 5
    assert stack.meter is not None
    assert stack.meter.total.calls == 5
    assert response.calls == 3, "attempts with a response"
    assert response.prompt_tokens == stack.meter.total.prompt_tokens == 300
    assert response.cost == stack.meter.total.cost
    assert repeated.text == response.text


@pytest.mark.parametrize("name", PROVIDERS)
async def test_invalid_responses_are_never_stored(
    provider: FakeProvider, journal: Journal, name: str
) -> None:
    provider.responses = ["no", '{"edges": 1}', CannedResponse("I will not.", "refused")]
    async with open_wrapped(provider, model_stack(journal), name) as model:
        with pytest.raises(BadTurn, match="3 invalid responses"):
            await model.complete(REQUEST)
        await model.complete(REQUEST)
    assert len(provider.requests) == 4


@pytest.mark.parametrize("name", PROVIDERS)
async def test_a_truncated_response_is_too_long_and_paid_for_once(
    provider: FakeProvider, journal: Journal, name: str
) -> None:
    provider.responses = [CannedResponse('{"edges": [', "truncated")]
    async with open_wrapped(provider, model_stack(journal), name) as model:
        with pytest.raises(TooLong) as first_error:
            await model.complete(REQUEST)
        with pytest.raises(TooLong, match="according to the journal") as repeated:
            await model.complete(REQUEST)
    assert len(provider.requests) == 1
    assert first_error.value.usage.completion_tokens == 10
    assert first_error.value.usage.cost
    assert repeated.value.usage == first_error.value.usage


async def test_a_request_that_is_too_long_costs_nothing_and_is_not_stored(
    provider: FakeProvider, journal: Journal
) -> None:
    provider.faults = [Fault(400, '{"error": {"code": "context_length_exceeded"}}')]
    async with open_wrapped(provider, model_stack(journal)) as model:
        with pytest.raises(TooLong):
            await model.complete(REQUEST)
        await model.complete(REQUEST)
    assert len(provider.requests) == 2


async def test_a_budget_is_reserved_for_cache_misses_only(
    provider: FakeProvider, journal: Journal
) -> None:
    async with open_wrapped(provider, model_stack(journal)) as model:
        await model.complete(REQUEST)
    async with open_wrapped(provider, model_stack(journal, tokens=1)) as model:
        await model.complete(REQUEST)
        with pytest.raises(RunStopped):
            await model.complete(replace(REQUEST, max_tokens=999))
    assert len(provider.requests) == 1


async def test_invalid_responses_never_exceed_the_budget(
    provider: FakeProvider, journal: Journal
) -> None:
    bound = worst_case(REQUEST, None).amount.tokens + 1_700
    stack = model_stack(journal, tokens=int(bound))
    provider.responses = [CannedResponse("no", prompt_tokens=700, completion_tokens=900)] * 3
    async with open_wrapped(provider, stack) as model:
        with pytest.raises(BadTurn):
            await model.complete(REQUEST)
    assert stack.meter is not None
    usage = stack.meter.total
    assert 0 < usage.prompt_tokens + usage.completion_tokens <= bound


async def test_retries_are_metered_even_if_all_fail(
    provider: FakeProvider, journal: Journal
) -> None:
    provider.faults = [Fault(503)] * 3
    stack = model_stack(journal)
    async with open_wrapped(provider, stack) as model:
        with pytest.raises(ModelBusy):
            await model.complete(REQUEST)
    assert stack.meter is not None
    assert stack.meter.by_prompt()[REQUEST.prompt_name].calls == 3


async def respond_slowly(request: ChatRequest, attempt: int) -> ChatResponse:
    """Respond after two seconds; the first attempt of a prompt named `busy` fails."""
    if request.prompt_name == "busy" and attempt == 1:
        raise ModelBusy("busy")
    await asyncio.sleep(2)
    return ChatResponse("{}", 100, 10, truncated=False)


def send_all(
    prompt_names: list[str], retry_policy: RetryPolicy
) -> tuple[FakeModel, list[ChatResponse]]:
    """Send all requests, one in flight."""
    slow = FakeModel(lambda request: respond_slowly(request, attempts(slow)[request.prompt_name]))

    async def main() -> list[ChatResponse]:
        limiter = Limiter(
            Slots(1),
            clock=virtual_clock.now,
        )
        meter = Meter(PRICES, clock=virtual_clock.now)
        model = wrap(slow, ModelStack(None, None, retry_policy, limiter, meter))
        requests = [ChatRequest(prompt, (), None, 1000) for prompt in prompt_names]
        return await asyncio.gather(*map(model.complete, requests))

    return slow, virtual_clock.run(main())


def attempts(model: FakeModel) -> Counter[str]:
    """Return the requests so far, by the name of their prompt."""
    return Counter(request.prompt_name for request in model.requests)


@dataclass
class FlakyProvider:
    """Is busy at the first attempt of each request, then invalid, then valid; never immediately."""

    sent: Counter[str] = field(default_factory=Counter)
    completed: Counter[str] = field(default_factory=Counter)

    async def respond(self, request: ChatRequest) -> ChatResponse:
        self.sent[request.prompt_name] += 1
        for _ in range(3):
            await asyncio.sleep(0)
        match self.sent[request.prompt_name]:
            case 1:
                raise ModelBusy("busy")
            case 2:
                return ChatResponse("Sure!", 100, 10, truncated=False)
        self.completed[request.prompt_name] += 1
        return ChatResponse("{}", 100, 10, truncated=False)


def chat_request(name: str) -> ChatRequest:
    return ChatRequest(name, (ChatMessage("user", name),), None, 100)


def sequential_stack(journal: Journal) -> ModelStack:
    """A budget that covers any number of requests one after the other, but only one at a time."""
    meter = Meter(PRICES)
    budget = Budget(
        int(worst_case(chat_request("a"), None).amount.tokens) + 1_000, None, meter, PRICES
    )
    return ModelStack(journal, budget, RETRY_POLICY, Limiter(Slots(1)), meter)


@pytest.mark.parametrize("step", range(40))
async def test_a_call_cancelled_at_any_step_holds_no_slot_and_is_paid_for_once(
    journal: Journal, step: int
) -> None:
    flaky, stack = FlakyProvider(), sequential_stack(journal)
    base = FakeModel(flaky.respond)
    model = wrap(base, stack)
    await model.complete(chat_request("to open the journal"))
    before = asyncio.all_tasks()
    first_call, second_call = (
        asyncio.create_task(model.complete(chat_request(name))) for name in "ab"
    )
    for _ in range(step):
        await asyncio.sleep(0)
    first_call.cancel()
    async with asyncio.timeout(60):
        await second_call
        await model.close()
    assert asyncio.all_tasks() == before
    repeated = wrap(base, stack)
    await repeated.complete(chat_request("b"))
    await repeated.complete(chat_request("a"))
    assert flaky.completed == {"to open the journal": 1, "a": 1, "b": 1}


@pytest.mark.parametrize("step", range(0, 60, 3))
async def test_a_run_that_ends_at_any_step_leaves_no_open_call_and_pays_once(
    journal: Journal, step: int
) -> None:
    flaky, stack = FlakyProvider(), sequential_stack(journal)
    base = FakeModel(flaky.respond)
    model = wrap(base, stack)
    before = asyncio.all_tasks()
    callers = [asyncio.create_task(model.complete(chat_request(name))) for name in "abc"]
    for _ in range(step):
        await asyncio.sleep(0)
    for caller in callers:
        caller.cancel()
    await asyncio.gather(*callers, return_exceptions=True)
    await model.close()
    assert asyncio.all_tasks() == before
    repeated = wrap(base, stack)
    for name in "abc":
        await repeated.complete(chat_request(name))
    assert flaky.completed == {"a": 1, "b": 1, "c": 1}


async def test_a_queued_request_is_never_sent_after_the_end_of_a_run(journal: Journal) -> None:
    # The first request to a new journal opens it in a thread, which may reorder requests.
    await journal.check_writable()
    flaky, gate = FlakyProvider(sent=Counter(abc=2)), asyncio.Event()
    base = FakeModel(flaky.respond, gate=gate)
    model = wrap(base, sequential_stack(journal))
    callers = [
        asyncio.create_task(model.complete(chat_request(name))) for name in ("abc", "b", "c")
    ]
    await base.arrived.acquire()
    for caller in callers:
        caller.cancel()
    closing = asyncio.create_task(model.close())
    await asyncio.sleep(0.01)
    gate.set()
    await closing
    await wrap(base, sequential_stack(journal)).complete(chat_request("abc"))
    assert attempts(base) == {"abc": 1}


def test_the_seconds_of_a_response_exclude_the_wait_for_a_slot() -> None:
    _, responses = send_all(["a", "b", "c"], RETRY_POLICY)
    assert [response.seconds for response in responses] == [2, 2, 2]


def test_a_call_that_waits_for_a_retry_holds_no_slot() -> None:
    model, _ = send_all(["busy", "a", "b"], RetryPolicy(first_wait=30))
    assert [request.prompt_name for request in model.requests] == ["busy", "a", "b", "busy"]
    assert model.times[2] == 2
