"""The server over streamable HTTP, for several clients of this machine.

It listens on the loopback address only. Every request must carry the token, because other users of
the machine reach that address too, and the Host and Origin of a local page, because a web page can
let its own name lead to that address.
"""

import hmac
import socket
from typing import Any

from mcp.server.lowlevel import Server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from turnetl.base import local_server
from turnetl.mcp.server import MAX_MESSAGE, problem_of, with_whole_characters

HOST = "127.0.0.1"
_NAMES = (HOST, "localhost")
_PATH = "/mcp"
_ONLY_POST = "send each message with POST; there is no stream to open\n"
_TOO_LARGE = "a message has at most 4 MiB\n"
_UNAUTHORIZED = (
    "this server needs the token that it printed at its start, or that TURNETL_MCP_TOKEN was set "
    "to, in the header `Authorization: Bearer TOKEN`\n"
)


def listen(port: int) -> socket.socket:
    """Return a socket that listens on this machine only; on any free port if it is 0."""
    return local_server.listen(HOST, port)


def endpoint(listener: socket.socket) -> str:
    return f"{local_server.address(listener)}{_PATH}"


async def serve_http(server: Server[Any], listener: socket.socket, token: str) -> None:
    """Serve until the task is cancelled; then end open requests, and close the socket."""
    app = http_app(server, listener.getsockname()[1], token)
    await local_server.answer(app, listener)


def http_app(server: Server[Any], port: int, token: str) -> ASGIApp:
    hosts = [f"{name}:{port}" for name in _NAMES]
    app = server.streamable_http_app(
        streamable_http_path=_PATH,
        json_response=True,
        stateless_http=True,
        transport_security=TransportSecuritySettings(
            allowed_hosts=hosts, allowed_origins=[f"http://{host}" for host in hosts]
        ),
    )
    return TokenCheck(MessageCheck(app), token)


class MessageCheck:
    """Passes on the messages that can be answered; answers the others with an error.

    There is nothing to read but the answer to a message: a GET would keep a connection open.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
        elif scope["method"] == "GET":
            await PlainTextResponse(_ONLY_POST, 405, {"Allow": "POST"})(scope, receive, send)
        elif scope["method"] == "POST":
            await self._answer(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = await _read_body(receive)
        if body is None:
            return
        if len(body) > MAX_MESSAGE:
            await PlainTextResponse(_TOO_LARGE, 413)(scope, receive, send)
            return
        body = with_whole_characters(body)
        problem = problem_of(body)
        if problem is not None:
            text = problem.model_dump_json(by_alias=True, exclude={"error": {"data"}})
            await Response(text, 400, media_type="application/json")(scope, receive, send)
            return
        pending: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive_again() -> Message:
            return pending.pop() if pending else await receive()

        await self._app(scope, receive_again, send)


async def _read_body(receive: Receive) -> bytes | None:
    """Return the body, or the beginning of one that is too large; None: the client is gone."""
    body = bytearray()
    while len(body) <= MAX_MESSAGE:
        part = await receive()
        if part["type"] != "http.request":
            return None
        body += part.get("body", b"")
        if not part.get("more_body", False):
            break
    return bytes(body)


class TokenCheck:
    """Passes on the requests that carry the token."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._expected = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            if not self._is_authorized(Headers(scope=scope)):
                headers = {"WWW-Authenticate": "Bearer"}
                await PlainTextResponse(_UNAUTHORIZED, 401, headers)(scope, receive, send)
                return
            local_server.admit(scope)
        await self._app(scope, receive, send)

    def _is_authorized(self, headers: Headers) -> bool:
        given = headers.get("authorization", "").encode("latin-1", "replace")
        return hmac.compare_digest(given, self._expected)
