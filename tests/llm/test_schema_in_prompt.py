"""Servers that reject or ignore response schemas."""

import pytest
from graphiti_core.prompts.extract_edges import ExtractedEdges

from tests.servers.provider import KEY, FakeProvider, Fault
from turnetl.base.errors import BadTurn, ModelBusy
from turnetl.llm import retry
from turnetl.llm.chat import ChatMessage, ChatModel, ChatRequest, response_schema
from turnetl.llm.providers.registry import open_model

REQUEST = ChatRequest(
    "extract_edges.edge",
    (ChatMessage("system", "You extract facts."), ChatMessage("user", "`cart.py` uses `sqlite`.")),
    response_schema(ExtractedEdges),
    1000,
)
VALID = '{"edges": []}'
NO_SCHEMA = Fault(400, '{"error": {"message": "This response_format type is unavailable now"}}')


def open_local_model(provider: FakeProvider) -> ChatModel:
    url = provider.base_url("openai-compatible")
    return open_model("openai-compatible", model="local", base_url=url, api_key=KEY)


@pytest.mark.parametrize(
    "rejection",
    [
        NO_SCHEMA,
        Fault(500, '{"error": {"message": "failed to parse grammar"}}'),
        Fault(422, '{"detail": [{"loc": ["body", "response_format"], "msg": "not permitted"}]}'),
    ],
)
async def test_a_server_that_rejects_schemas_gets_them_in_the_prompt(
    provider: FakeProvider, rejection: Fault
) -> None:
    model = open_local_model(provider)
    provider.faults = [rejection]
    provider.responses = [VALID, VALID]
    with pytest.raises(ModelBusy) as busy:
        await model.complete(REQUEST)
    assert busy.value.retry_after == 0
    assert (await model.complete(REQUEST)).text == VALID
    await model.close()
    repeated = provider.requests[1]
    assert repeated.body["response_format"] == {"type": "json_object"}
    assert repeated.messages[0] == ("system", "You extract facts.")
    assert repeated.messages[1][1].startswith("`cart.py` uses `sqlite`.\n\nAnswer with one JSON")
    assert '"source_entity_name"' in repeated.messages[1][1]


async def test_a_server_that_ignores_schemas_gets_them_in_the_prompt_too(
    provider: FakeProvider,
) -> None:
    model = open_local_model(provider)
    provider.responses = ["Sure! cart.py uses sqlite.", "It uses sqlite.", VALID]
    assert (await model.complete(REQUEST)).text == "Sure! cart.py uses sqlite."
    for _ in range(2):
        await model.complete(REQUEST)
    await model.close()
    has_schema = ["JSON Schema" in received.messages[1][1] for received in provider.requests]
    assert has_schema == [False, False, True], "one response may be an accident"
    assert provider.requests[2].body["response_format"]["type"] == "json_schema"


async def test_one_unrelated_response_does_not_lengthen_every_prompt(
    provider: FakeProvider,
) -> None:
    model = open_local_model(provider)
    provider.responses = ["oops", VALID, "oops", "oops", VALID]
    for _ in range(5):
        await model.complete(REQUEST)
    await model.close()
    assert not any("JSON Schema" in received.messages[1][1] for received in provider.requests)


async def test_a_server_that_supports_schemas_may_fail_once(provider: FakeProvider) -> None:
    model = open_local_model(provider)
    provider.responses = [f"```json\n{VALID}\n```", "oops", '{"other": 1}', VALID]
    for _ in range(4):
        await model.complete(REQUEST)
    await model.close()
    assert len({received.messages[1][1] for received in provider.requests}) == 1


async def test_another_rejection_is_passed_on(provider: FakeProvider) -> None:
    model = open_local_model(provider)
    provider.faults = [Fault(400, '{"error": {"message": "no such voice"}}'), NO_SCHEMA, NO_SCHEMA]
    with pytest.raises(BadTurn, match="no such voice"):
        await model.complete(REQUEST)
    with pytest.raises(ModelBusy):
        await model.complete(REQUEST)
    with pytest.raises(BadTurn, match="unavailable"):
        await model.complete(REQUEST)
    await model.close()


@pytest.mark.parametrize(
    "text",
    [
        VALID,
        f"```json\n{VALID}\n```",
        f"Here are the facts:\n\n```json\n{VALID}\n```\n\nShall I go on?",
        f"Sure! {VALID}",
    ],
)
def test_an_object_is_extracted_from_prose(text: str) -> None:
    assert retry.strip_wrapping(text) == VALID


@pytest.mark.parametrize("text", ["", "no", "[1]", "} no {", '{"edges": [', "see [1]: {}"])
def test_text_without_an_object_is_unchanged(text: str) -> None:
    assert retry.strip_wrapping(text) == text


async def test_the_name_does_not_depend_on_the_place_of_the_schema(provider: FakeProvider) -> None:
    model = open_local_model(provider)
    assert model.name == "openai-compatible/local"
    await model.close()
