"""A server of this machine: connections that send no request keep nobody out."""

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from turnetl.base.local_server import ConnectionLimits, admit, answer, listen

ADMITTED = b"GET /in HTTP/1.1\r\nHost: localhost\r\n\r\n"
REFUSED = b"GET /out HTTP/1.1\r\nHost: localhost\r\n\r\n"
HALF_OPEN = (
    b"",
    b"GET /in HT",
    b"GET /in HTTP/1.1\r\nHost: localhost\r\n",
    b"POST /out HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nbody",
    REFUSED,
)
"""What a connection sends that does not go on."""
UNLIMITED = 1000


async def application(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer, and admit what asks for `/in`; no body is read."""
    if scope["type"] == "http":
        if Request(scope).url.path == "/in":
            admit(scope)
        await PlainTextResponse("answered")(scope, receive, send)


@contextmanager
def serving(limits: ConnectionLimits) -> Iterator[Callable[[bytes], socket.socket]]:
    """Serve in a thread; yield a function that connects and sends."""
    listening = listen("127.0.0.1", 0)
    address = listening.getsockname()
    loop = asyncio.new_event_loop()
    task = loop.create_task(answer(application, listening, limits))
    thread = threading.Thread(
        target=lambda: loop.run_until_complete(asyncio.gather(task, return_exceptions=True))
    )
    thread.start()
    with ExitStack() as opened:

        def connect(sent: bytes) -> socket.socket:
            connection = opened.enter_context(socket.create_connection(address, timeout=60))
            connection.sendall(sent)
            return connection

        try:
            yield connect
        finally:
            loop.call_soon_threadsafe(task.cancel)
            thread.join()
            loop.close()


def response(connection: socket.socket) -> bytes:
    """Return the answer to one request."""
    received = b""
    while not received.endswith(b"answered"):
        part = connection.recv(4096)
        assert part, received
        received += part
    return received


def is_closed(connection: socket.socket) -> bool:
    """Read until the server closes; a server that does not is a timeout."""
    try:
        while connection.recv(4096):
            pass
    except ConnectionResetError:
        pass
    return True


@pytest.mark.parametrize("sent", HALF_OPEN)
def test_connections_that_do_not_go_on_keep_nobody_out(sent: bytes) -> None:
    with serving(ConnectionLimits(UNLIMITED, 8)) as connect:
        held = [connect(sent) for _ in range(64)]
        assert response(connect(ADMITTED)).endswith(b"answered")
        assert is_closed(held[0])


@pytest.mark.parametrize("sent", [*HALF_OPEN, ADMITTED])
def test_a_connection_that_does_not_go_on_is_closed(sent: bytes) -> None:
    with serving(ConnectionLimits(0.1)) as connect:
        assert is_closed(connect(sent))


def test_an_admitted_connection_outlasts_others() -> None:
    with serving(ConnectionLimits(UNLIMITED, 8)) as connect:
        admitted = connect(ADMITTED)
        response(admitted)
        held = [connect(REFUSED) for _ in range(64)]
        assert is_closed(held[0])
        admitted.sendall(ADMITTED)
        assert response(admitted).endswith(b"answered")
