"""Facts of a turn share requests, and each gets the response that it would get alone."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.extraction.canned_model import CannedModel
from tests.extraction.extraction_dump import respond
from tests.extraction.fact_requests import NO_OTHER, about, answer_all, ask_together
from tests.llm.test_prompt_delimiters import TEXTS
from tests.servers.fact_questions import questions
from turnetl.base.model import Usage
from turnetl.extraction.llm.fact_batches import (
    MAX_REQUEST_CHARS,
    PER_REQUEST,
    PROMPT,
    FactBatches,
    fact_numbers,
)
from turnetl.llm.chat import ChatMessage, ChatRequest


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
    assert [list(fact_numbers(request)) for request in model.requests] == [
        [11, 22],
        [11],
        [11],
        [11],
    ]


async def test_facts_that_are_asked_one_after_the_other_do_not_wait_for_each_other() -> None:
    model = CannedModel(answer_all)
    batches = FactBatches(model)
    for fact in "ab":
        await batches.complete(about(fact))
    assert len(model.prompts(PROMPT)) == 2


@pytest.mark.parametrize("answered", [[], [0], [2, 0], [1, 1]])
async def test_what_a_response_leaves_out_is_asked_again(answered: list[int]) -> None:
    def leave_out(request: ChatRequest) -> dict[str, Any]:
        if len(fact_numbers(request)) < 3:
            return answer_all(request)
        ids = fact_numbers(request)
        contradicted = [{"id": ids[n], **NO_OTHER, "contradicted_facts": [n]} for n in answered]
        return {"fact_resolutions": contradicted}

    responses, model = await ask_together(leave_out, [about(fact) for fact in "abc"])
    contradicted = [json.loads(one.text)["contradicted_facts"] for one in responses]
    assert contradicted == [[n] if n in answered else [] for n in range(3)]
    asked_again = sum(len(fact_numbers(request)) for request in model.requests[1:])
    assert asked_again == 3 - len({0, 1, 2} & set(answered))
    assert sum(one.usage.calls for one in responses) == len(model.requests)


@pytest.mark.parametrize(
    "ids",
    [
        *([0, 1, 2], [1, 2, 3], [12, 23, 34], [11, 22, 33, 44], [11, -1], [11, 22, 22], [10**30]),
        # The last answer is missing, and the others are counted from 1 or from 0.
        *([1, 2], [0, 1]),
    ],
)
async def test_answers_whose_ids_are_not_those_of_the_questions_are_given_to_no_fact(
    ids: list[int],
) -> None:
    def answer_wrongly(request: ChatRequest) -> dict[str, Any]:
        if len(fact_numbers(request)) < 3:
            return answer_all(request)
        resolutions = [
            {"id": one, **NO_OTHER, "duplicate_facts": [order]} for order, one in enumerate(ids)
        ]
        return {"fact_resolutions": resolutions}

    responses, model = await ask_together(answer_wrongly, [about(fact) for fact in "abc"])
    assert [json.loads(one.text) for one in responses] == [NO_OTHER] * 3
    assert [len(fact_numbers(request)) for request in model.requests] == [3, 1, 2]


async def test_the_only_answer_to_a_single_question_needs_no_number() -> None:
    def answer_first(_: ChatRequest) -> dict[str, Any]:
        return {"fact_resolutions": [{"id": 1, **NO_OTHER}]}

    (response,), _ = await ask_together(answer_first, [about("a")])
    assert json.loads(response.text) == NO_OTHER


async def test_other_requests_pass_through() -> None:
    model = CannedModel(lambda _: "any")
    request = ChatRequest("another", (ChatMessage("user", "text"),), None, 100)
    response = await FactBatches(model).complete(request)
    assert (response.text, model.requests) == ("any", [request])
