"""A server for programs of this machine: its socket, and its requests until it is cancelled."""

import asyncio
import errno
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from starlette.types import ASGIApp

from turnetl.errors import BadUsage, Fatal
from turnetl.loopback import is_loopback

_MAX_PORT = 65_535
_MAX_CONNECTIONS = 64
_STOP_SECONDS = 3
"""Seconds for which requests may go on after the server was cancelled."""


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that accepts connections of this machine.

    Args:
        host: `localhost`, or an address of this machine.
        port: 0 picks a free one.

    Raises:
        BadUsage: other machines could reach the host, or the port is no port.
        Fatal: the port is in use, or may not be used.
    """
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


async def answer(app: ASGIApp, listening: socket.socket) -> None:
    """Answer requests until this is cancelled; requests that have begun are then finished.

    Args:
        app: the application.
        listening: is closed at the end.
    """
    config = uvicorn.Config(
        app,
        loop="asyncio",
        http="h11",
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        limit_concurrency=_MAX_CONNECTIONS,
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
    """Leaves signals to `turnetl.stop_signals`, which cancel `answer`."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


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
