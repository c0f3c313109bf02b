"""Facts of a turn share requests, and each gets the response that it would get alone."""

import asyncio
import gc
import json
from collections.abc import Sequence
from typing import Any

import pytest
from graphiti_core.prompts.dedupe_edges import EdgeDuplicate
from hypothesis import given
from hypothesis import strategies as st

from tests.extraction.canned_model import CannedModel, ResponseRule
from tests.extraction.extraction_dump import respond
from tests.llm.test_prompt_delimiters import TEXTS
from tests.servers.fact_questions import questions
from turnetl.errors import BadTurn, BudgetExhausted, ModelBusy, TooLong
from turnetl.extraction.llm.compact_prompts import compact_prompts
from turnetl.extraction.llm.fact_batches import FactBatches
from turnetl.extraction.llm.fact_questions import (
    MAX_REQUEST_CHARS,
    PER_REQUEST,
    PROMPT,
    SINGLE_PROMPT,
    numbers,
)
from turnetl.llm.chat import ChatMessage, ChatRequest, ChatResponse, response_schema
from turnetl.model import Usage

NO_OTHER: dict[str, list[int]] = {"duplicate_facts": [], "contradicted_facts": []}


def about(fact: str, known: Sequence[str] = ("a known fact",)) -> ChatRequest:
    """Return Graphiti's request about one fact."""
    context = {
        "new_edge": fact,
        "existing_edges": [{"idx": index, "fact": text} for index, text in enumerate(known)],
        "edge_invalidation_candidates": [],
    }
    messages = compact_prompts().dedupe_edges.resolve_edge(context).as_messages()
    return ChatRequest(
        SINGLE_PROMPT,
        (ChatMessage("system", messages[0].content), ChatMessage("user", messages[1].content)),
        response_schema(EdgeDuplicate),
        100,
    )


async def ask_together(
    rule: ResponseRule, requests: Sequence[ChatRequest]
) -> tuple[list[ChatResponse], CannedModel]:
    model = CannedModel(rule)
    batches = FactBatches(model)
    return await asyncio.gather(*map(batches.complete, requests)), model


def answer_all(request: ChatRequest) -> dict[str, Any]:
    return {"fact_resolutions": [{"id": number, **NO_OTHER} for number in numbers(request)]}


@given(st.lists(st.tuples(TEXTS, st.lists(TEXTS, max_size=4)), min_size=1, max_size=20))
async def test_each_fact_gets_the_response_that_it_would_get_alone(
    facts: list[tuple[str, list[str]]],
) -> None:
    requests = [about(*fact) for fact in facts]
    together, model = await ask_together(respond, requests)
    assert [json.loads(one.text) for one in together] == list(map(respond, requests))
    assert len(model.requests) == -(-len(requests) // PER_REQUEST)
    asked = [text for one in model.requests for _, text in questions(one.messages[1].text)]
    assert asked == [request.messages[1].text for request in requests]


async def test_the_usage_of_a_request_is_counted_once() -> None:
    responses, _ = await ask_together(answer_all, [about(str(number)) for number in range(5)])
    used = sum((response.usage for response in responses), Usage())
    assert (used.calls, used.prompt_tokens, used.completion_tokens) == (1, 100, 10)


async def test_long_facts_are_sent_in_several_requests() -> None:
    long = about("x" * (MAX_REQUEST_CHARS // 2))
    _, model = await ask_together(answer_all, [long, about("short"), long, long, long])
    assert [list(numbers(request)) for request in model.requests] == [[0, 1], [0], [0], [0]]


async def test_facts_that_are_asked_one_after_the_other_do_not_wait_for_each_other() -> None:
    model = CannedModel(answer_all)
    batches = FactBatches(model)
    for fact in "ab":
        await batches.complete(about(fact))
    assert len(model.prompts(PROMPT)) == 2


async def test_facts_that_do_not_fit_together_are_sent_in_halves() -> None:
    def two_at_most(request: ChatRequest) -> dict[str, Any]:
        if len(numbers(request)) > 2:
            raise TooLong("too long", Usage(calls=1, prompt_tokens=7))
        return answer_all(request)

    responses, model = await ask_together(two_at_most, [about(str(n)) for n in range(5)])
    assert [len(numbers(request)) for request in model.requests] == [5, 2, 3, 1, 2]
    used = sum((response.usage for response in responses), Usage())
    assert (used.calls, used.prompt_tokens) == (5, 7 + 7 + 300)


async def test_one_fact_that_does_not_fit_fails_all_of_its_request() -> None:
    def none_fits(_: ChatRequest) -> str:
        raise TooLong("too long", Usage(calls=1))

    batches = FactBatches(CannedModel(none_fits))
    asked = [batches.complete(about(fact)) for fact in "abc"]
    errors = await asyncio.gather(*asked, return_exceptions=True)
    assert all(isinstance(error, TooLong) for error in errors)
    calls = [error.usage.calls for error in errors if isinstance(error, TooLong)]
    assert calls == [2, 0, 0]


async def test_a_turn_that_fails_in_the_end_has_the_usage_of_all_its_requests() -> None:
    def fail_second_half(request: ChatRequest) -> dict[str, Any]:
        if len(numbers(request)) > 1:
            raise TooLong("too long", Usage(calls=1, prompt_tokens=7))
        if "second" in request.messages[1].text:
            raise BadTurn("declined", Usage(calls=1, prompt_tokens=5))
        return answer_all(request)

    batches = FactBatches(CannedModel(fail_second_half))
    asked = [batches.complete(about(fact)) for fact in ("first", "second")]
    first, other = await asyncio.gather(*asked, return_exceptions=True)
    assert isinstance(first, ChatResponse)
    assert isinstance(other, BadTurn)
    assert (first.usage.calls, first.usage.prompt_tokens) == (3, 7 + 100 + 5)
    assert other.usage == Usage()


@pytest.mark.parametrize("error", [ModelBusy("busy"), BudgetExhausted("used up")])
async def test_facts_that_are_answered_before_an_error_without_usage_keep_what_they_cost(
    error: ModelBusy | BudgetExhausted,
) -> None:
    def answer_last(request: ChatRequest) -> dict[str, Any]:
        if len(numbers(request)) < 3:
            raise error
        return {"fact_resolutions": [{"id": 2, **NO_OTHER}]}

    batches = FactBatches(CannedModel(answer_last))
    asked = [batches.complete(about(fact)) for fact in "abc"]
    *failed, last = await asyncio.gather(*asked, return_exceptions=True)
    assert [(type(one), str(one)) for one in failed] == [(type(error), str(error))] * 2
    assert isinstance(last, ChatResponse)
    assert (last.usage.calls, last.usage.prompt_tokens) == (1, 100)


async def test_a_response_that_is_invalid_for_one_fact_is_asked_again_in_halves() -> None:
    def confused_by_bad(request: ChatRequest) -> dict[str, Any] | str:
        asked = len(numbers(request))
        if asked > 2 and "bad" in request.messages[1].text:
            raise BadTurn("invalid", Usage(calls=5, prompt_tokens=7))
        if asked == 2 and "bad" in request.messages[1].text:
            return json.dumps({"fact_resolutions": [{"id": 0, "duplicate_facts": None}]})
        return answer_all(request)

    facts = ["a", "b", "c", "d", "e", "bad", "f", "g"]
    responses, model = await ask_together(confused_by_bad, [about(fact) for fact in facts])
    assert [json.loads(one.text) for one in responses] == [NO_OTHER] * 8
    assert [len(numbers(request)) for request in model.requests] == [8, 4, 4, 2, 1, 1, 2]
    used = sum((response.usage for response in responses), Usage())
    assert (used.calls, used.prompt_tokens) == (5 + 1 + 5 + 4, 7 + 100 + 7 + 400)


@pytest.mark.parametrize("error", [BadTurn("declined", Usage(calls=2)), ModelBusy("busy")])
async def test_the_failure_of_a_request_fails_all_of_its_facts(
    error: BadTurn | ModelBusy,
) -> None:
    def fail(_: ChatRequest) -> str:
        raise error

    batches = FactBatches(CannedModel(fail))
    asked = [batches.complete(about(fact)) for fact in "abc"]
    raised = await asyncio.gather(*asked, return_exceptions=True)
    assert [(type(one), str(one)) for one in raised] == [(type(error), str(error))] * 3
    # One request about all facts, and one about the first of them alone.
    expected = 2 * 2 if isinstance(error, BadTurn) else 0
    assert sum(one.usage.calls for one in raised if isinstance(one, BadTurn)) == expected


@pytest.mark.parametrize("answered", [[], [0], [2, 0], [1, 1]])
async def test_what_a_response_leaves_out_is_asked_again(answered: list[int]) -> None:
    def leave_out(request: ChatRequest) -> dict[str, Any]:
        if len(numbers(request)) < 3:
            return answer_all(request)
        contradicted = [{"id": n, **NO_OTHER, "contradicted_facts": [n]} for n in answered]
        return {"fact_resolutions": contradicted}

    responses, model = await ask_together(leave_out, [about(fact) for fact in "abc"])
    contradicted = [json.loads(one.text)["contradicted_facts"] for one in responses]
    assert contradicted == [[n] if n in answered else [] for n in range(3)]
    asked_again = sum(len(numbers(request)) for request in model.requests[1:])
    assert asked_again == 3 - len({0, 1, 2} & set(answered))
    assert sum(one.usage.calls for one in responses) == len(model.requests)


@pytest.mark.parametrize("ids", [[1, 2, 3], [0, 1, 2, 3], [0, -1], [0, 1, 1], [10**30]])
async def test_answers_whose_ids_are_not_those_of_the_questions_are_given_to_no_fact(
    ids: list[int],
) -> None:
    def answer_wrongly(request: ChatRequest) -> dict[str, Any]:
        if len(numbers(request)) < 3:
            return answer_all(request)
        resolutions = [
            {"id": one, **NO_OTHER, "duplicate_facts": [order]} for order, one in enumerate(ids)
        ]
        return {"fact_resolutions": resolutions}

    responses, model = await ask_together(answer_wrongly, [about(fact) for fact in "abc"])
    assert [json.loads(one.text) for one in responses] == [NO_OTHER] * 3
    assert [len(numbers(request)) for request in model.requests] == [3, 1, 2]


async def test_the_only_answer_to_a_single_question_needs_no_number() -> None:
    def answer_first(_: ChatRequest) -> dict[str, Any]:
        return {"fact_resolutions": [{"id": 1, **NO_OTHER}]}

    (response,), _ = await ask_together(answer_first, [about("a")])
    assert json.loads(response.text) == NO_OTHER


@pytest.mark.parametrize("text", ['{"fact_resolutions": []}', "prose", '{"fact_resolutions": [1]}'])
async def test_a_model_that_answers_nothing_fails_the_turn(text: str) -> None:
    batches = FactBatches(CannedModel(lambda _: text))
    asked = [batches.complete(about(fact)) for fact in "abc"]
    errors = await asyncio.gather(*asked, return_exceptions=True)
    assert all(isinstance(error, BadTurn) for error in errors)
    assert {error.usage.calls > 0 for error in errors if isinstance(error, BadTurn)} == {
        True,
        False,
    }


@pytest.mark.parametrize("cancelled", [0, 1, 2])
@pytest.mark.parametrize("is_sent", [True, False])
async def test_the_facts_beside_a_cancelled_one_get_their_responses_and_the_usage(
    cancelled: int, *, is_sent: bool
) -> None:
    model = CannedModel(answer_all)
    received, answers = asyncio.Event(), asyncio.Event()
    model.received[PROMPT], model.blocked[PROMPT] = received, answers
    batches = FactBatches(model)
    tasks = [asyncio.create_task(batches.complete(about(fact))) for fact in "abc"]
    await (received.wait() if is_sent else asyncio.sleep(0))
    tasks.pop(cancelled).cancel()
    answers.set()
    responses = await asyncio.gather(*tasks)
    assert sum(response.usage.calls for response in responses) == 1
    assert [list(numbers(request)) for request in model.requests] == [[0, 1, 2][: 2 + is_sent]]
    await batches.complete(about("a later fact"))
    assert len(model.requests) == 2


@pytest.mark.parametrize("is_sent", [True, False])
@pytest.mark.parametrize("is_closed", [True, False])
async def test_when_all_facts_are_cancelled_or_the_model_is_closed_no_task_is_left(
    *, is_closed: bool, is_sent: bool
) -> None:
    model, before = CannedModel(answer_all), asyncio.all_tasks()
    received = model.received[PROMPT] = asyncio.Event()
    model.blocked[PROMPT] = asyncio.Event()
    batches = FactBatches(model)
    tasks = [asyncio.create_task(batches.complete(about(fact))) for fact in "abc"]
    await (received.wait() if is_sent else asyncio.sleep(0))
    if is_closed:
        await batches.close()
    else:
        for task in tasks:
            task.cancel()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert all(isinstance(result, asyncio.CancelledError) for result in results)
    for _ in range(5):
        await asyncio.sleep(0)
    assert asyncio.all_tasks() == before
    assert len(model.requests) == is_sent


async def test_an_error_that_nobody_waits_for_any_more_is_not_reported_as_lost() -> None:
    reported: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context))

    def fail(_: ChatRequest) -> str:
        raise ModelBusy("busy")

    model = CannedModel(fail)
    received, answers = asyncio.Event(), asyncio.Event()
    model.received[PROMPT], model.blocked[PROMPT] = received, answers
    batches = FactBatches(model)
    tasks = [asyncio.create_task(batches.complete(about(fact))) for fact in "abc"]
    await received.wait()
    answers.set()
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await asyncio.sleep(0)
    del tasks
    gc.collect()
    assert reported == []


async def test_an_unexpected_error_of_the_model_reaches_every_fact() -> None:
    def fail(_: ChatRequest) -> str:
        raise ZeroDivisionError

    batches = FactBatches(CannedModel(fail))
    asked = [batches.complete(about(fact)) for fact in "abc"]
    errors = await asyncio.gather(*asked, return_exceptions=True)
    assert [type(error) for error in errors] == [ZeroDivisionError] * 3


async def test_other_requests_pass_through() -> None:
    model = CannedModel(lambda _: "any")
    request = ChatRequest("another", (ChatMessage("user", "text"),), None, 100)
    response = await FactBatches(model).complete(request)
    assert (response.text, model.requests) == ("any", [request])
