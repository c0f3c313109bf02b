"""Base URLs: checked before the run, and never printed with a password."""

import logging
from base64 import b64encode

import pytest

from tests.llm.test_providers import REQUEST
from tests.servers.provider import KEY, FakeProvider, Fault
from turnetl.base.errors import BadUsage, ModelBusy
from turnetl.llm.embedders import open_embedder
from turnetl.llm.providers.registry import PROVIDERS, open_model

PASSWORD = "pa55-for-the-test-server"


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize(
    "url",
    [
        "http://",
        "http:///v1",
        "http://[::1/v1",
        "http://host:port/v1",
        f"http://bob:{PASSWORD}/x@host/v1",
        f"http://bob:{PASSWORD}@/v1",
        "http://two words/v1",
        "http://host\n/v1",
    ],
)
def test_an_invalid_url_is_rejected_without_being_printed(provider: str, url: str) -> None:
    with pytest.raises(BadUsage, match="TURNETL_LLM__BASE_URL is not a valid URL") as raised:
        open_model(provider, model="m", base_url=url, api_key=KEY)
    assert PASSWORD not in str(raised.value)
    assert "host" not in str(raised.value)


def test_the_url_of_an_embedder_is_checked_too() -> None:
    with pytest.raises(BadUsage, match="TURNETL_EMBEDDER__BASE_URL"):
        open_embedder("openai-compatible", model="m", base_url="http://host:port/v1")


def url_with_password(provider: FakeProvider, provider_name: str) -> str:
    return provider.base_url(provider_name).replace("http://", f"http://bob:{PASSWORD}@")


async def test_user_and_password_of_a_url_are_sent_and_never_printed(
    provider: FakeProvider, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    url = url_with_password(provider, "openai")
    model = open_model("openai-compatible", model="m", base_url=url)
    await model.complete(REQUEST)
    provider.faults = [Fault(503)]
    with pytest.raises(ModelBusy) as busy:
        await model.complete(REQUEST)
    await model.close()
    credentials = b64encode(f"bob:{PASSWORD}".encode()).decode()
    assert provider.requests[0].headers["Authorization"] == f"Basic {credentials}"
    for secret in (PASSWORD, credentials):
        assert secret not in str(busy.value)
        assert secret not in model.name
        assert secret not in caplog.text
    assert "127.0.0.1" in caplog.text


async def test_a_key_wins_over_user_and_password_of_the_url(provider: FakeProvider) -> None:
    url = url_with_password(provider, "openai")
    model = open_model("openai", model="m", base_url=url, api_key=KEY)
    await model.complete(REQUEST)
    await model.close()
    assert provider.requests[0].headers["Authorization"] == f"Bearer {KEY}"
