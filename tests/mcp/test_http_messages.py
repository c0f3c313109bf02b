"""Malformed, huge, concurrent and broken-off requests over HTTP: an error each, and it goes on."""

import json
import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.mcp.processes import STATELESS, headers_of, request_of
from tests.mcp.test_http import posted, served, version
from tests.mcp.test_stdio import NO_IDS
from turnetl.mcp.server import MAX_MESSAGE, problem_of, with_whole_characters

__all__ = ["served", "version"]

PING = b'{"jsonrpc": "2.0", "id": %b, "method": "ping"}'
CALL = b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": %b}'
INVALID, NOT_JSON = -32600, -32700

Served = tuple[str, str]


def answers(served: Served) -> bool:
    """Return whether the server answers a call."""
    call = CALL % b'{"name": "list", "arguments": {}}'
    return "bookshop" in posted(served, call).text


def called(served: Served, params: bytes, version: str) -> httpx.Response:
    """Return the response to a call with these bytes, as a client of the version sends it."""
    if version != STATELESS:
        return posted(served, CALL % params, **headers_of(version, "tools/call"))
    envelope = json.dumps(request_of(version, 1, "", {})["params"]).encode()[:-1]
    rest = params[1:] if params == b"{}" else b", " + params[1:]
    name = json.loads(params).get("name")
    return posted(served, CALL % (envelope + rest), **headers_of(version, "tools/call", name))


def connected(served: Served) -> socket.socket:
    url = httpx.URL(served[0])
    return socket.create_connection((url.host, url.port or 0), timeout=60)


def raw(served: Served, body: bytes, *headers: str, length: int | None = None) -> bytes:
    """Return the bytes of a request; `length` is what its header says of the body."""
    url, token = httpx.URL(served[0]), served[1]
    lines = [
        "POST /mcp HTTP/1.1",
        f"Host: {url.host}:{url.port}",
        f"Authorization: Bearer {token}",
        "Content-Type: application/json",
        "Accept: application/json, text/event-stream",
        f"Content-Length: {len(body) if length is None else length}",
        *headers,
    ]
    return "\r\n".join([*lines, "", ""]).encode() + body


@pytest.mark.full
@pytest.mark.parametrize(
    ("body", "code"),
    [
        *((PING % id_, INVALID) for id_ in NO_IDS),
        (PING % b"Infinity", INVALID),
        (PING % b"-Infinity", INVALID),
        (PING % b"1.0", INVALID),
        (PING % b'{"a": [null]}', INVALID),
        (PING % (b"[" * 50 + b"]" * 50), INVALID),
        (PING % (b"[" * 5_000 + b"]" * 5_000), NOT_JSON),
        (PING % (b"1" * 10_000), NOT_JSON),
        (b"", NOT_JSON),
        (b"\xff\xfe", NOT_JSON),
        (b"{" * 100_000, NOT_JSON),
        (PING % b"1" + PING % b"2", NOT_JSON),
        (b"null", INVALID),
        (b"[]", INVALID),
        (b"[" + b",".join([PING % b"1"] * 20_000) + b"]", INVALID),
        (b'{"jsonrpc": "1.0", "id": 1, "method": "ping"}', INVALID),
        (b'{"jsonrpc": "2.0", "id": 1, "method": ["ping"]}', INVALID),
        (b'{"jsonrpc": "2.0", "id": 1}', INVALID),
        (CALL % b"[1]", INVALID),
    ],
    ids=lambda value: repr(value)[:60],
)
def test_what_is_no_message_is_answered_with_an_error(
    body: bytes, code: int, version: str, served: Served
) -> None:
    response = posted(served, body, **headers_of(version, "ping"))
    assert response.status_code == 400
    answer = response.json()
    assert (answer["jsonrpc"], answer["id"], answer["error"]["code"]) == ("2.0", None, code)
    assert "\n" not in answer["error"]["message"]
    assert answers(served)


@pytest.mark.parametrize(
    "id_", [b"1", b"-0", b'"a"', b'""', b"9" * 300, b'"' + b"x" * 9_999 + b'"']
)
def test_every_other_id_is_that_of_the_answer(id_: bytes, version: str, served: Served) -> None:
    if version == STATELESS:  # without a `ping`
        listing = request_of(version, 0, "tools/list", {})
        body = json.dumps(listing).encode().replace(b'"id": 0', b'"id": ' + id_)
        response = posted(served, body, **headers_of(version, "tools/list"))
    else:
        response = posted(served, PING % id_)
    assert response.status_code == 200
    answer = response.json()
    assert (answer["jsonrpc"], answer["id"]) == ("2.0", json.loads(id_))
    assert "result" in answer


@pytest.mark.parametrize(
    "params",
    [
        b'{"name": "search", "arguments": {"query": "x", "limit": 1e400}}',
        b'{"name": "search", "arguments": {"query": "x", "limit": NaN}}',
        b'{"name": "list", "arguments": {"offset": %b}}' % (b"9" * 400),
        b'{"name": "open", "arguments": {"id": null}}',
        b'{"name": "open", "arguments": {"id": "half a \\ud83d"}}',
        b'{"name": "shell", "arguments": {"command": "ls"}}',
        b"{}",
    ],
)
def test_a_call_with_wrong_arguments_is_an_error_with_its_id(
    params: bytes, version: str, served: Served
) -> None:
    answer = called(served, params, version).json()
    assert answer["id"] == 1
    assert "error" in answer or answer["result"]["isError"]
    assert answers(served)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Content-Type": "text/plain"}, 400),
        ({"Content-Type": ""}, 400),
        ({"Accept": "text/html"}, 406),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Host": ""}, 421),
        ({"Host": "localhost"}, 421),
        ({"MCP-Protocol-Version": "1999-01-01"}, 400),
    ],
    ids=str,
)
def test_a_request_with_wrong_headers_is_refused(
    headers: dict[str, str], status: int, served: Served
) -> None:
    assert posted(served, PING % b"1", **headers).status_code == status
    assert answers(served)


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({"Mcp-Method": "tools/list"}, -32020),
        ({"Mcp-Method": ""}, -32020),
        ({"Mcp-Name": "search"}, -32020),
        ({"Mcp-Name": ""}, -32020),
        ({"MCP-Protocol-Version": "2099-01-01"}, -32020),
    ],
    ids=str,
)
def test_headers_that_say_another_call_than_the_message_are_refused(
    headers: dict[str, str], code: int, served: Served
) -> None:
    message = request_of(STATELESS, 1, "tools/call", {"name": "list", "arguments": {}})
    right = headers_of(STATELESS, "tools/call", "list")
    body = json.dumps(message).encode()
    assert posted(served, body, **right).json()["result"]["resultType"] == "complete"
    response = posted(served, body, **(right | headers))
    assert response.status_code == 400
    assert (response.json()["id"], response.json()["error"]["code"]) == (1, code)


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "OPTIONS", "HEAD"])
def test_only_post_is_answered_and_no_stream_is_kept_open(method: str, served: Served) -> None:
    url, token = served
    headers = {"Authorization": f"Bearer {token}", "Accept": "text/event-stream"}
    assert httpx.request(method, url, headers=headers, timeout=60).status_code == 405


def test_a_body_that_is_too_large_is_refused_whether_it_says_its_length_or_not(
    served: Served,
) -> None:
    body = PING % (b'"' + b"x" * MAX_MESSAGE + b'"')
    assert posted(served, body).status_code == 413
    url, token = served
    right = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    chunked = httpx.post(url, content=iter([body[:9], body[9:]]), headers=right, timeout=60)
    assert chunked.status_code == 413
    assert answers(served)


@pytest.mark.full
def test_requests_at_the_same_time_are_all_answered_with_their_ids(served: Served) -> None:
    def ping(number: int) -> object:
        return posted(served, PING % str(number).encode()).json()["id"]

    with ThreadPoolExecutor(16) as clients:
        assert list(clients.map(ping, range(64))) == list(range(64))


def test_clients_that_break_off_affect_no_other(served: Served) -> None:
    call = CALL % b'{"name": "search", "arguments": {"query": "checkout"}}'
    with ExitStack() as stack:
        for number in range(30):
            connection = stack.enter_context(closing(connected(served)))
            request = raw(served, call)
            # Some in the middle of the headers or of the body, some before the answer.
            connection.sendall(request[: len(request) - number * 20])
    assert answers(served)
    cancelled = b'{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": %b}'
    assert posted(served, cancelled % b'{"requestId": 1}').status_code == 202
    assert posted(served, cancelled % b"{}").status_code == 202
    assert answers(served)


def test_bodies_that_are_not_as_their_length_says_are_no_message(served: Served) -> None:
    body = PING % b"1"
    with closing(connected(served)) as connection:
        connection.sendall(raw(served, body, "Connection: close", length=len(body) - 1))
        assert connection.recv(100).startswith(b"HTTP/1.1 400")
    with closing(connected(served)) as connection:
        connection.sendall(raw(served, body, length=len(body) + 9))
        connection.shutdown(socket.SHUT_WR)
        answer = connection.recv(100)
        assert answer == b"" or answer.startswith(b"HTTP/1.1 4")
    assert answers(served)


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(id_=_VALUES)
def test_an_id_is_usable_if_it_is_a_text_or_an_integer(id_: object) -> None:
    message = json.dumps({"jsonrpc": "2.0", "id": id_, "method": "ping"}).encode()
    is_usable = isinstance(id_, str | int) and not isinstance(id_, bool)
    assert (problem_of(message) is None) == is_usable


@given(st.binary())
def test_any_bytes_are_a_message_or_have_a_problem(data: bytes) -> None:
    problem = problem_of(data)
    assert problem is not None
    assert problem.error.code in (INVALID, NOT_JSON)


_PIECES = st.lists(st.sampled_from(["\ud83d", "\ude00", "\\", "u", "d83d", "a", "\n"]))


@pytest.mark.full
@given(_PIECES.map("".join))
def test_only_halves_of_characters_are_replaced(text: str) -> None:
    whole = with_whole_characters(json.dumps(text).encode())
    assert json.loads(whole) == text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
