"""Graphiti's client classes over a model and an embedder."""

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
from turnetl.base.errors import BadTurn, ModelUnusable
from turnetl.base.model import Usage, Vector
from turnetl.llm.chat import ChatModel
from turnetl.llm.graphiti import GraphitiEmbedder, GraphitiModel, NoReranker
from turnetl.llm.providers.schemas import bounded

GOOD = '{"extracted_entities": []}'


async def generate(model: GraphitiModel, text: str = "hello") -> dict[str, object]:
    messages = [Message(role="system", content="You extract."), Message(role="user", content=text)]
    return await model.generate_response(
        messages, ExtractedEntities, prompt_name="extract_nodes.extract_message"
    )


@pytest.mark.parametrize("text", [GOOD, f"```json\n{GOOD}\n```", f"  {GOOD}\n"])
async def test_a_valid_response_is_returned(
    model: ChatModel, provider: FakeProvider, text: str
) -> None:
    provider.responses = [text]
    assert await generate(GraphitiModel(model)) == {"extracted_entities": []}


@pytest.mark.parametrize(
    "text", ["Sure! Here they are.", "", "[]", '{"extracted_entities": [{"name"', '{"other": 1}']
)
async def test_an_invalid_response_is_retried_with_the_reason(
    model: ChatModel, provider: FakeProvider, text: str
) -> None:
    provider.responses = [text, GOOD]
    client = GraphitiModel(model)
    assert await generate(client) == {"extracted_entities": []}
    retried = provider.requests[1].messages
    assert retried[:2] == provider.requests[0].messages
    assert retried[2] == ("assistant", text or "(empty response)")
    assert retried[3][0] == "user"
    assert retried[3][1].startswith("The response is invalid: ")
    usage = Usage(calls=2, prompt_tokens=200, completion_tokens=20, seconds=client.usage.seconds)
    assert client.usage == usage


async def test_two_invalid_responses_make_a_bad_turn(
    model: ChatModel, provider: FakeProvider
) -> None:
    provider.responses = ["no", "no"]
    client = GraphitiModel(model)
    with pytest.raises(BadTurn, match="2 invalid responses"):
        await generate(client)
    assert client.usage.calls == 2


async def test_a_truncated_response_makes_a_bad_turn_without_a_retry(
    model: ChatModel, provider: FakeProvider
) -> None:
    truncated = '{"choices": [{"message": {"content": "{"}, "finish_reason": "length"}]}'
    provider.faults = [Fault(200, truncated)]
    with pytest.raises(BadTurn, match="was truncated"):
        await generate(GraphitiModel(model))
    assert len(provider.requests) == 1


async def test_a_failure_that_graphiti_swallows_is_raised_by_check(
    model: ChatModel, provider: FakeProvider
) -> None:
    provider.faults = [Fault(401)]
    client = GraphitiModel(model)
    client.check()
    with pytest.raises(ModelUnusable):
        await generate(client)
    with pytest.raises(ModelUnusable):
        client.check()


async def test_messages_are_those_of_graphitis_own_client(
    model: ChatModel, provider: FakeProvider
) -> None:
    text = "na\u00efve \u200bzero\x00 \ud800 width\r\n\t\U0001f600"
    provider.responses = [GOOD, GOOD]
    await generate(GraphitiModel(model), text)
    async with AsyncOpenAI(api_key=KEY, base_url=provider.base_url("openai")) as openai_client:
        graphitis = OpenAIGenericClient(
            LLMConfig(model="canned", api_key=KEY), client=openai_client
        )
        await generate(graphitis, text)  # type: ignore[arg-type]  # the same method
    assert provider.requests[0].messages == provider.requests[1].messages
    ours, expected = provider.requests[0].body, provider.requests[1].body
    # Only the limits of lists are turnetl's own.
    assert ours["response_format"] == bounded(expected["response_format"], 100)
    assert ours["max_tokens"] == expected["max_tokens"]


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


async def test_the_reranker_does_not_rank() -> None:
    with pytest.raises(NotImplementedError):
        await NoReranker().rank("q", ["a"])


@pytest.mark.full
def test_graphitis_telemetry_is_disabled() -> None:
    program = (
        "import turnetl.llm.graphiti\n"
        "from graphiti_core.telemetry.telemetry import is_telemetry_enabled\n"
        "raise SystemExit(is_telemetry_enabled())"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_graphitis_client_has_one_abstract_method() -> None:
    """Our client overrides it; another abstract method would be another way to send requests."""
    assert LLMClient.__abstractmethods__ == {"_generate_response"}
