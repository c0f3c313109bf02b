"""The meter: every attempt is counted under its prompt, and answers know what they cost."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from itertools import count

import pytest
from pydantic import BaseModel

from turnetl.errors import BadTurn, ModelBusy, TurnetlError
from turnetl.llm.chat import ChatMessage, ChatRequest, ChatResponse, ResponseSchema
from turnetl.llm.meter import Meter, MeteredModel
from turnetl.llm.prices import Price, Prices
from turnetl.llm.retry import RetryingModel, RetryPolicy
from turnetl.model import Usage

PRICES = Prices(({"canned/model": Price(input=1.0, cached_input=0.5, output=10.0)},))
ANSWER = ChatResponse('{"names": []}', 1_000_000, 100_000, truncated=False, cached_tokens=400_000)
COST = 0.6 * 1.0 + 0.4 * 0.5 + 0.1 * 10.0


class Form(BaseModel):
    names: list[str]


class Canned:
    """Gives one answer after the other, or fails with it."""

    def __init__(self, *answers: ChatResponse | TurnetlError, name: str = "canned/model") -> None:
        self.name = name
        self._answers: Iterator[ChatResponse | TurnetlError] = iter(answers)

    async def complete(self, request: ChatRequest) -> ChatResponse:  # noqa: ARG002 - a model's
        answer = next(self._answers)
        await asyncio.sleep(0)
        if isinstance(answer, TurnetlError):
            raise answer
        return answer

    async def close(self) -> None: ...


def metered(model: Canned, prices: Prices = PRICES) -> tuple[MeteredModel, Meter]:
    """Return the model and its meter, whose clock is half a second on each time it is read."""
    ticks = count()
    meter = Meter(prices, clock=lambda: next(ticks) / 2)
    return MeteredModel(model, meter), meter


def request(prompt: str) -> ChatRequest:
    schema = ResponseSchema("Form", Form.model_json_schema(), Form)
    return ChatRequest(prompt, (ChatMessage("user", "Who?"),), schema, 100)


async def test_a_response_has_seconds_and_cost() -> None:
    model, meter = metered(Canned(ANSWER))
    answer = await model.complete(request("extract"))
    assert answer == replace(ANSWER, seconds=0.5, cost=answer.cost)
    assert answer.cost == pytest.approx(COST)
    assert meter.total == answer.usage


async def test_usage_is_summed_by_prompt_and_sorted_by_name() -> None:
    model, meter = metered(Canned(*[ANSWER] * 3))
    answers = [
        await model.complete(request(prompt)) for prompt in ("resolve", "extract", "resolve")
    ]
    assert list(meter.by_prompt()) == ["extract", "resolve"]
    assert meter.by_prompt()["resolve"].calls == 2
    assert meter.by_prompt()["resolve"].prompt_tokens == 2_000_000
    assert meter.total == sum((answer.usage for answer in answers), Usage())
    assert sum(meter.by_prompt().values(), Usage()) == meter.total


async def test_failed_attempts_are_counted_with_their_seconds() -> None:
    model, meter = metered(Canned(ModelBusy("busy"), BadTurn("no"), ANSWER))
    for _ in range(2):
        with pytest.raises(TurnetlError):
            await model.complete(request("extract"))
    assert meter.total == Usage(calls=2, seconds=1.0)
    await model.complete(request("extract"))
    assert meter.total.calls == 3
    assert meter.total.cost == pytest.approx(COST)


async def test_a_cancelled_call_is_counted() -> None:
    model, meter = metered(Canned(ANSWER))
    task = asyncio.create_task(model.complete(request("extract")))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert meter.total.calls == 1


async def test_a_retried_request_costs_the_sum_of_its_responses() -> None:
    right = ChatResponse(ANSWER.text, 100, 10, truncated=False, cached_tokens=40)
    wrong = replace(right, text="[]")
    model, meter = metered(Canned(wrong, ModelBusy("busy", 0), right))
    retried = RetryingModel(model, RetryPolicy(attempts=2, first_wait=0))
    answer = await retried.complete(request("extract"))
    assert answer.cost == meter.total.cost
    assert answer.prompt_tokens == meter.total.prompt_tokens
    assert meter.total.calls == 3


async def test_without_a_price_tokens_are_counted_and_the_cost_is_unknown() -> None:
    model, meter = metered(Canned(ANSWER, ANSWER, name="canned/other"))
    first = await model.complete(request("extract"))
    assert first.cost is None
    both = await RetryingModel(model, RetryPolicy()).complete(request("extract"))
    assert both.cost is None
    assert meter.total.prompt_tokens == 2_000_000
    assert meter.total.cost is None


async def test_a_model_without_a_price_leaves_the_cost_of_other_prompts_known() -> None:
    meter = Meter(PRICES)
    await MeteredModel(Canned(ANSWER), meter).complete(request("extract"))
    await MeteredModel(Canned(ANSWER, name="canned/other"), meter).complete(request("resolve"))
    costs = {prompt: usage.cost for prompt, usage in meter.by_prompt().items()}
    assert costs == {"extract": pytest.approx(COST), "resolve": None}


@pytest.mark.parametrize("said", [(0, 30), (500, 0)])
async def test_a_missing_half_of_the_token_counts_is_estimated(said: tuple[int, int]) -> None:
    model, meter = metered(Canned(ChatResponse('{"names": []}', *said, truncated=False)))
    await model.complete(request("extract"))
    used = meter.total
    assert min(used.prompt_tokens, used.completion_tokens) > 0
    assert said[0] in (0, used.prompt_tokens)
    assert said[1] in (0, used.completion_tokens)


async def test_missing_token_counts_are_estimated() -> None:
    silent = ChatResponse('{"names": []}', 0, 0, truncated=False)
    model, meter = metered(Canned(silent))
    long = replace(request("extract"), messages=(ChatMessage("user", "word " * 1000),))
    answer = await model.complete(long)
    assert 1000 <= meter.total.prompt_tokens <= 5000
    assert meter.total.completion_tokens == answer.completion_tokens > 0
