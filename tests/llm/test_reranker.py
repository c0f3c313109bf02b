"""Graphiti's cross-encoder over a model."""

import json
import logging
from collections.abc import Mapping

import pytest

from tests.fakes.models import FakeModel, scripted
from tests.servers.canned_responses import between
from turnetl.base.errors import BadTurn, ModelBusy
from turnetl.llm.chat import PROMPTS, ChatRequest, ChatResponse
from turnetl.llm.graphiti import PROMPT, GraphitiReranker

PASSAGES = ["the cart", "a float", "integer cents"]


def response(scores: Mapping[int, int]) -> ChatResponse:
    entries = [{"passage": passage, "score": score} for passage, score in scores.items()]
    return ChatResponse(json.dumps({"scores": entries}), 100, 10, truncated=False)


def passages_of(request: ChatRequest) -> list[str]:
    listed = between(request.messages[-1].text, "PASSAGES")
    return [passage["text"] for passage in json.loads(listed)]


async def test_passages_are_ordered_by_the_scores_of_the_model() -> None:
    model = scripted([response({0: 10, 1: 40, 2: 95})])
    ranked = await GraphitiReranker(model).rank("why cents", PASSAGES)
    assert ranked == [("integer cents", 0.95), ("a float", 0.4), ("the cart", 0.1)]
    (request,) = model.requests
    assert request.prompt_name == PROMPT
    assert passages_of(request) == PASSAGES
    assert "why cents" in request.messages[-1].text


def test_its_prompt_can_have_a_model_of_its_own() -> None:
    assert PROMPT in PROMPTS


async def test_equal_scores_keep_the_order_of_the_passages() -> None:
    ranked = await GraphitiReranker(scripted([response({0: 5, 1: 5, 2: 5})])).rank("q", PASSAGES)
    assert [passage for passage, _ in ranked] == PASSAGES


async def test_nothing_is_asked_about_no_passage() -> None:
    model = scripted([response({})])
    assert await GraphitiReranker(model).rank("q", []) == []
    assert model.requests == []


async def test_passages_without_a_score_come_last_and_are_counted_in_a_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    model = scripted([response({1: 300, 2: -4, 7: 50})])
    with caplog.at_level(logging.WARNING):
        ranked = await GraphitiReranker(model).rank("q", PASSAGES)
    assert ranked == [("a float", 1.0), ("the cart", 0.0), ("integer cents", 0.0)]
    assert [record.getMessage() for record in caplog.records] == ["the model rated 2 of 3 passages"]


async def test_many_or_long_passages_are_rated_in_several_requests() -> None:
    async def rate(request: ChatRequest) -> ChatResponse:
        return response(dict.fromkeys(range(len(passages_of(request))), 50))

    model = FakeModel(rate)
    reranker = GraphitiReranker(model)
    many = [f"passage {number}" for number in range(45)]
    assert {passage for passage, _ in await reranker.rank("q", many)} == set(many)
    assert [len(passages_of(request)) for request in model.requests] == [20, 20, 5]
    long = [f"{number} {'x' * 20_000} end" for number in range(7)]
    assert len(await reranker.rank("q", long)) == 7
    batches = [passages_of(request) for request in model.requests[3:]]
    assert [len(batch) for batch in batches] == [5, 2]
    assert all(len(text) < 4_100 and text.endswith(" end") for batch in batches for text in batch)
    assert len(model.requests) == 5


async def test_an_invalid_response_is_reported_with_the_prompt() -> None:
    reranker = GraphitiReranker(scripted([ChatResponse("no JSON", 100, 10, truncated=False)]))
    with pytest.raises(BadTurn, match=r"`search\.rerank`: it is not JSON"):
        await reranker.rank("q", PASSAGES)


async def test_a_failure_of_the_model_is_raised() -> None:
    with pytest.raises(ModelBusy):
        await GraphitiReranker(scripted([ModelBusy("overloaded")])).rank("q", PASSAGES)
