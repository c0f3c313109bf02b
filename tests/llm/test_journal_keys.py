"""Keys of requests: equal for equal requests only."""

import json
import random
from dataclasses import replace
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic import BaseModel

from tests.llm.journal_fixtures import NAME, chat_request
from turnetl.llm.chat import ChatMessage, ChatRequest, ResponseSchema
from turnetl.llm.journal import request_key

TEXTS = st.text(st.characters(codec=None), max_size=20)
"""With lone surrogates, as in some archives."""
PLAIN = st.text(max_size=8)
LEAVES = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | PLAIN
TREES = st.recursive(
    LEAVES,
    lambda children: st.lists(children, max_size=3) | st.dictionaries(PLAIN, children, max_size=3),
)
SCHEMAS = st.builds(ResponseSchema, PLAIN, st.dictionaries(PLAIN, TREES, max_size=4))
MESSAGES = st.builds(ChatMessage, st.sampled_from(["system", "user", "assistant"]), TEXTS)
REQUESTS = st.builds(
    ChatRequest,
    st.just("a.prompt"),
    st.lists(MESSAGES, max_size=3).map(tuple),
    st.none() | SCHEMAS,
    st.integers(1, 9),
)


class KeyForm(BaseModel):
    names: list[str]


@given(TEXTS, REQUESTS, TEXTS, REQUESTS)
def test_different_requests_have_different_keys(
    first_name: str, first: ChatRequest, second_name: str, second: ChatRequest
) -> None:
    assume(
        (first_name, first.messages, first.max_tokens)
        != (second_name, second.messages, second.max_tokens)
    )
    assert request_key(first_name, first) != request_key(second_name, second)


@given(REQUESTS, SCHEMAS, SCHEMAS)
def test_different_schemas_have_different_keys(
    request: ChatRequest, first: ResponseSchema, second: ResponseSchema
) -> None:
    # 1 and true differ in JSON, but are equal in Python.
    assume((first.name, json.dumps(first.json)) != (second.name, json.dumps(second.json)))
    assume(first != second)
    with_first, with_second = replace(request, schema=first), replace(request, schema=second)
    assert request_key(NAME, with_first) != request_key(NAME, with_second)
    assert request_key(NAME, with_first) != request_key(NAME, replace(request, schema=None))


@given(REQUESTS, st.randoms(use_true_random=False))
def test_the_order_of_a_schemas_keys_does_not_matter(
    request: ChatRequest, chance: random.Random
) -> None:
    assume(request.schema is not None and len(request.schema.json) > 1)
    assert request.schema is not None
    reordered = replace(
        request, schema=ResponseSchema(request.schema.name, _shuffled(request.schema.json, chance))
    )
    assert request_key(NAME, reordered) == request_key(NAME, request)


@given(REQUESTS)
def test_values_that_providers_do_not_receive_do_not_matter(request: ChatRequest) -> None:
    schema = request.schema and ResponseSchema(request.schema.name, request.schema.json, KeyForm)
    same = replace(request, prompt_name="another.name", schema=schema)
    assert request_key(NAME, same) == request_key(NAME, request)


@given(REQUESTS, st.text(max_size=4), st.text(max_size=4))
def test_different_parameters_have_different_keys(
    request: ChatRequest, first: str, second: str
) -> None:
    assume(first != second)
    assert request_key(NAME, request, first) != request_key(NAME, request, second)


def test_the_order_of_a_schemas_lists_matters() -> None:
    first, second = (
        ResponseSchema("F", {"required": ["a", "b"]}),
        ResponseSchema("F", {"required": ["b", "a"]}),
    )
    request = chat_request()
    assert request_key(NAME, replace(request, schema=first)) != request_key(
        NAME, replace(request, schema=second)
    )


def test_the_boundaries_of_messages_matter() -> None:
    first = (ChatMessage("user", "ab"), ChatMessage("user", "c"))
    second = (ChatMessage("user", "a"), ChatMessage("user", "bc"))
    request = chat_request()
    assert request_key(NAME, replace(request, messages=first)) != request_key(
        NAME, replace(request, messages=second)
    )


def test_a_key_is_the_same_in_every_version_and_on_every_machine() -> None:
    request = replace(
        chat_request(), schema=ResponseSchema("Form", {"type": "object", "required": ["a"]})
    )
    assert request_key(NAME, request) == "9ccd2ace6f029de4f350e2e0caecf52f"


def _shuffled(value: Any, chance: random.Random) -> Any:
    if isinstance(value, list):
        return [_shuffled(entry, chance) for entry in value]
    if not isinstance(value, dict):
        return value
    keys = list(value)
    chance.shuffle(keys)
    return {key: _shuffled(value[key], chance) for key in keys}
