"""A server for programs of this machine: its socket, and its requests until it is cancelled."""

import asyncio
import errno
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import ceil
from typing import ClassVar

import uvicorn
from starlette.types import ASGIApp, Scope
from uvicorn.protocols.http.h11_impl import H11Protocol

from turnetl.base.errors import BadUsage, Fatal
from turnetl.base.object_url import is_loopback

_MAX_PORT = 65_535
_STOP_SECONDS = 3
"""Seconds for which requests may go on after the server was cancelled."""
_IS_ADMITTED = "is_admitted"


@dataclass(frozen=True)
class ConnectionLimits:
    """How many connections may be open without a request, and for how long.

    Every program of the machine can connect, also without a token, and must not keep others out.
    """

    seconds: float = 10.0
    """From the connection, or the last response, to the end of the next request's head."""
    count: int = 32
    """One more closes the oldest, of those whose last request was not admitted first."""


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that accepts connections of this machine; port 0 picks a free one."""
    if not is_loopback(host):
        raise BadUsage(
            f"other machines may reach `{host}`: turnetl listens on 127.0.0.1 or ::1 only; "
            "from another machine, forward the port with `ssh -L`"
        )
    if not 0 <= port <= _MAX_PORT:
        raise BadUsage(f"there is no port {port}: ports are 1 to {_MAX_PORT}, 0 picks a free one")
    address = "127.0.0.1" if host.lower() == "localhost" else host
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        return socket.create_server((address, port), family=family)
    except OSError as error:
        raise Fatal(_refused(url_host(address), port, error)) from error


def url_host(host: str) -> str:
    """Return an address as URLs write it: that of IPv6 in brackets."""
    return f"[{host}]" if ":" in host else host


def address(listening: socket.socket) -> str:
    """Return the address of a socket as the beginning of a URL."""
    host, port = listening.getsockname()[:2]
    return f"http://{url_host(host)}:{port}"


def admit(scope: Scope) -> None:
    """Note that a request showed its right to be answered: its connection is closed last."""
    scope.setdefault("state", {})[_IS_ADMITTED] = True


async def answer(
    app: ASGIApp, listening: socket.socket, limits: ConnectionLimits | None = None
) -> None:
    """Answer requests until this is cancelled; requests that have begun are then finished.

    `app` calls `admit`; `listening` is closed at the end.
    """
    limits = limits or ConnectionLimits()
    config = uvicorn.Config(
        app,
        loop="asyncio",
        http=type("LimitedConnection", (_Connection,), {"limits": limits}),
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=ceil(limits.seconds),
        timeout_graceful_shutdown=_STOP_SECONDS,
    )
    server = _SignallessServer(config)
    serving = asyncio.create_task(server.serve(sockets=[listening]))
    try:
        await asyncio.shield(serving)
    except asyncio.CancelledError:
        server.should_exit = True
        await serving
        raise


class _SignallessServer(uvicorn.Server):
    """Leaves signals to `turnetl.base.stop_signals`, which cancel `answer`."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class _Connection(H11Protocol):
    """A connection that is closed if it sends no request; uvicorn would wait for ever."""

    limits: ClassVar[ConnectionLimits]
    deadline: asyncio.TimerHandle | None = None
    """None while a request is answered."""
    _was_admitted = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._await_request()
        waiting = [each for each in self.connections if isinstance(each, _Connection)]
        waiting = [each for each in waiting if each.deadline is not None]
        if len(waiting) > self.limits.count:
            min(waiting, key=_Connection.precedence).give_up()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    def handle_events(self) -> None:
        super().handle_events()
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_timer()

    def on_response_complete(self) -> None:
        self._was_admitted = _IS_ADMITTED in self.scope["state"]
        self._await_request()
        super().on_response_complete()

    def _await_request(self) -> None:
        """Start the timer, which no byte of a head or of an unread body starts again."""
        self._stop_timer()
        self.deadline = self.loop.call_later(self.limits.seconds, self.give_up)

    def _stop_timer(self) -> None:
        if self.deadline is not None:
            self.deadline.cancel()
            self.deadline = None

    def precedence(self) -> tuple[bool, float]:
        return self._was_admitted, 0.0 if self.deadline is None else self.deadline.when()

    def give_up(self) -> None:
        self._stop_timer()
        # What an admitted client has not read yet is still sent.
        (self.transport.close if self._was_admitted else self.transport.abort)()


def _refused(host: str, port: int, error: OSError) -> str:
    match error.errno:
        case errno.EADDRINUSE:
            return (
                f"port {port} of {host} is in use, possibly by another turnetl: `--port 0` picks a "
                "free port"
            )
        case errno.EACCES:
            return f"port {port} of {host} may not be used: choose one above 1023, or `--port 0`"
        case _:
            return f"cannot listen on port {port} of {host}: {error.strerror}; try `--port 0`"
