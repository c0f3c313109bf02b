"""The server over HTTP: for this machine and with the token only, whatever asks for it."""

import asyncio
import json
import socket
from collections.abc import Iterator
from pathlib import Path

import httpx
import httpx2
import pytest
from chuk_mcp.protocol.messages.initialize.send_messages import send_initialize
from chuk_mcp.protocol.messages.tools.send_messages import send_tools_call
from chuk_mcp.transports.http.http_client import http_client
from chuk_mcp.transports.http.parameters import StreamableHTTPParameters
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from tests.cli.command import run_in_process, turnetl_process
from tests.mcp.clients import text_of
from tests.mcp.processes import (
    INITIALIZE,
    STATELESS,
    VERSIONS,
    WITH_HANDSHAKE,
    headers_of,
    http_server,
    open_streams_ignored,
    request_of,
)

TURN = "turn 66185fa7"
QUERY = {"query": "why did the checkout tests fail"}


@pytest.fixture(scope="module")
def served(filled: Path) -> Iterator[tuple[str, str]]:
    """Return the URL and the token of a server of the samples."""
    with http_server(filled) as started:
        yield started


@pytest.fixture(params=VERSIONS)
def version(request: pytest.FixtureRequest) -> str:
    """Return a version of the protocol that the client of a test has."""
    return str(request.param)


def posted(
    served: tuple[str, str],
    body: bytes | None = None,
    version: str = WITH_HANDSHAKE,
    **headers: str,
) -> httpx.Response:
    """Return the response to a message; `headers` replace the right ones.

    Without a body the message is the first one of a client of the version, with its headers.
    """
    url, token = served
    right = {
        "Authorization": f"Bearer {token}",
        "Accept": "application/json, text/event-stream",
        "Content-Type": "application/json",
    }
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    if body is not None:
        return httpx.post(url, content=body, headers=right | named)
    method, params = ("initialize", INITIALIZE)
    if version == STATELESS:
        method, params = ("server/discover", {})
    right |= headers_of(version, method)
    message = request_of(version, 1, method, params)
    return httpx.post(url, json=message, headers=right | named)


@pytest.mark.full
@pytest.mark.parametrize(
    ("mode", "served_version"),
    [("legacy", WITH_HANDSHAKE), ("auto", STATELESS), (STATELESS, STATELESS)],
)
def test_the_client_of_the_sdk_is_answered(
    mode: str, served_version: str, served: tuple[str, str]
) -> None:
    async def work() -> None:
        url, token = served
        headers = {"Authorization": f"Bearer {token}"}
        async with (
            httpx2.AsyncClient(headers=headers) as http,
            Client(streamable_http_client(url, http_client=http), mode=mode) as client,
        ):
            assert client.protocol_version == served_version
            calls = [client.call_tool("search", QUERY) for _ in range(10)]
            assert all(TURN in text_of(one) for one in await asyncio.gather(*calls))

    asyncio.run(work())


@pytest.mark.full
def test_a_client_that_shares_no_code_with_the_sdk_is_answered(served: tuple[str, str]) -> None:
    async def work() -> None:
        url, token = served
        parameters = StreamableHTTPParameters(url=url, bearer_token=token)
        async with http_client(parameters) as (received, sent):
            await send_initialize(received, sent)
            result = await send_tools_call(received, sent, "search", QUERY)
            assert TURN in str(result.content[0])

    with open_streams_ignored():
        asyncio.run(work())


def test_a_first_request_with_the_token_is_answered(version: str, served: tuple[str, str]) -> None:
    response = posted(served, version=version)
    assert response.status_code == 200
    result = response.json()["result"]
    if version == STATELESS:
        assert result["supportedVersions"] == [STATELESS]
        assert (result["ttlMs"], result["cacheScope"]) == (3_600_000, "public")
        result = {"serverInfo": result["_meta"]["io.modelcontextprotocol/serverInfo"]}
    assert result["serverInfo"]["name"] == "turnetl"


@pytest.mark.parametrize("older", HANDSHAKE_PROTOCOL_VERSIONS)
def test_an_older_version_is_answered_with_itself(older: str, served: tuple[str, str]) -> None:
    message = request_of(older, 1, "initialize", INITIALIZE | {"protocolVersion": older})
    response = posted(served, json.dumps(message).encode())
    assert response.json()["result"]["protocolVersion"] == older


@pytest.mark.parametrize("token", ["", "Bearer", "Bearer wrong", "Basic x"])
def test_a_request_without_the_token_is_refused(
    token: str, version: str, served: tuple[str, str]
) -> None:
    response = posted(served, version=version, Authorization=token)
    assert response.status_code == 401
    assert "TURNETL_MCP_TOKEN" in response.text


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example"])
def test_a_name_that_was_led_to_this_machine_is_refused(
    host: str, version: str, served: tuple[str, str]
) -> None:
    assert posted(served, version=version, Host=host).status_code == 421


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:1"])
def test_a_web_page_is_refused(origin: str, version: str, served: tuple[str, str]) -> None:
    response = posted(served, version=version, Origin=origin)
    assert response.status_code == 403
    assert "access-control-allow-origin" not in response.headers


@pytest.mark.parametrize(
    ("body", "status"),
    [(b"garbage", 400), (b"", 400), (b"[]", 400), (b"x" * (5 << 20), 413)],
)
def test_a_body_that_is_no_message_is_refused_and_the_next_one_is_answered(
    body: bytes, status: int, served: tuple[str, str]
) -> None:
    assert posted(served, body).status_code == status
    assert posted(served).status_code == 200


def test_only_the_loopback_address_is_listened_on(served: tuple[str, str]) -> None:
    port = httpx.URL(served[0]).port or 0
    with socket.create_server(("127.0.0.2", port)):
        pass


@pytest.mark.full
def test_a_token_of_the_settings_is_used_and_not_printed(filled: Path) -> None:
    token = "a-token-of-the-settings"
    with http_server(filled, TURNETL_MCP_TOKEN=token) as (url, printed):
        assert not printed
        assert posted((url, token)).status_code == 200


@pytest.mark.full
def test_a_port_in_use_is_an_error_that_names_the_option(filled: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        result = turnetl_process("mcp", "--http", "--port", port, folder=filled)
    assert result.exit_code == 1
    assert f"port {port} of 127.0.0.1 is in use" in result.stderr
    assert "--port" in result.stderr


def test_a_port_without_http_is_an_error(filled: Path) -> None:
    result = run_in_process("mcp", "--port", "80", folder=filled)
    assert result.exit_code == 2
    assert result.messages == ["turnetl: `--port` is an option of `--http`: give both, or neither"]


def test_no_session_is_kept_for_a_client(version: str, served: tuple[str, str]) -> None:
    response = posted(served, version=version)
    assert response.status_code == 200
    assert "mcp-session-id" not in response.headers
