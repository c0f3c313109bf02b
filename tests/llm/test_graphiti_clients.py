"""Graphiti's client classes in front of a model and an embedder."""

import subprocess
import sys

import pytest
from graphiti_core.llm_client.client import LLMClient
from graphiti_core.llm_client.config import LLMConfig
from graphiti_core.llm_client.openai_generic_client import OpenAIGenericClient
from graphiti_core.prompts.extract_nodes import ExtractedEntities
from graphiti_core.prompts.models import Message
from openai import AsyncOpenAI

from tests.servers.provider import KEY, FakeProvider, Fault
from tests.servers.toy_embedder import ToyEmbedder
from turnetl.errors import BadTurn, ModelRefused
from turnetl.llm.chat import ChatModel
from turnetl.llm.graphiti import GraphitiEmbedder, GraphitiModel, NoReranker
from turnetl.model import Usage, Vector

GOOD = '{"extracted_entities": []}'


async def ask(model: GraphitiModel, said: str = "hello") -> dict[str, object]:
    messages = [Message(role="system", content="You extract."), Message(role="user", content=said)]
    return await model.generate_response(
        messages, ExtractedEntities, prompt_name="extract_nodes.extract_message"
    )


@pytest.mark.parametrize("said", [GOOD, f"```json\n{GOOD}\n```", f"  {GOOD}\n"])
async def test_a_valid_response_is_returned(
    model: ChatModel, provider: FakeProvider, said: str
) -> None:
    provider.responses = [said]
    assert await ask(GraphitiModel(model)) == {"extracted_entities": []}


@pytest.mark.parametrize(
    "said", ["Sure! Here they are.", "", "[]", '{"extracted_entities": [{"name"', '{"other": 1}']
)
async def test_an_invalid_response_is_retried_with_the_reason(
    model: ChatModel, provider: FakeProvider, said: str
) -> None:
    provider.responses = [said, GOOD]
    turn = GraphitiModel(model)
    assert await ask(turn) == {"extracted_entities": []}
    again = provider.requests[1].messages
    assert again[:2] == provider.requests[0].messages
    assert again[2] == ("assistant", said or "(no answer)")
    assert again[3][0] == "user"
    assert again[3][1].startswith("That does not fit: ")
    paid = Usage(calls=2, prompt_tokens=200, completion_tokens=20, seconds=turn.usage.seconds)
    assert turn.usage == paid


async def test_two_invalid_responses_make_a_bad_turn(
    model: ChatModel, provider: FakeProvider
) -> None:
    provider.responses = ["no", "no"]
    turn = GraphitiModel(model)
    with pytest.raises(BadTurn, match="2 times"):
        await ask(turn)
    assert turn.usage.calls == 2


async def test_a_truncated_response_makes_a_bad_turn_without_a_retry(
    model: ChatModel, provider: FakeProvider
) -> None:
    cut = '{"choices": [{"message": {"content": "{"}, "finish_reason": "length"}]}'
    provider.faults = [Fault(200, cut)]
    with pytest.raises(BadTurn, match="was truncated"):
        await ask(GraphitiModel(model))
    assert len(provider.requests) == 1


async def test_a_failure_that_graphiti_swallows_is_raised_by_check(
    model: ChatModel, provider: FakeProvider
) -> None:
    provider.faults = [Fault(401)]
    turn = GraphitiModel(model)
    turn.check()
    with pytest.raises(ModelRefused):
        await ask(turn)
    with pytest.raises(ModelRefused):
        turn.check()


async def test_messages_are_those_of_graphitis_own_client(
    model: ChatModel, provider: FakeProvider
) -> None:
    said = "na\u00efve \u200bzero\x00 \ud800 width\r\n\t\U0001f600"
    provider.responses = [GOOD, GOOD]
    await ask(GraphitiModel(model), said)
    async with AsyncOpenAI(api_key=KEY, base_url=provider.base_url("openai")) as client:
        theirs = OpenAIGenericClient(LLMConfig(model="canned", api_key=KEY), client=client)
        await ask(theirs, said)  # type: ignore[arg-type]  # the same method
    assert provider.requests[0].messages == provider.requests[1].messages
    ours, other = provider.requests[0].body, provider.requests[1].body
    assert ours["response_format"] == other["response_format"]
    assert ours["max_tokens"] == other["max_tokens"]


async def test_a_text_is_embedded_once_per_turn() -> None:
    inner = ToyEmbedder()
    embedder = GraphitiEmbedder(inner)
    first = await embedder.create_batch(["a", "b", "a"])
    assert first[0] == first[2] != first[1]
    assert await embedder.create(["b"]) == first[1]
    assert inner.embedded == ["a", "b"]


async def test_a_known_vector_is_not_requested_again() -> None:
    inner = ToyEmbedder()
    embedder = GraphitiEmbedder(inner)
    vector: Vector = (await inner.embed(["a"]))[0]
    inner.embedded.clear()
    embedder.remember("a", vector)
    await embedder.create("a")
    assert inner.embedded == []
    assert embedder.known("a") == vector


async def test_the_reranker_refuses_to_rank() -> None:
    with pytest.raises(NotImplementedError):
        await NoReranker().rank("q", ["a"])


def test_graphitis_telemetry_is_disabled() -> None:
    asks = (
        "import turnetl.llm.graphiti\n"
        "from graphiti_core.telemetry.telemetry import is_telemetry_enabled\n"
        "raise SystemExit(is_telemetry_enabled())"
    )
    assert subprocess.run([sys.executable, "-c", asks], check=False).returncode == 0


def test_graphitis_client_has_one_abstract_method() -> None:
    """The adapter overrides this one method; another abstract one would be a new way in."""
    assert LLMClient.__abstractmethods__ == {"_generate_response"}
