"""When two requests are the same."""

import json
import random
from dataclasses import replace
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic import BaseModel

from tests.llm.journal_fixtures import NAME, request
from turnetl.llm.chat import ChatMessage, ChatRequest, ResponseSchema
from turnetl.llm.journal import request_key

TEXTS = st.text(st.characters(codec=None), max_size=20)
"""With lone surrogates: archives have them."""
PLAIN = st.text(max_size=8)
LEAVES = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | PLAIN
TREES = st.recursive(
    LEAVES, lambda below: st.lists(below, max_size=3) | st.dictionaries(PLAIN, below, max_size=3)
)
SCHEMAS = st.builds(ResponseSchema, PLAIN, st.dictionaries(PLAIN, TREES, max_size=4))
SAID = st.builds(ChatMessage, st.sampled_from(["system", "user", "assistant"]), TEXTS)
QUESTIONS = st.builds(
    ChatRequest,
    st.just("a.prompt"),
    st.lists(SAID, max_size=3).map(tuple),
    st.none() | SCHEMAS,
    st.integers(1, 9),
)


class Form(BaseModel):
    names: list[str]


@given(TEXTS, QUESTIONS, TEXTS, QUESTIONS)
def test_different_requests_have_different_keys(
    name: str, one: ChatRequest, other_name: str, other: ChatRequest
) -> None:
    assume((name, one.messages, one.max_tokens) != (other_name, other.messages, other.max_tokens))
    assert request_key(name, one) != request_key(other_name, other)


@given(QUESTIONS, SCHEMAS, SCHEMAS)
def test_different_schemas_have_different_keys(
    asked: ChatRequest, one: ResponseSchema, other: ResponseSchema
) -> None:
    # In JSON 1 and true differ, in Python they do not.
    assume((one.name, json.dumps(one.json)) != (other.name, json.dumps(other.json)))
    assume(one != other)
    with_one, with_other = replace(asked, schema=one), replace(asked, schema=other)
    assert request_key(NAME, with_one) != request_key(NAME, with_other)
    assert request_key(NAME, with_one) != request_key(NAME, replace(asked, schema=None))


@given(QUESTIONS, st.randoms(use_true_random=False))
def test_the_order_of_a_schemas_keys_does_not_matter(
    asked: ChatRequest, chance: random.Random
) -> None:
    assume(asked.schema is not None and len(asked.schema.json) > 1)
    assert asked.schema is not None
    turned = replace(
        asked, schema=ResponseSchema(asked.schema.name, _shuffled(asked.schema.json, chance))
    )
    assert request_key(NAME, turned) == request_key(NAME, asked)


@given(QUESTIONS)
def test_values_that_providers_do_not_receive_do_not_matter(asked: ChatRequest) -> None:
    schema = asked.schema and ResponseSchema(asked.schema.name, asked.schema.json, Form)
    same = replace(asked, prompt_name="another.name", schema=schema)
    assert request_key(NAME, same) == request_key(NAME, asked)


@given(QUESTIONS, st.text(max_size=4), st.text(max_size=4))
def test_different_parameters_have_different_keys(asked: ChatRequest, one: str, other: str) -> None:
    assume(one != other)
    assert request_key(NAME, asked, one) != request_key(NAME, asked, other)


def test_the_order_of_a_schemas_lists_matters() -> None:
    one, other = (
        ResponseSchema("F", {"required": ["a", "b"]}),
        ResponseSchema("F", {"required": ["b", "a"]}),
    )
    asked = request()
    assert request_key(NAME, replace(asked, schema=one)) != request_key(
        NAME, replace(asked, schema=other)
    )


def test_the_boundaries_of_messages_matter() -> None:
    one = (ChatMessage("user", "ab"), ChatMessage("user", "c"))
    other = (ChatMessage("user", "a"), ChatMessage("user", "bc"))
    asked = request()
    assert request_key(NAME, replace(asked, messages=one)) != request_key(
        NAME, replace(asked, messages=other)
    )


def test_a_key_is_the_same_in_every_version_and_on_every_machine() -> None:
    asked = replace(request(), schema=ResponseSchema("Form", {"type": "object", "required": ["a"]}))
    assert request_key(NAME, asked) == "9ccd2ace6f029de4f350e2e0caecf52f"


def _shuffled(value: Any, chance: random.Random) -> Any:
    if isinstance(value, list):
        return [_shuffled(entry, chance) for entry in value]
    if not isinstance(value, dict):
        return value
    keys = list(value)
    chance.shuffle(keys)
    return {key: _shuffled(value[key], chance) for key in keys}
