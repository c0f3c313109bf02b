"""Every provider, over real HTTP: one contract for four wire formats."""

import asyncio
import threading
from collections.abc import AsyncIterator

import pytest
from graphiti_core.prompts.extract_edges import ExtractedEdges

from tests.servers.provider import KEY, FakeProvider, Fault
from turnetl.base.errors import BadUsage, ModelBusy, ModelUnusable
from turnetl.llm.chat import ChatMessage, ChatModel, ChatRequest, response_schema
from turnetl.llm.http import Timeouts
from turnetl.llm.limiter import LimitedModel, Limiter, Slots
from turnetl.llm.providers.registry import PROVIDERS, open_model
from turnetl.llm.retry import RetryingModel, RetryPolicy

REQUEST = ChatRequest(
    prompt_name="extract_edges.edge",
    messages=(
        ChatMessage("system", "You extract facts."),
        ChatMessage("user", "<CURRENT_MESSAGE>\n`cart.py` uses `sqlite`.\n</CURRENT_MESSAGE>\n"),
    ),
    schema=response_schema(ExtractedEdges),
    max_tokens=1000,
)
"""Its schema has references, optional values and lists."""


@pytest.fixture(params=PROVIDERS)
async def model(request: pytest.FixtureRequest, provider: FakeProvider) -> AsyncIterator[ChatModel]:
    base = open_model(
        request.param,
        model="canned",
        base_url=provider.base_url(request.param),
        api_key=KEY,
        timeouts=Timeouts(total=5, connect=5),
    )
    opened = RetryingModel(base, RetryPolicy(attempts=3, first_wait=0, max_wait=5, max_responses=2))
    yield opened
    await opened.close()


async def test_a_response_has_its_token_counts(model: ChatModel) -> None:
    response = await model.complete(REQUEST)
    assert ExtractedEdges.model_validate_json(response.text).edges[0].relation_type == "USES"
    assert (response.prompt_tokens, response.completion_tokens, response.truncated) == (
        100,
        10,
        False,
    )


async def test_messages_arrive_unchanged(model: ChatModel, provider: FakeProvider) -> None:
    await model.complete(REQUEST)
    assert provider.requests[0].messages == [
        (message.role, message.text) for message in REQUEST.messages
    ]


async def test_the_key_is_sent_in_a_header_only(model: ChatModel, provider: FakeProvider) -> None:
    await model.complete(REQUEST)
    received = provider.requests[0]
    assert [name for name, value in received.headers.items() if KEY in value]
    assert KEY not in received.path
    assert KEY not in str(received.body)


async def test_an_earlier_response_can_be_part_of_the_messages(
    model: ChatModel, provider: FakeProvider
) -> None:
    messages = (*REQUEST.messages, ChatMessage("assistant", "no"), ChatMessage("user", "again"))
    await model.complete(ChatRequest("p", messages, REQUEST.schema, 1000))
    roles = [role for role, _ in provider.requests[0].messages]
    assert roles in (
        ["system", "user", "assistant", "user"],
        ["system", "user", "model", "user"],
    )


@pytest.mark.parametrize("status", [429, 500, 503, 529])
async def test_a_busy_provider_is_retried(
    model: ChatModel, provider: FakeProvider, status: int
) -> None:
    provider.faults = [Fault(status), Fault(status)]
    await model.complete(REQUEST)
    assert len(provider.requests) == 3


async def test_the_number_of_attempts_is_limited(model: ChatModel, provider: FakeProvider) -> None:
    provider.faults = [Fault(503) for _ in range(9)]
    with pytest.raises(ModelBusy, match="busy"):
        await model.complete(REQUEST)
    assert len(provider.requests) == 3


@pytest.mark.parametrize("status", [401, 402, 403, 404])
async def test_an_error_that_the_user_must_fix_is_not_retried(
    model: ChatModel, provider: FakeProvider, status: int
) -> None:
    provider.faults = [Fault(status)]
    with pytest.raises(ModelUnusable, match=str(status)):
        await model.complete(REQUEST)
    assert len(provider.requests) == 1


async def test_an_empty_response_is_retried(model: ChatModel, provider: FakeProvider) -> None:
    provider.faults = [Fault(200, '{"choices": [], "content": null, "candidates": 3}')]
    assert (await model.complete(REQUEST)).calls == 2
    assert provider.requests[1].messages[2][1] == "(empty response)"


async def test_the_concurrency_is_limited(provider: FakeProvider) -> None:
    provider.hold = threading.Event()
    base = open_model("openai-compatible", model="m", base_url=provider.base_url("openai"))
    model = LimitedModel(base, Limiter(Slots(2)))
    tasks = [asyncio.create_task(model.complete(REQUEST)) for _ in range(6)]
    for _ in range(2):
        await asyncio.to_thread(provider.arrived.acquire)
    provider.hold.set()
    await asyncio.gather(*tasks)
    await model.close()
    assert len(provider.requests) == 6
    assert provider.max_in_flight <= 2


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("openai", None), "TURNETL_LLM__MODEL"),
        (("openai", "m"), "TURNETL_LLM__API_KEY"),
        (("openai-compatible", "m"), "TURNETL_LLM__BASE_URL"),
        (("acme", "m"), "unknown provider `acme`"),
    ],
)
def test_a_missing_setting_is_named(arguments: tuple[str, str | None], expected: str) -> None:
    with pytest.raises(BadUsage, match=expected):
        open_model(arguments[0], model=arguments[1])


def test_the_name_of_a_model_includes_its_provider() -> None:
    model = open_model("gemini", model="flash", api_key=KEY)
    assert model.name == "gemini/flash"
    assert KEY not in repr(vars(model)["_adapter"])
