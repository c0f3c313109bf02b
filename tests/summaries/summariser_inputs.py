"""Entities to summarise, and a model that answers about them."""

import json
from collections.abc import Callable
from dataclasses import replace

from tests.builders import GROUP
from tests.fakes.models import FakeModel
from tests.servers.summary_responses import RESPONDERS, described_entities
from tests.summaries.facts import START, fact, vector
from turnetl.base.model import Entity
from turnetl.llm.chat import ChatRequest, ChatResponse
from turnetl.summaries.port import SummaryInput

PARSER = Entity("parser", GROUP, "parser.py", ("File",), "", START)


def model_of_summaries(
    summaries: Callable[[dict[int, str]], object] | Exception | None = None,
) -> FakeModel:
    """Return a model that answers from what a request says about each entity, by its number."""

    async def respond(request: ChatRequest) -> ChatResponse:
        prompt = request.messages[-1].text
        if isinstance(summaries, Exception):
            raise summaries
        if summaries is None:
            answer: object = RESPONDERS["entity_summaries"](prompt)
        else:
            answer = {"entity_summaries": summaries(described_entities(prompt))}
        return ChatResponse(json.dumps(answer), 100, 10, truncated=False)

    return FakeModel(respond)


def given(uuid: str, facts: int, previous: str = "", *, ended: bool = False) -> SummaryInput:
    """Return an entity with active facts, and one invalidated one if asked for."""
    active = tuple(
        fact(f"{uuid}-{number}", f"parser.py reads format {number}", vector(number + 1, 1))
        for number in range(facts)
    )
    invalidated = (fact("gone", "reads XML", vector(1, 2), invalid_at=START),) if ended else ()
    entity = replace(PARSER, uuid=uuid, summary=previous)
    return SummaryInput(
        entity, previous, active, frozenset(one.uuid for one in active), invalidated
    )


def many(count: int, facts: int = 400) -> list[SummaryInput]:
    return [given(f"e{number:02}", facts, "It reads.") for number in range(count)]
