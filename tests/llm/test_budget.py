"""The budget is hard: no responses and no concurrency exceed it."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from importlib.util import find_spec
from itertools import cycle

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import BaseModel
from tokenizers import Tokenizer

from tests.fakes.models import FakeModel
from turnetl.base.errors import BadTurn, BadUsage, ModelBusy, RunStopped, TooLong
from turnetl.llm.budget import Budget, BudgetedModel
from turnetl.llm.chat import ChatMessage, ChatModel, ChatRequest, ChatResponse, ResponseSchema
from turnetl.llm.costs import PromptBounds, worst_case
from turnetl.llm.meter import Meter, MeteredModel
from turnetl.llm.prices import Price, Prices
from turnetl.llm.retry import RetryingModel, RetryPolicy

NAME = "canned/model"
PRICE = Price(input=1.0, cached_input=0.1, output=4.0)
PRICES = Prices(({NAME: PRICE},))


@dataclass
class PlannedCall:
    """The usage of a request as a share of its worst case, and whether the request fails."""

    share: float = 0.1
    pauses: int = 1
    fails: bool = False
    max_tokens: int = 1000


def planned(calls: Sequence[PlannedCall], name: str = NAME) -> FakeModel:
    """Return a model that responds to request `n` as planned by call `n`."""

    async def respond(request: ChatRequest) -> ChatResponse:
        call = calls[int(request.prompt_name)]
        for _ in range(call.pauses):
            await asyncio.sleep(0)
        if call.fails:
            raise ModelBusy("busy")
        completion = int(call.share * (request.max_tokens - 1))
        prompt = int(call.share * (reserved_tokens(request) - request.max_tokens))
        return ChatResponse("{}", prompt, completion, truncated=False)

    return FakeModel(respond, name)


def request(number: int, call: PlannedCall) -> ChatRequest:
    prompt = (ChatMessage("user", "Who? " * 20),)
    return ChatRequest(str(number), prompt, None, call.max_tokens)


def reserved_tokens(request: ChatRequest) -> int:
    """Return the tokens that are reserved."""
    return int(worst_case(request, None).amount.tokens)


@dataclass
class BudgetRun:
    """The outcome of a run."""

    model: FakeModel
    meter: Meter
    completed: list[int]
    exhausted: list[str]
    in_flight_when_stopped: list[int]


async def run(
    calls: list[PlannedCall],
    *,
    tokens: int | None = None,
    usd: float | None = None,
    concurrency: int = 8,
) -> BudgetRun:
    """Send the requests under the budget, `concurrency` at a time."""
    model_double, meter = planned(calls), Meter(PRICES)
    model = BudgetedModel(MeteredModel(model_double, meter), Budget(tokens, usd, meter, PRICES))
    outcome = BudgetRun(model_double, meter, [], [], [])
    slots = asyncio.Semaphore(concurrency)

    async def send(number: int, call: PlannedCall) -> None:
        async with slots:
            try:
                await model.complete(request(number, call))
                outcome.completed.append(number)
            except RunStopped as error:
                outcome.exhausted.append(str(error))
                outcome.in_flight_when_stopped.append(model_double.in_flight)
            except ModelBusy:
                pass

    await asyncio.gather(*(send(number, call) for number, call in enumerate(calls)))
    return outcome


CALLS = st.lists(
    st.builds(
        PlannedCall,
        share=st.floats(0, 1),
        pauses=st.integers(0, 5),
        fails=st.booleans(),
        max_tokens=st.integers(1, 3000),
    ),
    max_size=30,
)


LARGEST = [PlannedCall(share=1, pauses=3)] * 10
"""In flight together, each with all that it may use: drawn calls seldom are."""


@given(CALLS, st.integers(1, 60_000), st.integers(1, 10))
@example(LARGEST, 2_500, 10)
async def test_tokens_never_exceed_the_budget(
    calls: list[PlannedCall], tokens: int, concurrency: int
) -> None:
    outcome = await run(calls, tokens=tokens, concurrency=concurrency)
    used = outcome.meter.total
    assert used.prompt_tokens + used.completion_tokens <= tokens
    failed = sum(calls[int(sent.prompt_name)].fails for sent in outcome.model.requests)
    assert len(outcome.completed) + len(outcome.exhausted) + failed == len(calls)


@given(CALLS, st.floats(0.0001, 0.1), st.integers(1, 10))
@example(LARGEST, 0.01, 10)
async def test_cost_never_exceeds_the_budget(
    calls: list[PlannedCall], usd: float, concurrency: int
) -> None:
    outcome = await run(calls, usd=usd, concurrency=concurrency)
    assert outcome.meter.total.cost is not None
    assert outcome.meter.total.cost <= usd + 1e-12


@given(CALLS, st.integers(1, 60_000), st.integers(1, 10))
async def test_when_the_budget_stops_a_run_no_request_is_in_flight_and_none_is_sent_later(
    calls: list[PlannedCall], tokens: int, concurrency: int
) -> None:
    outcome = await run(calls, tokens=tokens, concurrency=concurrency)
    assert set(outcome.in_flight_when_stopped) <= {0}
    assert len(set(outcome.exhausted)) <= 1
    if outcome.exhausted:
        used = outcome.meter.total
        shortest = [replace(call, max_tokens=min(call.max_tokens, 2048)) for call in calls]
        reservations = [
            reserved_tokens(request(number, call)) for number, call in enumerate(shortest)
        ]
        assert used.prompt_tokens + used.completion_tokens + max(reservations) > tokens


async def test_a_request_that_does_not_fit_waits_for_those_in_flight() -> None:
    calls = [PlannedCall(share=0.1, pauses=3) for _ in range(10)]
    outcome = await run(calls, tokens=2 * reserved_tokens(request(0, calls[0])))
    assert len(outcome.completed) == 10
    assert outcome.model.max_in_flight == 2


async def test_near_the_end_the_response_limit_shrinks() -> None:
    long, short = PlannedCall(max_tokens=16_000), PlannedCall(max_tokens=4_000)
    outcome = await run([long, long], tokens=reserved_tokens(request(0, short)) + 100)
    assert outcome.completed == [0, 1]
    assert [sent.max_tokens for sent in outcome.model.requests] == [4_000, 2_048]


@pytest.mark.parametrize(
    ("message", "tokens", "error"),
    [
        ("x" * 20_000, 15_000, RunStopped),
        ("x" * 20_000, 200_000, TooLong),
        ("x", 2_000, RunStopped),
        ("x", 200_000, BadTurn),
    ],
)
async def test_a_response_truncated_by_the_budget_is_not_a_fault_of_its_turn(
    message: str, tokens: int, error: type[Exception]
) -> None:
    long = request(0, PlannedCall(max_tokens=16_000))
    meter = Meter(PRICES)
    budget = Budget(tokens, None, meter, PRICES)
    model = BudgetedModel(MeteredModel(responding_with([message]), meter), budget)
    budgeted = RetryingModel(model, RetryPolicy())
    with pytest.raises(error) as stopped:
        await budgeted.complete(long)
    used = meter.total
    assert used.prompt_tokens + used.completion_tokens <= tokens
    assert ("larger budget" in str(stopped.value)) == (error is RunStopped)


async def test_a_failed_request_releases_its_reservation() -> None:
    calls = [PlannedCall(fails=True)] * 5 + [PlannedCall()]
    outcome = await run(calls, tokens=reserved_tokens(request(0, PlannedCall())))
    assert outcome.completed == [5]


async def test_a_cancelled_request_releases_its_reservation() -> None:
    calls = [PlannedCall(pauses=1000), PlannedCall()]
    model_double, meter = planned(calls), Meter(PRICES)
    budget = Budget(reserved_tokens(request(0, calls[0])), None, meter, PRICES)
    model = BudgetedModel(MeteredModel(model_double, meter), budget)
    first = asyncio.create_task(model.complete(request(0, calls[0])))
    waiting = asyncio.create_task(model.complete(request(1, calls[1])))
    cancelled = asyncio.create_task(model.complete(request(1, calls[1])))
    for _ in range(10):
        await asyncio.sleep(0)
    for task in (cancelled, first):
        task.cancel()
    await asyncio.wait([first, cancelled])
    assert (await waiting).text == "{}"


async def test_a_tiny_budget_is_not_printed_as_zero() -> None:
    outcome = await run([PlannedCall(1, 0)], usd=0.000_001)
    assert "$0.0000 of $0.000001 are" in outcome.exhausted[0]


async def test_the_message_has_the_usage_and_the_size_of_the_next_request() -> None:
    calls = [PlannedCall(share=0.9)] * 2
    outcome = await run(calls, tokens=3_000, usd=0.02, concurrency=1)
    (message,) = set(outcome.exhausted)
    used = outcome.meter.total
    assert f"{used.prompt_tokens + used.completion_tokens:,} of 3,000 tokens" in message
    assert f"${used.cost:,.4f} of $0.0200" in message
    assert f"up to {reserved_tokens(request(0, calls[0])):,} tokens" in message
    assert "the same command resumes there" in message


async def test_the_message_asks_for_a_larger_budget_if_no_request_fits_into_it() -> None:
    outcome = await run([PlannedCall()], tokens=100)
    assert "0 of 100 tokens are used" in outcome.exhausted[0]
    assert "the command with a larger budget resumes there" in outcome.exhausted[0]


def test_an_exhausted_budget_has_exit_code_4() -> None:
    assert RunStopped.exit_code == 4


@pytest.mark.parametrize("prices", [Prices(), PRICES])
async def test_a_budget_in_dollars_rejects_a_model_without_a_price_before_any_request(
    prices: Prices,
) -> None:
    model_double, meter = planned([PlannedCall()], name="canned/new"), Meter(prices)
    for tokens in (None, 100_000):
        with pytest.raises(BadUsage) as raised:
            BudgetedModel(model_double, Budget(tokens, 5.0, meter, prices))
        assert '"canned/new" = {' in str(raised.value)
        assert str(prices.editable) in str(raised.value)
    assert model_double.requests == []


async def test_a_budget_in_tokens_needs_no_price() -> None:
    meter = Meter(Prices())
    model_double = planned([PlannedCall()], name="canned/new")
    model = BudgetedModel(MeteredModel(model_double, meter), Budget(100_000, None, meter, Prices()))
    assert (await model.complete(request(0, PlannedCall()))).cost is None


async def test_a_free_model_fits_into_any_budget_in_dollars() -> None:
    prices = Prices(({NAME: Price(0, 0, 0)},))
    meter = Meter(prices)
    model = BudgetedModel(
        MeteredModel(planned([PlannedCall()]), meter), Budget(None, 0.000001, meter, prices)
    )
    for _ in range(3):
        await model.complete(request(0, PlannedCall()))
    assert meter.total.cost == 0


async def test_one_budget_applies_to_all_models_of_a_run() -> None:
    prices = Prices(({NAME: PRICE, "canned/dear": Price(100, 100, 100)},))
    meter = Meter(prices)
    budget = Budget(None, 0.25, meter, prices)

    def budgeted(name: str) -> ChatModel:
        return BudgetedModel(
            MeteredModel(planned([PlannedCall(share=1.0)] * 9, name=name), meter), budget
        )

    expensive, cheap = budgeted("canned/dear"), budgeted(NAME)
    await expensive.complete(request(0, PlannedCall()))
    with pytest.raises(RunStopped):
        await expensive.complete(request(0, PlannedCall()))
    with pytest.raises(RunStopped):
        await cheap.complete(request(0, PlannedCall()))


def responding_with(texts: Sequence[str]) -> FakeModel:
    """Return a model that returns the texts one after the other; each character is a token."""
    texts_in_turn = cycle(texts)

    async def respond(request: ChatRequest) -> ChatResponse:
        text = next(texts_in_turn)
        prompt = sum(len(message.text) + 16 for message in request.messages)
        truncated_text = text[: request.max_tokens]
        return ChatResponse(
            truncated_text, prompt + 500, len(truncated_text), truncated=truncated_text != text
        )

    return FakeModel(respond, NAME)


class BudgetResponse(BaseModel):
    names: list[str]


SCHEMA = ResponseSchema("Form", BudgetResponse.model_json_schema(), BudgetResponse)

TEXTS = st.lists(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=200)
    | st.uuids().map(str)
    | st.from_regex(r"\A[0-9a-f]{0,80}\Z")
    | st.from_regex(r"\A[A-Za-z0-9+/]{0,80}\Z"),
    max_size=5,
)


@cache
def _tokenizer() -> Tokenizer:
    """A tokenizer with one token per digit, as many models have."""
    package = find_spec("wordllama")
    assert package is not None
    folder = next(iter(package.submodule_search_locations or ()))
    return Tokenizer.from_file(f"{folder}/tokenizers/l2_supercat_tokenizer_config.json")


@given(TEXTS)
def test_a_prompt_never_has_more_tokens_than_are_reserved(texts: list[str]) -> None:
    request = ChatRequest("p", tuple(ChatMessage("user", text) for text in texts), None, 1)
    token_count = sum(len(_tokenizer().encode(text).ids) for text in texts)
    assert token_count <= reserved_tokens(request)


def test_the_reservation_includes_the_schema_and_the_longest_response() -> None:
    plain = ChatRequest("p", (ChatMessage("user", "Who?"),), None, 1000)
    with_schema = ChatRequest(
        "p", plain.messages, ResponseSchema("Form", {"type": "object", "x": "y" * 500}), 1000
    )
    long = ChatRequest("p", plain.messages, None, 2000)
    tokens = [reserved_tokens(each) for each in (plain, with_schema, long)]
    assert tokens[1] > tokens[0] + 1000
    assert tokens[2] == tokens[0] + 1000
    assert tokens[0] > 1000


@given(
    st.lists(st.text("0123456789{}", max_size=400), min_size=1, max_size=6),
    st.integers(1, 6),
    st.integers(50, 400),
    st.integers(1_000, 8_000),
)
async def test_retries_of_invalid_responses_stay_within_the_budget(
    texts: list[str], attempts: int, max_tokens: int, tokens: int
) -> None:
    request = ChatRequest("p", (ChatMessage("user", "Who?"),), SCHEMA, max_tokens)
    meter = Meter(PRICES)
    invalid = responding_with([text[:max_tokens] for text in texts])
    budgeted = BudgetedModel(MeteredModel(invalid, meter), Budget(tokens, None, meter, PRICES))
    with suppress(BadTurn, RunStopped):
        await RetryingModel(budgeted, RetryPolicy(max_responses=attempts)).complete(request)
    used = meter.total
    assert used.prompt_tokens + used.completion_tokens <= tokens


def answering(tokens: Sequence[int], prompt_tokens: int = 300) -> FakeModel:
    """Return a model whose responses need so many tokens, one after the other."""
    lengths = cycle(tokens)

    async def respond(request: ChatRequest) -> ChatResponse:
        needed = next(lengths)
        return ChatResponse(
            "{}",
            prompt_tokens,
            min(needed, request.max_tokens),
            truncated=needed > request.max_tokens,
        )

    return FakeModel(respond, NAME)


async def send_one_after_the_other(
    model: FakeModel, requests: int, tokens: int
) -> tuple[Budget, Meter, list[ChatResponse]]:
    meter = Meter(PRICES)
    budget = Budget(tokens, None, meter, PRICES)
    budgeted = BudgetedModel(MeteredModel(model, meter), budget)
    long = ChatRequest("p", (ChatMessage("user", "Who? " * 20),), None, 16_000)
    responses = [await budgeted.complete(long) for _ in range(requests)]
    return budget, meter, responses


async def test_a_request_keeps_its_own_limit_as_long_as_the_budget_covers_it() -> None:
    model = answering([100])
    await send_one_after_the_other(model, 10, 100_000)
    assert {sent.max_tokens for sent in model.requests} == {16_000}


async def test_a_request_reserves_what_such_requests_needed_so_that_most_of_a_budget_is_used() -> (
    None
):
    model = answering([100])
    budget, meter, responses = await send_one_after_the_other(model, 70, 30_000)
    assert len(responses) == 70
    assert budget.used.tokens == 70 * 400
    assert meter.total.calls == 70
    assert budget.repeated == 0
    assert model.requests[-1].max_tokens < 1_000


async def test_a_response_that_a_learned_limit_truncates_is_requested_again_and_counted() -> None:
    model = answering([100] * 30 + [1_500] * 2)
    budget, meter, responses = await send_one_after_the_other(model, 31, 17_700)
    assert [response.truncated for response in responses] == [False] * 31
    assert responses[-1].completion_tokens > 1_500, "both responses are paid for"
    assert budget.repeated == 1
    assert meter.total.completion_tokens <= 17_700


@given(st.lists(st.integers(1, 6_000), min_size=1, max_size=30), st.integers(1, 60_000))
async def test_learned_limits_never_exceed_the_budget(lengths: list[int], tokens: int) -> None:
    meter_used = 0.0
    model = answering(lengths)
    meter = Meter(PRICES)
    budget = Budget(tokens, None, meter, PRICES)
    budgeted = BudgetedModel(MeteredModel(model, meter), budget)
    with suppress(RunStopped):
        for number in range(40):
            text = "Who? " * (number % 20)
            long = ChatRequest("p", (ChatMessage("user", text),), None, 4_000)
            response = await budgeted.complete(long)
            assert not response.truncated or response.completion_tokens >= 4_000
            meter_used = budget.used.tokens
    assert meter_used <= budget.used.tokens <= tokens


@given(TEXTS, TEXTS, st.text("abcdefghij .,\n", max_size=400))
def test_a_counted_prompt_bounds_every_other_prompt_of_its_name(
    texts: list[str], others: list[str], instructions: str
) -> None:
    bounds = PromptBounds()
    bounds.add(_prompt(instructions, texts), _count(instructions, texts))
    bound = bounds.max_tokens(_prompt(instructions, others))
    assert bound is not None
    assert _count(instructions, others) <= bound


def _prompt(instructions: str, texts: list[str]) -> ChatRequest:
    messages = (ChatMessage("user", f"{instructions}\n{text}") for text in texts)
    return ChatRequest("p", tuple(messages), None, 1)


def _count(instructions: str, texts: list[str]) -> int:
    """Return the tokens of the prompt, with some for each message, as providers add them."""
    return sum(len(_tokenizer().encode(f"{instructions}\n{text}").ids) + 4 for text in texts)
