"""The budget is hard: whatever comes back, and whatever runs side by side, it is never exceeded."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.util import find_spec

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel
from tokenizers import Tokenizer

from turnetl.errors import BadTurn, BadUsage, Exhausted, ModelBusy, TooLong
from turnetl.llm.budget import Budget, BudgetedModel
from turnetl.llm.chat import ChatMessage, ChatModel, ChatRequest, ChatResponse, ResponseSchema
from turnetl.llm.cost_bounds import worst_case
from turnetl.llm.meter import Meter, MeteredModel
from turnetl.llm.prices import Price, Prices
from turnetl.llm.retry import RetryingModel, RetryPolicy

NAME = "canned/model"
PRICE = Price(input=1.0, cached_input=0.1, output=4.0)
PRICES = Prices(({NAME: PRICE},))


@dataclass
class Call:
    """What a call really takes, as a share of the worst, and whether it comes to nothing."""

    share: float = 0.1
    pauses: int = 1
    fails: bool = False
    max_tokens: int = 1000


@dataclass
class Canned:
    """Answers request `n` as call `n` says."""

    calls: list[Call]
    name: str = NAME
    under_way: int = 0
    most: int = 0
    asked: list[int] = field(default_factory=list)
    longest: list[int] = field(default_factory=list)

    async def complete(self, request: ChatRequest) -> ChatResponse:
        number = int(request.prompt_name)
        call = self.calls[number]
        self.asked.append(number)
        self.longest.append(request.max_tokens)
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        try:
            for _ in range(call.pauses):
                await asyncio.sleep(0)
        finally:
            self.under_way -= 1
        if call.fails:
            raise ModelBusy("busy")
        answer = int(call.share * 2 * request.max_tokens)
        prompt = int(call.share * (reserve(request) - 2 * request.max_tokens))
        return ChatResponse("{}", prompt, answer, truncated=False)

    async def close(self) -> None: ...


def request(number: int, call: Call) -> ChatRequest:
    return ChatRequest(str(number), (ChatMessage("user", "Who? " * 20),), None, call.max_tokens)


def reserve(asked: ChatRequest) -> int:
    """Return the tokens that are set aside."""
    return worst_case(asked, None).tokens


@dataclass
class Run:
    """What came of a run's calls."""

    model: Canned
    meter: Meter
    answered: list[int]
    exhausted: list[str]
    under_way_when_exhausted: list[int]


async def run(
    calls: list[Call],
    *,
    tokens: int | None = None,
    money: float | None = None,
    concurrency: int = 8,
) -> Run:
    """Make the calls, so many at once, under the budget."""
    canned, meter = Canned(calls), Meter(PRICES)
    model = BudgetedModel(MeteredModel(canned, meter), Budget(tokens, money, meter, PRICES))
    done = Run(canned, meter, [], [], [])
    free = asyncio.Semaphore(concurrency)

    async def ask(number: int, call: Call) -> None:
        async with free:
            try:
                await model.complete(request(number, call))
                done.answered.append(number)
            except Exhausted as error:
                done.exhausted.append(str(error))
                done.under_way_when_exhausted.append(canned.under_way)
            except ModelBusy:
                pass

    await asyncio.gather(*(ask(number, call) for number, call in enumerate(calls)))
    return done


CALLS = st.lists(
    st.builds(
        Call,
        share=st.floats(0, 1),
        pauses=st.integers(0, 5),
        fails=st.booleans(),
        max_tokens=st.integers(1, 3000),
    ),
    max_size=30,
)


@given(CALLS, st.integers(1, 60_000), st.integers(1, 10))
async def test_tokens_never_exceed_the_budget(
    calls: list[Call], tokens: int, concurrency: int
) -> None:
    done = await run(calls, tokens=tokens, concurrency=concurrency)
    used = done.meter.total
    assert used.prompt_tokens + used.completion_tokens <= tokens
    failed = sum(calls[number].fails for number in done.model.asked)
    assert len(done.answered) + len(done.exhausted) + failed == len(calls)


@given(CALLS, st.floats(0.0001, 0.1), st.integers(1, 10))
async def test_cost_never_exceeds_the_budget(
    calls: list[Call], money: float, concurrency: int
) -> None:
    done = await run(calls, money=money, concurrency=concurrency)
    assert done.meter.total.cost is not None
    assert done.meter.total.cost <= money + 1e-12


@given(CALLS, st.integers(1, 60_000), st.integers(1, 10))
async def test_when_the_budget_stops_a_run_no_request_is_in_flight_and_none_is_sent_later(
    calls: list[Call], tokens: int, concurrency: int
) -> None:
    done = await run(calls, tokens=tokens, concurrency=concurrency)
    assert set(done.under_way_when_exhausted) <= {0}
    assert len(set(done.exhausted)) <= 1
    if done.exhausted:
        used = done.meter.total
        shortest = [replace(call, max_tokens=min(call.max_tokens, 2048)) for call in calls]
        reserves = [reserve(request(number, call)) for number, call in enumerate(shortest)]
        assert used.prompt_tokens + used.completion_tokens + max(reserves) > tokens


async def test_a_request_that_does_not_fit_waits_for_those_in_flight() -> None:
    calls = [Call(share=0.1, pauses=3) for _ in range(10)]
    done = await run(calls, tokens=2 * reserve(request(0, calls[0])))
    assert len(done.answered) == 10
    assert done.model.most == 2


async def test_near_the_end_the_response_limit_shrinks() -> None:
    long, short = Call(max_tokens=16_000), Call(max_tokens=4_000)
    done = await run([long, long], tokens=reserve(request(0, short)) + 100)
    assert done.answered == [0, 1]
    assert done.model.longest == [4_000, 2_048]


@pytest.mark.parametrize(
    ("said", "tokens", "error"),
    [
        ("x" * 20_000, 20_000, Exhausted),
        ("x" * 20_000, 200_000, TooLong),
        ("x", 20_000, Exhausted),
        ("x", 200_000, BadTurn),
    ],
)
async def test_a_response_truncated_by_the_budget_is_no_fault_of_its_turn(
    said: str, tokens: int, error: type[Exception]
) -> None:
    long = request(0, Call(max_tokens=16_000))
    meter = Meter(PRICES)
    model = RetryingModel(MeteredModel(Babbling([said]), meter), RetryPolicy())
    budgeted = BudgetedModel(model, Budget(tokens, None, meter, PRICES))
    with pytest.raises(error) as stopped:
        await budgeted.complete(long)
    used = meter.total
    assert used.prompt_tokens + used.completion_tokens <= tokens
    assert ("larger budget" in str(stopped.value)) == (error is Exhausted)


async def test_a_failed_request_releases_its_reservation() -> None:
    calls = [Call(fails=True)] * 5 + [Call()]
    done = await run(calls, tokens=reserve(request(0, Call())))
    assert done.answered == [5]


async def test_a_cancelled_request_releases_its_reservation() -> None:
    calls = [Call(pauses=1000), Call()]
    canned, meter = Canned(calls), Meter(PRICES)
    budget = Budget(reserve(request(0, calls[0])), None, meter, PRICES)
    model = BudgetedModel(MeteredModel(canned, meter), budget)
    first = asyncio.create_task(model.complete(request(0, calls[0])))
    waits = asyncio.create_task(model.complete(request(1, calls[1])))
    given_up = asyncio.create_task(model.complete(request(1, calls[1])))
    for _ in range(10):
        await asyncio.sleep(0)
    for task in (given_up, first):
        task.cancel()
    await asyncio.wait([first, given_up])
    assert (await waits).text == "{}"


async def test_a_tiny_budget_is_not_printed_as_zero() -> None:
    done = await run([Call(1, 0)], money=0.000_001)
    assert "$0.0000 of $0.000001 are" in done.exhausted[0]


async def test_the_message_has_the_usage_and_the_size_of_the_next_request() -> None:
    calls = [Call(share=0.5)] * 4
    done = await run(calls, tokens=10_000, money=0.02, concurrency=1)
    (said,) = set(done.exhausted)
    used = done.meter.total
    assert f"{used.prompt_tokens + used.completion_tokens:,} of 10,000 tokens" in said
    assert f"${used.cost:,.4f} of $0.0200" in said
    assert f"up to {reserve(request(0, calls[0])):,} tokens" in said
    assert "the same command resumes there" in said


async def test_the_message_asks_for_a_larger_budget_if_no_request_fits_into_it() -> None:
    done = await run([Call()], tokens=100)
    assert "0 of 100 tokens are used" in done.exhausted[0]
    assert "the command with a larger budget resumes there" in done.exhausted[0]


def test_an_exhausted_budget_has_exit_code_4() -> None:
    assert Exhausted.exit_code == 4


@pytest.mark.parametrize("prices", [Prices(), PRICES])
async def test_a_budget_in_dollars_refuses_a_model_without_a_price_before_any_request(
    prices: Prices,
) -> None:
    canned, meter = Canned([Call()], name="canned/new"), Meter(prices)
    with pytest.raises(BadUsage) as refused:
        BudgetedModel(canned, Budget(None, 5.0, meter, prices))
    assert '"canned/new" = {' in str(refused.value)
    assert str(prices.editable) in str(refused.value)
    assert canned.asked == []


async def test_a_budget_in_tokens_needs_no_price() -> None:
    meter = Meter(Prices())
    canned = Canned([Call()], name="canned/new")
    model = BudgetedModel(MeteredModel(canned, meter), Budget(100_000, None, meter, Prices()))
    assert (await model.complete(request(0, Call()))).cost is None


async def test_a_free_model_fits_into_any_budget_in_dollars() -> None:
    prices = Prices(({NAME: Price(0, 0, 0)},))
    meter = Meter(prices)
    model = BudgetedModel(
        MeteredModel(Canned([Call()]), meter), Budget(None, 0.000001, meter, prices)
    )
    for _ in range(3):
        await model.complete(request(0, Call()))
    assert meter.total.cost == 0


async def test_one_budget_applies_to_all_models_of_a_run() -> None:
    prices = Prices(({NAME: PRICE, "canned/dear": Price(100, 100, 100)},))
    meter = Meter(prices)
    budget = Budget(None, 0.8, meter, prices)

    def budgeted(name: str) -> ChatModel:
        return BudgetedModel(MeteredModel(Canned([Call(share=1.0)] * 9, name=name), meter), budget)

    dear, cheap = budgeted("canned/dear"), budgeted(NAME)
    await dear.complete(request(0, Call()))
    with pytest.raises(Exhausted):
        await dear.complete(request(0, Call()))
    with pytest.raises(Exhausted):
        await cheap.complete(request(0, Call()))


@dataclass
class Babbling:
    """Gives texts that do not fit, one after the other, each sign of them a token."""

    texts: list[str]
    name: str = NAME
    said: int = 0

    async def complete(self, request: ChatRequest) -> ChatResponse:
        text = self.texts[self.said % len(self.texts)]
        self.said += 1
        prompt = sum(len(said.text) + 16 for said in request.messages)
        cut = text[: request.max_tokens]
        return ChatResponse(cut, prompt + 500, len(cut), truncated=cut != text)

    async def close(self) -> None: ...


class Form(BaseModel):
    names: list[str]


SCHEMA = ResponseSchema("Form", Form.model_json_schema(), Form)

TEXTS = st.lists(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=200)
    | st.uuids().map(str)
    | st.from_regex(r"\A[0-9a-f]{0,80}\Z")
    | st.from_regex(r"\A[A-Za-z0-9+/]{0,80}\Z"),
    max_size=5,
)


@cache
def _tokenizer() -> Tokenizer:
    """One that takes every digit by itself, as many models do."""
    spec = find_spec("wordllama")
    assert spec is not None
    folder = next(iter(spec.submodule_search_locations or ()))
    return Tokenizer.from_file(f"{folder}/tokenizers/l2_supercat_tokenizer_config.json")


@given(TEXTS)
def test_a_prompt_never_has_more_tokens_than_are_reserved(texts: list[str]) -> None:
    asked = ChatRequest("p", tuple(ChatMessage("user", text) for text in texts), None, 1)
    counted = sum(len(_tokenizer().encode(text).ids) for text in texts)
    assert counted <= (reserve(asked) - 700) // 2


def test_the_reservation_includes_the_schema_and_two_responses() -> None:
    bare = ChatRequest("p", (ChatMessage("user", "Who?"),), None, 1000)
    form = ChatRequest(
        "p", bare.messages, ResponseSchema("Form", {"type": "object", "x": "y" * 500}), 1000
    )
    long = ChatRequest("p", bare.messages, None, 2000)
    tokens = [reserve(one) for one in (bare, form, long)]
    assert tokens[1] > tokens[0] + 2000
    assert tokens[2] == tokens[0] + 3000
    assert tokens[0] > 3000


@given(
    st.lists(st.text("0123456789{}", max_size=400), min_size=1, max_size=6),
    st.integers(1, 6),
    st.integers(50, 400),
)
async def test_the_reservation_covers_any_number_of_retries(
    texts: list[str], asks: int, longest: int
) -> None:
    asked = ChatRequest("p", (ChatMessage("user", "Who?"),), SCHEMA, longest)
    meter = Meter(PRICES)
    babbling = Babbling([text[:longest] for text in texts])
    with suppress(BadTurn):
        await RetryingModel(
            MeteredModel(babbling, meter), RetryPolicy(max_responses=asks)
        ).complete(asked)
    used = meter.total
    assert used.prompt_tokens + used.completion_tokens <= reserve(asked)
