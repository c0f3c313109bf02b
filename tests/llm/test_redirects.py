"""A redirect of a provider is not followed: it would carry key and conversations elsewhere."""

from collections.abc import Iterator
from contextlib import suppress

import pytest
from pydantic import SecretStr

from tests.servers.provider import KEY, FakeProvider, Fault, serving
from turnetl import wiring
from turnetl.base.clock import now
from turnetl.base.errors import TurnetlError
from turnetl.settings import EmbedderSettings, ModelSettings, Settings

STATUSES = (301, 302, 303, 307, 308)


@pytest.fixture
def elsewhere() -> Iterator[FakeProvider]:
    with serving() as server:
        yield server


def redirect(status: int, elsewhere: FakeProvider) -> list[Fault]:
    return [Fault(status, headers={"Location": f"{elsewhere.url}/v1/embeddings"})] * 10


@pytest.mark.parametrize("status", STATUSES)
@pytest.mark.parametrize("provider_name", ["openai-compatible", "openai", "anthropic", "gemini"])
async def test_a_model_sends_nothing_to_where_a_redirect_leads(
    provider_name: str, status: int, provider: FakeProvider, elsewhere: FakeProvider
) -> None:
    provider.faults = redirect(status, elsewhere)
    llm = ModelSettings.model_validate(
        {
            "provider": provider_name,
            "model": "canned",
            "base_url": f"{provider.url}/v1",
            "api_key": KEY,
        }
    )
    settings = Settings(llm=llm, journal=False)
    with suppress(TurnetlError):
        async with wiring.model_stack(settings, now) as stack:
            report = await wiring.check_model(settings, stack)
        assert all(check.problem for check in report.checks)
    assert provider.requests
    assert elsewhere.requests == []


@pytest.mark.parametrize("status", STATUSES)
async def test_an_embedder_sends_nothing_to_where_a_redirect_leads(
    status: int, provider: FakeProvider, elsewhere: FakeProvider
) -> None:
    provider.faults = redirect(status, elsewhere)
    embedder = EmbedderSettings(
        provider="openai-compatible",
        base_url=f"{provider.url}/v1",
        model="m",
        api_key=SecretStr(KEY),
        dimensions=8,
    )
    async with wiring.embedder(Settings(embedder=embedder)) as opened:
        with pytest.raises(TurnetlError):
            await opened.embed(["a conversation"])
    assert provider.requests
    assert elsewhere.requests == []
