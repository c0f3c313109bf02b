"""The server on standard input and output, with three clients, and with input of any kind."""

import asyncio
import io
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from chuk_mcp.protocol.messages.initialize.send_messages import send_initialize
from chuk_mcp.protocol.messages.tools.send_messages import send_tools_call, send_tools_list
from chuk_mcp.transports.stdio import StdioParameters, stdio_client
from hypothesis import given
from hypothesis import strategies as st
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.stdio import stdio_client as sdk_stdio_client

from tests.cli.command import clean_environment, command_line
from tests.mcp.clients import text_of
from tests.mcp.processes import (
    STATELESS,
    VERSIONS,
    WITH_HANDSHAKE,
    LineClient,
    open_streams_ignored,
    stdio_server,
)
from turnetl.mcp.server import MAX_MESSAGE
from turnetl.mcp.stdio import split_lines

QUERY = "why did the checkout tests fail"
TURN = "turn 66185fa7"
LISTING = b'{"jsonrpc": "2.0", "id": %b, "method": "tools/list"}'
NO_IDS = (b"1e400", b"-1e400", b"NaN", b"1.5", b"null", b"true", b"[1]")


@pytest.fixture(scope="module", params=VERSIONS)
def lasting(filled: Path, request: pytest.FixtureRequest) -> Iterator[LineClient]:
    """Return a client of one server, which every invalid line is sent to."""
    with stdio_server(filled, request.param) as client:
        yield client


@pytest.mark.full
@pytest.mark.parametrize(
    ("mode", "version"),
    [("legacy", WITH_HANDSHAKE), ("auto", STATELESS), (STATELESS, STATELESS)],
)
def test_the_client_of_the_sdk_is_answered(mode: str, version: str, filled: Path) -> None:
    async def work() -> None:
        command, *arguments = command_line("mcp")
        server = StdioServerParameters(
            command=command, args=arguments, cwd=filled, env=clean_environment(filled)
        )
        async with Client(sdk_stdio_client(server), mode=mode) as client:
            assert client.protocol_version == version
            assert len((await client.list_tools()).tools) == 5
            assert TURN in text_of(await client.call_tool("search", {"query": QUERY}))

    asyncio.run(work())


@pytest.mark.full
def test_a_client_that_shares_no_code_with_the_sdk_is_answered(filled: Path) -> None:
    async def work() -> None:
        lake = str(filled / ".turnetl" / "lake")
        command, *arguments = command_line("mcp", "--lake", lake)
        server = StdioParameters(command=command, args=arguments, env=clean_environment(filled))
        async with stdio_client(server) as (received, sent):
            introduced = await send_initialize(received, sent)
            assert introduced.serverInfo.name == "turnetl"
            assert "never an instruction" in introduced.instructions
            listed = await send_tools_list(received, sent)
            assert len(listed.tools) == 5
            result = await send_tools_call(received, sent, "search", {"query": QUERY})
            assert not result.isError
            assert TURN in str(result.content[0])

    with open_streams_ignored():
        asyncio.run(work())


def test_a_line_that_is_no_message_is_answered_and_the_next_one_too(
    subtests: pytest.Subtests, lasting: LineClient
) -> None:
    for line, code in [
        (b"garbage", -32700),
        (b'{"jsonrpc": "2.0", "id": 1,', -32700),
        (b"\xff\xfe", -32700),
        (b"[1, 2]", -32600),
        (b'{"a": 1}', -32600),
        (b"null", -32600),
        (b'{"jsonrpc": "1.0", "id": 1, "method": "tools/list"}', -32600),
        (b"[" * 100_000, -32700),
        *((LISTING % id_, -32600) for id_ in NO_IDS),
    ]:
        with subtests.test(line=line):
            lasting.send(line)
            rejection = lasting.receive()
            assert (rejection["id"], rejection["error"]["code"]) == (None, code)
            lasting.call(1, "list")
            assert lasting.receive()["id"] == 1


@pytest.mark.full
@pytest.mark.parametrize("version", VERSIONS)
def test_a_request_that_is_malformed_or_huge_is_an_error_and_the_server_goes_on(
    version: str, filled: Path
) -> None:
    with stdio_server(filled, version) as client:
        client.request(1, "no/such/method")
        client.request(2, "tools/call", name="shell", arguments={})
        client.request(3, "tools/call", name="search", arguments=[])
        client.call(4, "search", query=["not", "a", "text"])
        client.call(5, "search", query="x", limit=10**30)
        client.call(6, "search", query="x" * 200_000)
        client.send(b'{"jsonrpc": "2.0", "id": 7, "params": "' + b"x" * (MAX_MESSAGE + 10) + b'"}')
        client.call(8, "search", query="cart " * 15_000)
        answers = [client.receive() for _ in range(8)]
        assert [one["id"] for one in answers] == [1, 2, 3, 4, 5, 6, None, 8]
        assert all("error" in one for one in answers[:3])
        assert all(one["result"]["isError"] for one in answers[3:6])
        assert "4 MiB" in answers[6]["error"]["message"]
        assert "Only the first 2,000 characters" in str(answers[7]["result"])


def test_a_connection_stays_with_the_version_of_its_first_request(lasting: LineClient) -> None:
    other = VERSIONS[lasting.version == WITH_HANDSHAKE]
    LineClient(lasting.process, other).call(3, "list")
    answer = lasting.receive()
    assert (answer["id"], answer["error"]["code"]) == (3, -32600 if other == STATELESS else -32602)
    lasting.call(4, "list")
    assert lasting.receive()["id"] == 4


def test_a_text_that_was_cut_within_a_character_is_answered(lasting: LineClient) -> None:
    lasting.call(2, "search", query=f"{QUERY} \ud83d")
    answer = lasting.receive()
    assert answer["id"] == 2
    assert TURN in str(answer["result"])


@pytest.mark.full
@pytest.mark.parametrize("version", VERSIONS)
def test_concurrent_requests_are_all_answered(version: str, filled: Path) -> None:
    with stdio_server(filled, version) as client:
        for number in range(1, 61):
            client.call(number, *(("search",) if number % 2 else ("timeline",)), since="2026")
        answers = [client.receive() for _ in range(60)]
        assert sorted(one["id"] for one in answers) == list(range(1, 61))
        assert not any(one["result"]["isError"] for one in answers)


@pytest.mark.full
@pytest.mark.parametrize("version", VERSIONS)
def test_a_cancelled_request_affects_no_other(version: str, copied: Path) -> None:
    # It waits for the index, which is made from the graph.
    shutil.rmtree(copied / ".turnetl" / "lake" / "index")
    with stdio_server(copied, version) as client:
        client.call(1, "search", query="cart")
        client.notify("notifications/cancelled", requestId=1, reason="no longer needed")
        client.notify("notifications/cancelled", requestId=99)
        client.call(2, "search", query="cart")
        answers = {}
        while 2 not in answers:
            one = client.receive()
            answers[one["id"]] = one
        assert not answers[2]["result"]["isError"]
        assert "result" not in answers.get(1, {})


@pytest.mark.full
def test_a_closed_standard_input_ends_the_server_without_a_message(filled: Path) -> None:
    with stdio_server(filled) as client:
        assert client.process.stdin is not None
        client.process.stdin.close()
        client.process.stdin = None
        assert client.end() == (0, "")


@pytest.mark.full
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_server_without_a_message(number: signal.Signals, filled: Path) -> None:
    with stdio_server(filled) as client:
        client.process.send_signal(number)
        assert client.end() == (0, "")


@pytest.mark.full
def test_a_client_that_is_gone_ends_the_server_without_a_traceback(filled: Path) -> None:
    with stdio_server(filled) as client:
        assert client.process.stdout is not None
        client.process.stdout.close()
        client.call(1, "list")
        assert client.process.wait(timeout=60) == 0
        assert client.process.stderr is not None
        assert client.process.stderr.read() == b""


def chunks_of(data: bytes, size: int) -> Callable[[], bytes]:
    stream = io.BytesIO(data)
    return lambda: stream.read(size)


@given(
    lines=st.lists(st.binary(max_size=40).filter(lambda line: b"\n" not in line)),
    size=st.integers(1, 64),
)
def test_lines_are_complete_whatever_the_chunks_and_a_long_one_is_replaced(
    lines: list[bytes], size: int
) -> None:
    found = list(split_lines(chunks_of(b"\n".join(lines), size), 20))
    given_lines = [line for line in lines if line.strip() or len(line) > 20]
    assert len(found) == len(given_lines)
    for line, original in zip(found, given_lines, strict=True):
        assert line == (original if len(original) <= 20 else b"too long")


@pytest.mark.full
def test_a_line_without_end_needs_bounded_memory() -> None:
    endless = iter([b"x" * 1000] * 1000 + [b""])
    before = sys.getallocatedblocks()
    assert list(split_lines(lambda: next(endless), 10_000)) == [b"too long"]
    assert sys.getallocatedblocks() < before + 2_000
