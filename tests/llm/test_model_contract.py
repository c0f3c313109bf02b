"""The contract of the ChatModel port: every wrapper passes the same tests, over real HTTP.

A new implementation is added to `WRAPPERS`. What a wrapper does beyond this is in its own test.
"""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest
from graphiti_core.prompts.extract_edges import ExtractedEdges

from tests.fakes.models import scripted
from tests.servers.provider import KEY, FakeProvider, Fault
from turnetl.base import clock
from turnetl.base.errors import (
    BadTurn,
    JournalUnusable,
    ModelBusy,
    ModelUnusable,
    RunStopped,
    TooLong,
    TurnetlError,
)
from turnetl.base.model import Usage
from turnetl.extraction.llm.fact_batches import FactBatches
from turnetl.llm.budget import Budget, BudgetedModel
from turnetl.llm.chat import ChatMessage, ChatModel, ChatRequest, PromptRouter, response_schema
from turnetl.llm.journal import Journal, JournaledModel
from turnetl.llm.limiter import LimitedModel, Limiter, Slots
from turnetl.llm.meter import Meter, MeteredModel
from turnetl.llm.prices import Price, Prices
from turnetl.llm.providers.registry import open_model
from turnetl.llm.retry import RetryingModel, RetryPolicy
from turnetl.llm.stack import ModelStack, wrap

PRICES = Prices(({"*": Price(input=1.0, cached_input=0.1, output=4.0)},))
ONE_ATTEMPT = RetryPolicy(attempts=1, max_responses=1)
CONCURRENCY = 4


@dataclass
class SharedParts:
    """What the wrappers of one test are made of."""

    journal: Journal
    meter: Meter
    limiter: Limiter

    def budget(self) -> Budget:
        return Budget(1_000_000, None, self.meter, PRICES)


Wrapper = Callable[[ChatModel, SharedParts], ChatModel]


def whole_stack(model: ChatModel, parts: SharedParts) -> ChatModel:
    shared = ModelStack(parts.journal, parts.budget(), ONE_ATTEMPT, parts.limiter, parts.meter)
    return wrap(model, shared)


WRAPPERS: dict[str, Wrapper] = {
    "meter": lambda model, parts: MeteredModel(model, parts.meter),
    "limiter": lambda model, parts: LimitedModel(model, parts.limiter),
    "retry": lambda model, _: RetryingModel(model, ONE_ATTEMPT),
    "budget": lambda model, parts: BudgetedModel(model, parts.budget()),
    "journal": lambda model, parts: JournaledModel(model, parts.journal, grace_period=0),
    "router": lambda model, _: PromptRouter(model, {"extract_nodes": scripted([BadTurn("other")])}),
    "fact batches": lambda model, _: FactBatches(model),
    "whole stack": whole_stack,
}
BARE = {"http": "openai", "schema_in_prompt": "openai-compatible"}
"""Models without a wrapper: a provider that each is opened for."""
FAULTS: dict[type[TurnetlError], Fault] = {
    ModelBusy: Fault(503, '{"error": {"message": "overloaded"}}'),
    ModelUnusable: Fault(401, '{"error": {"message": "wrong key"}}'),
    BadTurn: Fault(422, '{"error": {"message": "harmful content"}}'),
    TooLong: Fault(400, '{"error": {"code": "context_length_exceeded"}}'),
}


@pytest.fixture
def parts(tmp_path: Path) -> Iterator[SharedParts]:
    with closing(Journal(tmp_path / "journal.sqlite", clock=clock.now)) as journal:
        yield SharedParts(journal, Meter(PRICES), Limiter(Slots(CONCURRENCY)))


@pytest.fixture(params=[*BARE, *WRAPPERS])
async def model(
    request: pytest.FixtureRequest, provider: FakeProvider, parts: SharedParts
) -> AsyncIterator[ChatModel]:
    name = BARE.get(request.param, "openai")
    base = open_model(name, model="canned", base_url=provider.base_url(name), api_key=KEY)
    opened = base if request.param in BARE else WRAPPERS[request.param](base, parts)
    yield opened
    await opened.close()


@pytest.fixture(params=WRAPPERS)
def wrapper(request: pytest.FixtureRequest, parts: SharedParts) -> Callable[[ChatModel], ChatModel]:
    return lambda model: WRAPPERS[request.param](model, parts)


def chat_request(name: str = "cart") -> ChatRequest:
    text = f"<CURRENT_MESSAGE>\n`{name}.py` uses `sqlite`.\n</CURRENT_MESSAGE>\n"
    return ChatRequest(
        "extract_edges.edge",
        (ChatMessage("system", "You extract facts."), ChatMessage("user", text)),
        response_schema(ExtractedEdges),
        1000,
    )


def fact_in(text: str) -> str:
    [edge] = ExtractedEdges.model_validate_json(text).edges
    return edge.fact


async def test_the_request_arrives_once_and_unchanged_and_its_response_is_returned(
    model: ChatModel, provider: FakeProvider
) -> None:
    response = await model.complete(chat_request())
    assert fact_in(response.text) == "cart.py uses sqlite"
    [received] = provider.requests
    assert received.messages == [
        (message.role, message.text) for message in chat_request().messages
    ]
    assert 1000 in received.body.values()


async def test_the_name_states_provider_and_model_and_does_not_change(model: ChatModel) -> None:
    before = model.name
    await model.complete(chat_request())
    assert before == model.name
    assert before.startswith("openai")
    assert "/canned" in before


async def test_the_usage_of_a_response_is_counted_once(
    model: ChatModel, parts: SharedParts
) -> None:
    usage = (await model.complete(chat_request())).usage
    assert (usage.calls, usage.prompt_tokens, usage.completion_tokens) == (1, 100, 10)
    assert parts.meter.total.calls in (0, 1), "1 if the implementation has a meter"


@pytest.mark.parametrize("error", FAULTS)
async def test_an_error_of_the_provider_keeps_its_class_and_its_message(
    model: ChatModel, provider: FakeProvider, error: type[TurnetlError]
) -> None:
    provider.faults = [FAULTS[error]]
    with pytest.raises(TurnetlError) as raised:
        await model.complete(chat_request())
    assert type(raised.value) is error
    assert "model `openai" in str(raised.value)
    assert len(provider.requests) == 1


async def test_the_model_is_usable_after_errors(model: ChatModel, provider: FakeProvider) -> None:
    for error in (ModelBusy, BadTurn, TooLong):
        provider.faults = [FAULTS[error]]
        with pytest.raises(error):
            await model.complete(chat_request())
    assert fact_in((await model.complete(chat_request())).text) == "cart.py uses sqlite"


@pytest.mark.parametrize(
    "error",
    [
        ModelUnusable("no key"),
        RunStopped("no money"),
        JournalUnusable("no disk"),
        BadTurn("no answer", Usage(calls=1, prompt_tokens=7)),
        TooLong("no room", Usage(calls=1, prompt_tokens=7)),
        ZeroDivisionError("no reason"),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_a_wrapper_passes_on_an_error_as_it_is(
    wrapper: Callable[[ChatModel], ChatModel], error: Exception
) -> None:
    before = getattr(error, "usage", None)
    with pytest.raises(type(error)) as raised:
        await wrapper(scripted([error])).complete(chat_request())
    assert raised.value is error
    assert getattr(error, "usage", None) == before


async def test_a_cancelled_caller_stops_immediately_and_blocks_no_other(
    model: ChatModel, provider: FakeProvider
) -> None:
    provider.hold = threading.Event()
    callers = [
        asyncio.create_task(model.complete(chat_request(f"file_{number}")))
        for number in range(CONCURRENCY)
    ]
    for _ in callers:
        await asyncio.to_thread(provider.arrived.acquire)
    for caller in callers:
        caller.cancel()
    results = await asyncio.gather(*callers, return_exceptions=True)
    assert [type(result) for result in results] == [asyncio.CancelledError] * CONCURRENCY
    provider.hold.set()
    assert fact_in((await model.complete(chat_request())).text) == "cart.py uses sqlite"


async def test_concurrent_calls_get_their_own_responses(model: ChatModel) -> None:
    names = [f"file_{number}" for number in range(2 * CONCURRENCY)]
    responses = await asyncio.gather(*(model.complete(chat_request(name)) for name in names))
    assert [fact_in(response.text) for response in responses] == [
        f"{name}.py uses sqlite" for name in names
    ]
    assert {response.calls for response in responses} == {1}


async def test_closing_twice_is_allowed_and_closes_the_model(
    wrapper: Callable[[ChatModel], ChatModel],
) -> None:
    inner = scripted([BadTurn("never sent")])
    wrapped = wrapper(inner)
    await wrapped.close()
    await wrapped.close()
    assert inner.closed >= 1
    assert inner.requests == []


async def test_closing_an_unused_model_is_allowed(model: ChatModel) -> None:
    await model.close()
