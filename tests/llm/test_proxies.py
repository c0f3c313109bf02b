"""The proxy of the environment is used, but not for a model on this machine."""

from collections.abc import Iterator
from contextlib import suppress

import pytest

from tests.llm.test_providers import REQUEST
from tests.servers.provider import KEY, FakeProvider, serving
from turnetl.base.errors import TurnetlError
from turnetl.llm.http import Timeouts
from turnetl.llm.providers.registry import open_model


@pytest.fixture
def proxy(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeProvider]:
    with serving() as proxy:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.url)
        for name in ("NO_PROXY", "no_proxy"):
            monkeypatch.delenv(name, raising=False)
        yield proxy


async def complete(base_url: str) -> None:
    timeouts = Timeouts(total=5, connect=5)
    model = open_model(
        "openai-compatible", model="canned", base_url=base_url, api_key=KEY, timeouts=timeouts
    )
    try:
        await model.complete(REQUEST)
    finally:
        await model.close()


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "LocalHost"])
async def test_no_proxy_gets_what_is_sent_to_this_machine(
    proxy: FakeProvider, provider: FakeProvider, host: str
) -> None:
    await complete(provider.base_url("openai-compatible").replace("127.0.0.1", host))
    assert len(provider.requests) == 1
    assert proxy.requests == []


async def test_the_proxy_gets_what_is_sent_to_another_machine(proxy: FakeProvider) -> None:
    # The path of such a request names the host, which the fake provider may not know.
    with suppress(TurnetlError):
        await complete("http://model.example/v1")
    assert len(proxy.requests) == 1
    assert "model.example" in proxy.requests[0].path
