"""The last stage of the ranking: what a model receives, and what its ratings change."""

import json
import logging
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from tests import builders
from tests.builders import GROUP, START
from tests.fakes.models import FakeModel, scripted
from tests.retrieval.searching import search_groups
from tests.servers.canned_responses import between
from turnetl.base import ids
from turnetl.base.errors import ModelBusy
from turnetl.base.graph_model import GroupContents
from turnetl.base.model import Entity, Fact, SessionId
from turnetl.llm.chat import ChatModel, ChatRequest, ChatResponse
from turnetl.llm.embedders.static_model import WordLlamaEmbedder
from turnetl.retrieval.hits import SearchHit
from turnetl.retrieval.ranking import RERANKED

QUERY = "why is the order total wrong"
TURNS = RERANKED + 10
ENDS = (
    Entity("e1", GROUP, "cart", (), "", START),
    Entity("e2", GROUP, "checkout", (), "", START),
)


def passages_of(request: ChatRequest) -> list[str]:
    listed = between(request.messages[-1].text, "PASSAGES")
    return [passage["text"] for passage in json.loads(listed)]


def rating(rate: Callable[[str], int | None]) -> FakeModel:
    """Return a model that rates each passage by its text; None: it omits the passage."""

    async def respond(request: ChatRequest) -> ChatResponse:
        scores = [(at, rate(text)) for at, text in enumerate(passages_of(request))]
        entries = [{"passage": at, "score": score} for at, score in scores if score is not None]
        return ChatResponse(json.dumps({"scores": entries}), 100, 10, truncated=False)

    return FakeModel(respond)


def reports(count: int = TURNS) -> GroupContents:
    """Return long turns about the order total of a report each, with a fact that has ended."""
    names = [f"report{number}" for number in range(count)]
    receipts = tuple(
        builders.receipt(
            builders.episode(
                name,
                group_id=GROUP,
                session_id=SessionId(name),
                started_at=START + timedelta(hours=number),
            )
        )
        for number, name in enumerate(names)
    )
    facts = tuple(
        Fact(
            uuid=ids.digest(name),
            group_id=GROUP,
            source="e1",
            target="e2",
            relation="COMPUTES",
            text=f"`cart` computes the total of {name}",
            turns=(receipt.turn_id,),
            created_at=START,
            valid_at=START,
            invalid_at=START,
        )
        for name, receipt in zip(names, receipts, strict=True)
    )
    texts = {
        receipt.turn_id: f"user: why is the order total wrong in {name}? {'It is odd. ' * 200}\n"
        f"assistant: {'The order total was rounded too early. ' * 100}"
        for name, receipt in zip(names, receipts, strict=True)
    }
    return GroupContents(
        group_id=GROUP, profile=None, entities=ENDS, facts=facts, receipts=receipts, texts=texts
    )


async def hits(model: ChatModel | None, count: int = TURNS, limit: int = TURNS) -> list[SearchHit]:
    return await search_groups(
        [reports(count)], QUERY, WordLlamaEmbedder(), limit=limit, model=model
    )


@pytest.mark.full
async def test_the_best_turns_are_ordered_by_the_model_and_the_others_follow() -> None:
    staged = await hits(None)
    ranks = {hit.turn_id: rank for rank, hit in enumerate(staged)}
    model = rating(lambda text: 90 if "report12?" in text else 10)
    reranked = await hits(model)
    assert sum(len(passages_of(request)) for request in model.requests) == RERANKED
    favourite = next(hit for hit in staged if "report12?" in hit.prompt)
    assert reranked[0] == replace(favourite, relevance=0.9)
    others = [ranks[hit.turn_id] for hit in reranked[1:]]
    assert others == sorted(others)
    assert [hit.relevance for hit in reranked[RERANKED:]] == [None] * (TURNS - RERANKED)


@pytest.mark.full
async def test_a_turn_below_the_limit_can_become_the_first() -> None:
    last = (await hits(None))[RERANKED - 1]
    model = rating(lambda text: 100 if last.prompt[:40] in text else 0)
    assert [hit.turn_id for hit in await hits(model, limit=1)] == [last.turn_id]


@pytest.mark.full
async def test_turns_that_the_model_does_not_rate_follow_those_it_rates(
    caplog: pytest.LogCaptureFixture,
) -> None:
    model = rating(lambda text: None if "report2?" in text else 0)
    with caplog.at_level(logging.WARNING):
        reranked = await hits(model, 3)
    assert [hit.relevance for hit in reranked] == [0.0, 0.0, None]
    assert "report2?" in reranked[-1].prompt
    assert "the model rated 2 of 3 passages" in caplog.messages


async def test_a_turn_is_sent_with_its_day_its_prompt_its_best_passages_and_its_facts() -> None:
    model = rating(lambda _: 0)
    await hits(model, 1)
    ((text,),) = map(passages_of, model.requests)
    title, *passages, fact = text.split("\n")
    assert title.startswith(f"{START:%Y-%m-%d} why is the order total wrong in report0?")
    assert any("rounded too early" in passage for passage in passages)
    assert fact == f"- `cart` computes the total of report0 (until {START:%Y-%m-%d})"
    assert len(text) < 2_000


@pytest.mark.full
async def test_a_repeated_search_sends_equal_requests() -> None:
    first, second = rating(lambda _: 50), rating(lambda _: 50)
    assert await hits(first) == await hits(second)
    assert first.requests == second.requests


@pytest.mark.full
async def test_a_failure_of_the_model_ends_the_search() -> None:
    with pytest.raises(ModelBusy):
        await hits(scripted([ModelBusy("overloaded")]))
