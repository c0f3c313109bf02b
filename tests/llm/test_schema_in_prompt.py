"""Servers that take no schema, or ignore the one they are given."""

import pytest
from graphiti_core.prompts.extract_edges import ExtractedEdges

from tests.servers.provider import KEY, FakeProvider, Fault
from turnetl.errors import BadTurn, ModelBusy
from turnetl.llm import validate
from turnetl.llm.chat import ChatMessage, ChatModel, ChatRequest, response_schema
from turnetl.llm.providers.registry import open_model

ASKED = ChatRequest(
    "extract_edges.edge",
    (ChatMessage("system", "You extract facts."), ChatMessage("user", "`cart.py` uses `sqlite`.")),
    response_schema(ExtractedEdges),
    1000,
)
GOOD = '{"edges": []}'
NO_SCHEMA = Fault(400, '{"error": {"message": "This response_format type is unavailable now"}}')


def served(provider: FakeProvider) -> ChatModel:
    url = provider.base_url("openai-compatible")
    return open_model("openai-compatible", model="local", base_url=url, api_key=KEY)


@pytest.mark.parametrize(
    "refusal",
    [
        NO_SCHEMA,
        Fault(500, '{"error": {"message": "failed to parse grammar"}}'),
        Fault(422, '{"detail": [{"loc": ["body", "response_format"], "msg": "not permitted"}]}'),
    ],
)
async def test_a_server_that_rejects_schemas_gets_them_in_the_prompt(
    provider: FakeProvider, refusal: Fault
) -> None:
    model = served(provider)
    provider.faults = [refusal]
    provider.responses = [GOOD, GOOD]
    with pytest.raises(ModelBusy) as busy:
        await model.complete(ASKED)
    assert busy.value.retry_after == 0
    assert (await model.complete(ASKED)).text == GOOD
    await model.close()
    again = provider.requests[1]
    assert again.body["response_format"] == {"type": "json_object"}
    assert again.messages[0] == ("system", "You extract facts.")
    assert again.messages[1][1].startswith("`cart.py` uses `sqlite`.\n\nAnswer with one JSON")
    assert '"source_entity_name"' in again.messages[1][1]


async def test_a_server_that_ignores_schemas_gets_them_in_the_prompt_too(
    provider: FakeProvider,
) -> None:
    model = served(provider)
    provider.responses = ["Sure! cart.py uses sqlite.", "It uses sqlite.", GOOD]
    assert (await model.complete(ASKED)).text == "Sure! cart.py uses sqlite."
    for _ in range(2):
        await model.complete(ASKED)
    await model.close()
    told = ["JSON Schema" in asked.messages[1][1] for asked in provider.requests]
    assert told == [False, False, True], "one answer may be an accident"
    assert provider.requests[2].body["response_format"]["type"] == "json_schema"


async def test_one_unrelated_response_does_not_lengthen_every_prompt(
    provider: FakeProvider,
) -> None:
    model = served(provider)
    provider.responses = ["oops", GOOD, "oops", "oops", GOOD]
    for _ in range(5):
        await model.complete(ASKED)
    await model.close()
    assert not any("JSON Schema" in asked.messages[1][1] for asked in provider.requests)


async def test_a_server_that_supports_schemas_may_fail_once(provider: FakeProvider) -> None:
    model = served(provider)
    provider.responses = [f"```json\n{GOOD}\n```", "oops", '{"other": 1}', GOOD]
    for _ in range(4):
        await model.complete(ASKED)
    await model.close()
    assert len({asked.messages[1][1] for asked in provider.requests}) == 1


async def test_another_rejection_is_passed_on(provider: FakeProvider) -> None:
    model = served(provider)
    provider.faults = [Fault(400, '{"error": {"message": "no such voice"}}'), NO_SCHEMA, NO_SCHEMA]
    with pytest.raises(BadTurn, match="no such voice"):
        await model.complete(ASKED)
    with pytest.raises(ModelBusy):
        await model.complete(ASKED)
    with pytest.raises(BadTurn, match="unavailable"):
        await model.complete(ASKED)
    await model.close()


@pytest.mark.parametrize(
    "said",
    [
        GOOD,
        f"```json\n{GOOD}\n```",
        f"Here are the facts:\n\n```json\n{GOOD}\n```\n\nShall I go on?",
        f"Sure! {GOOD}",
    ],
)
def test_an_object_is_extracted_from_prose(said: str) -> None:
    assert validate.strip_wrapping(said) == GOOD


@pytest.mark.parametrize("said", ["", "no", "[1]", "} no {", '{"edges": [', "see [1]: {}"])
def test_text_without_an_object_is_unchanged(said: str) -> None:
    assert validate.strip_wrapping(said) == said


async def test_the_name_does_not_depend_on_the_place_of_the_schema(provider: FakeProvider) -> None:
    model = served(provider)
    assert model.name == "openai-compatible/local"
    await model.close()
