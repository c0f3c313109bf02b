"""Models of the local provider, closed whatever becomes of a test."""

from collections.abc import AsyncIterator, Callable

import pytest

from tests.servers.provider import FakeProvider
from turnetl.llm.chat import ChatModel
from turnetl.llm.providers.registry import open_model
from turnetl.llm.transport.http import Timeouts

Opens = Callable[[Timeouts], ChatModel]


@pytest.fixture
async def opens(provider: FakeProvider) -> AsyncIterator[Opens]:
    """What opens a model with nothing around it."""
    opened: list[ChatModel] = []

    def one(timeouts: Timeouts) -> ChatModel:
        url = provider.base_url("openai")
        opened.append(open_model("openai-compatible", model="m", base_url=url, timeouts=timeouts))
        return opened[-1]

    yield one
    for model in opened:
        await model.close()
