"""Models of the fake provider, closed after each test."""

from collections.abc import AsyncIterator, Callable

import pytest

from tests.servers.provider import FakeProvider
from turnetl.llm.chat import ChatModel
from turnetl.llm.http import Timeouts
from turnetl.llm.providers.registry import open_model

OpenModel = Callable[[Timeouts], ChatModel]


@pytest.fixture
async def open_with(provider: FakeProvider) -> AsyncIterator[OpenModel]:
    """A function that opens a model without wrappers."""
    models: list[ChatModel] = []

    def open_one(timeouts: Timeouts) -> ChatModel:
        url = provider.base_url("openai")
        models.append(open_model("openai-compatible", model="m", base_url=url, timeouts=timeouts))
        return models[-1]

    yield open_one
    for model in models:
        await model.close()
