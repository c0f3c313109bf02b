from collections.abc import AsyncIterator, Iterator

import pytest

from tests.servers.provider import Provider, serving
from tests.servers.toy import ToyEmbedder
from turnetl.llm.chat import Model
from turnetl.llm.http import Patience
from turnetl.llm.models import open_model


@pytest.fixture
def provider() -> Iterator[Provider]:
    with serving() as running:
        yield running


@pytest.fixture
async def model(provider: Provider) -> AsyncIterator[Model]:
    opened = open_model(
        "openai-compatible",
        model="canned",
        base_url=provider.base_url("openai"),
        patience=Patience(attempts=2, first_wait=0),
    )
    yield opened
    await opened.close()


@pytest.fixture
def embedder() -> ToyEmbedder:
    return ToyEmbedder()
