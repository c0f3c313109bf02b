"""A relay between a client and a server that fails when a text passes: it is cut, or frozen."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import StrEnum


class Failure(StrEnum):
    """What a client sees of a server from the failure on."""

    CUT = "connections are reset and refused, as of a killed process"
    FROZEN = "connections are accepted and never answered, as of a stopped process"


class Relay:
    """Forwards every connection until a client has sent a text for the nth time."""

    def __init__(self, host: str, text: bytes, count: int, failure: Failure) -> None:
        """Listen on a free port.

        Args:
            host: `127.0.0.1:7687`, the server.
            text: in what a client sends; the relay fails instead of forwarding its nth occurrence.
            count: n.
            failure: what happens then.
        """
        self._server = (host.rpartition(":")[0], int(host.rpartition(":")[2]))
        self._text, self._remaining, self._failure = text, count, failure
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._sockets: list[socket.socket] = []
        self._lock = threading.Lock()
        self.has_failed = False

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self._listener.getsockname()[1]}"

    def accept(self) -> None:
        """Accept connections until the relay is closed."""
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(self._server)
                self._sockets += [client, server]
                for ends in ((client, server), (server, client)):
                    threading.Thread(target=self._forward, args=ends, daemon=True).start()

    def close(self) -> None:
        for opened in (self._listener, *self._sockets):
            with suppress(OSError):
                opened.shutdown(socket.SHUT_RDWR)
            opened.close()

    def _forward(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(1 << 16):
                self._count(data)
                if not self.has_failed:
                    target.sendall(data)

    def _count(self, data: bytes) -> None:
        with self._lock:
            self._remaining -= data.count(self._text)
            if self._remaining > 0 or self.has_failed:
                return
            self.has_failed = True
        if self._failure is Failure.CUT:
            self.close()


@contextmanager
def relaying(host: str, text: bytes, count: int, failure: Failure) -> Iterator[Relay]:
    """Yield a running relay; arguments as of `Relay`."""
    relay = Relay(host, text, count, failure)
    thread = threading.Thread(target=relay.accept, daemon=True)
    thread.start()
    try:
        yield relay
    finally:
        relay.close()
        thread.join()
