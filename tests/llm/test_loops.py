"""Responses of models that repeat themselves, and the limit that ends them."""

import json
from dataclasses import replace

import pytest
from graphiti_core.prompts.extract_nodes import ExtractedEntities

from tests.fakes.models import FakeModel, scripted
from tests.llm import virtual_clock
from turnetl.base.errors import TooLong
from turnetl.llm.chat import ChatMessage, ChatRequest, ChatResponse, response_schema
from turnetl.llm.loops import BoundedModel, distinct_entries, repeats_itself, sensible_tokens
from turnetl.llm.providers.schemas import bounded
from turnetl.llm.retry import RetryingModel, RetryPolicy

REQUEST = ChatRequest(
    "extract_nodes.extract_message",
    (ChatMessage("user", "hello " * 50),),
    response_schema(ExtractedEntities),
    16_384,
)
ENTRIES = [f'{{"name": "part {number}", "entity_type_id": 0}}' for number in range(3)]
LOOP = '{"extracted_entities": [' + ", ".join(ENTRIES * 40) + ', {"name": "pa'
CUT = '{"extracted_entities": [' + ", ".join(
    f'{{"name": "{number**9:x}", "entity_type_id": {number}}}' for number in range(100)
)


def response(text: str, tokens: int = 10, *, truncated: bool = False) -> ChatResponse:
    return ChatResponse(text, 100, tokens, truncated)


def complete(model: FakeModel, *, bounded_first: bool = True) -> ChatResponse:
    inner = BoundedModel(model) if bounded_first else model
    return virtual_clock.run(RetryingModel(inner, RetryPolicy()).complete(REQUEST))


def test_only_a_text_that_repeats_its_entries_is_a_loop() -> None:
    assert repeats_itself(LOOP)
    assert not repeats_itself(CUT)
    assert not repeats_itself(LOOP[:1_000]), "too short to tell"


def test_the_limit_is_as_long_as_what_is_asked_but_never_more_than_that_of_the_request() -> None:
    assert sensible_tokens(REQUEST) == 1_000
    instructions = ChatMessage("system", "x" * 20_000), ChatMessage("user", "Which files?")
    assert sensible_tokens(replace(REQUEST, messages=instructions)) == 1_000
    long = replace(REQUEST, messages=(ChatMessage("user", "x" * 20_000),))
    assert sensible_tokens(long) == 5_000
    assert sensible_tokens(replace(long, max_tokens=600)) == 600


@pytest.mark.parametrize("bounded_first", [True, False])
def test_of_a_loop_each_entry_is_kept_once(bounded_first: bool) -> None:
    model = scripted([response(LOOP, 1_000, truncated=True)])
    parsed = json.loads(complete(model, bounded_first=bounded_first).text)
    assert [entry["name"] for entry in parsed["extracted_entities"]] == [
        "part 0",
        "part 1",
        "part 2",
    ]
    assert [one.max_tokens for one in model.requests] == [1_000 if bounded_first else 16_384]


def test_a_loop_without_a_whole_entry_is_too_long() -> None:
    model = scripted(
        [response('{"extracted_entities": [{"name": "' + "ab " * 900, 1_000, truncated=True)]
    )
    with pytest.raises(TooLong, match="was truncated after 1,000 tokens"):
        complete(model)
    assert distinct_entries("no list") is None


@pytest.mark.parametrize("says_so", [True, False])
def test_a_response_that_needs_more_is_requested_once_more_and_later_ones_have_no_limit(
    says_so: bool,
) -> None:
    whole = response('{"extracted_entities": []}', 3_000)
    model = scripted([response(CUT, 1_000, truncated=says_so), whole, whole])
    bound = BoundedModel(model)
    first = virtual_clock.run(bound.complete(REQUEST))
    assert (first.text, first.completion_tokens, first.calls) == (whole.text, 4_000, 2)
    virtual_clock.run(bound.complete(REQUEST))
    assert [one.max_tokens for one in model.requests] == [1_000, 16_384, 16_384]


def test_every_list_of_a_schema_is_limited_for_servers_that_enforce_it() -> None:
    schema = bounded(ExtractedEntities.model_json_schema(), 6)
    assert schema["properties"]["extracted_entities"]["maxItems"] == 6
    entity = schema["$defs"]["ExtractedEntity"]["properties"]
    assert entity["episode_indices"]["maxItems"] == 6
    assert "maxItems" not in entity["name"]
