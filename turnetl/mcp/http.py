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
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from turnetl import local_server

HOST = "127.0.0.1"
_NAMES = (HOST, "localhost")
_PATH = "/mcp"
_UNAUTHORIZED = (
    "this server needs the token that it printed at its start, or that TURNETL_MCP_TOKEN was set "
    "to, in the header `Authorization: Bearer TOKEN`\n"
)


def listen(port: int) -> socket.socket:
    """Return a socket that listens on this machine only.

    Args:
        port: 0 for any free one.

    Raises:
        Fatal: the port is in use, or may not be used.
    """
    return local_server.listen(HOST, port)


def endpoint(listener: socket.socket) -> str:
    """Return the URL of the server on a socket."""
    return f"{local_server.address(listener)}{_PATH}"


async def serve_http(server: Server[Any], listener: socket.socket, token: str) -> None:
    """Serve until the task is cancelled; then end open requests, and close the socket.

    Args:
        server: of the tools.
        listener: from `listen`.
        token: that every request must carry.
    """
    app = http_app(server, listener.getsockname()[1], token)
    await local_server.answer(app, listener)


def http_app(server: Server[Any], port: int, token: str) -> ASGIApp:
    """Return the application that a port of this machine serves."""
    hosts = [f"{name}:{port}" for name in _NAMES]
    app = server.streamable_http_app(
        streamable_http_path=_PATH,
        json_response=True,
        stateless_http=True,
        transport_security=TransportSecuritySettings(
            allowed_hosts=hosts, allowed_origins=[f"http://{host}" for host in hosts]
        ),
    )
    return TokenCheck(app, token)


class TokenCheck:
    """Passes on the requests that carry the token."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._expected = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not self._is_authorized(Headers(scope=scope)):
            headers = {"WWW-Authenticate": "Bearer"}
            await PlainTextResponse(_UNAUTHORIZED, 401, headers)(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _is_authorized(self, headers: Headers) -> bool:
        given = headers.get("authorization", "").encode("latin-1", "replace")
        return hmac.compare_digest(given, self._expected)
