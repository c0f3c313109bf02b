"""The meter: every attempt is counted by prompt, and every response has its cost."""

import asyncio
from dataclasses import replace
from itertools import count

import pytest
from pydantic import BaseModel

from tests.fakes.models import FakeModel, scripted
from turnetl.base.errors import BadTurn, ModelBusy, TurnetlError
from turnetl.base.model import Usage
from turnetl.llm.chat import ChatMessage, ChatRequest, ChatResponse, ResponseSchema
from turnetl.llm.meter import Meter, MeteredModel
from turnetl.llm.prices import Price, Prices
from turnetl.llm.retry import RetryingModel, RetryPolicy

PRICES = Prices(({"canned/model": Price(input=1.0, cached_input=0.5, output=10.0)},))
RESPONSE = ChatResponse('{"names": []}', 1_000_000, 100_000, truncated=False, cached_tokens=400_000)
COST = 0.6 * 1.0 + 0.4 * 0.5 + 0.1 * 10.0


class MeterResponse(BaseModel):
    names: list[str]


def responding(*entries: ChatResponse | TurnetlError, name: str = "canned/model") -> FakeModel:
    return scripted(entries, name=name)


def metered(model: FakeModel, prices: Prices = PRICES) -> tuple[MeteredModel, Meter]:
    """Return a model and its meter; each reading of the clock advances it by half a second."""
    ticks = count()
    meter = Meter(prices, clock=lambda: next(ticks) / 2)
    return MeteredModel(model, meter), meter


def chat_request(prompt_name: str) -> ChatRequest:
    schema = ResponseSchema("Form", MeterResponse.model_json_schema(), MeterResponse)
    return ChatRequest(prompt_name, (ChatMessage("user", "Who?"),), schema, 100)


async def test_a_response_has_seconds_and_cost() -> None:
    model, meter = metered(responding(RESPONSE))
    response = await model.complete(chat_request("extract"))
    assert response == replace(RESPONSE, seconds=0.5, cost=response.cost)
    assert response.cost == pytest.approx(COST)
    assert meter.total == response.usage


async def test_tokens_written_to_a_cache_have_their_own_price() -> None:
    prices = Prices(({"canned/model": Price(1.0, 0.5, 10.0, cache_write=1.25)},))
    written = replace(RESPONSE, cache_write_tokens=200_000)
    model, _ = metered(responding(written), prices)
    response = await model.complete(chat_request("extract"))
    assert response.cost == pytest.approx(0.4 * 1.0 + 0.2 * 1.25 + 0.4 * 0.5 + 0.1 * 10.0)


async def test_usage_is_summed_by_prompt_and_sorted_by_name() -> None:
    model, meter = metered(responding(*[RESPONSE] * 3))
    responses = [
        await model.complete(chat_request(prompt_name))
        for prompt_name in ("resolve", "extract", "resolve")
    ]
    assert list(meter.by_prompt()) == ["extract", "resolve"]
    assert meter.by_prompt()["resolve"].calls == 2
    assert meter.by_prompt()["resolve"].prompt_tokens == 2_000_000
    assert meter.total == sum((response.usage for response in responses), Usage())
    assert sum(meter.by_prompt().values(), Usage()) == meter.total


async def test_failed_attempts_are_counted_with_their_seconds() -> None:
    model, meter = metered(responding(ModelBusy("busy"), BadTurn("no"), RESPONSE))
    for _ in range(2):
        with pytest.raises(TurnetlError):
            await model.complete(chat_request("extract"))
    assert meter.total == Usage(calls=2, seconds=1.0)
    await model.complete(chat_request("extract"))
    assert meter.total.calls == 3
    assert meter.total.cost == pytest.approx(COST)


async def test_a_cancelled_call_is_counted() -> None:
    model, meter = metered(responding(RESPONSE))
    task = asyncio.create_task(model.complete(chat_request("extract")))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert meter.total.calls == 1


async def test_a_retried_request_costs_the_sum_of_its_responses() -> None:
    valid = ChatResponse(RESPONSE.text, 100, 10, truncated=False, cached_tokens=40)
    invalid = replace(valid, text="[]")
    model, meter = metered(responding(invalid, ModelBusy("busy", 0), valid))
    retried = RetryingModel(model, RetryPolicy(attempts=2, first_wait=0))
    response = await retried.complete(chat_request("extract"))
    assert response.cost == meter.total.cost
    assert response.prompt_tokens == meter.total.prompt_tokens
    assert meter.total.calls == 3


async def test_without_a_price_tokens_are_counted_and_the_cost_is_unknown() -> None:
    model, meter = metered(responding(RESPONSE, RESPONSE, name="canned/other"))
    first = await model.complete(chat_request("extract"))
    assert first.cost is None
    both = await RetryingModel(model, RetryPolicy()).complete(chat_request("extract"))
    assert both.cost is None
    assert meter.total.prompt_tokens == 2_000_000
    assert meter.total.cost is None


async def test_a_model_without_a_price_leaves_the_cost_of_other_prompts_known() -> None:
    meter = Meter(PRICES)
    await MeteredModel(responding(RESPONSE), meter).complete(chat_request("extract"))
    await MeteredModel(responding(RESPONSE, name="canned/other"), meter).complete(
        chat_request("resolve")
    )
    costs = {prompt_name: usage.cost for prompt_name, usage in meter.by_prompt().items()}
    assert costs == {"extract": pytest.approx(COST), "resolve": None}


@pytest.mark.parametrize("counts", [(0, 30), (500, 0)])
async def test_a_missing_half_of_the_token_counts_is_estimated(counts: tuple[int, int]) -> None:
    model, meter = metered(responding(ChatResponse('{"names": []}', *counts, truncated=False)))
    await model.complete(chat_request("extract"))
    usage = meter.total
    assert min(usage.prompt_tokens, usage.completion_tokens) > 0
    assert counts[0] in (0, usage.prompt_tokens)
    assert counts[1] in (0, usage.completion_tokens)


async def test_missing_token_counts_are_estimated() -> None:
    uncounted = ChatResponse('{"names": []}', 0, 0, truncated=False)
    model, meter = metered(responding(uncounted))
    long = replace(chat_request("extract"), messages=(ChatMessage("user", "word " * 1000),))
    response = await model.complete(long)
    assert 1000 <= meter.total.prompt_tokens <= 5000
    assert meter.total.completion_tokens == response.completion_tokens > 0
