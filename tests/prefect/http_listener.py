"""A server that keeps what it is sent, and gives every request the same answer."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import Queue

from typing_extensions import override


@dataclass(frozen=True)
class HttpListener:
    """A running server."""

    url: str
    bodies: "Queue[str]"
    """Of the requests that arrived, in order."""


@contextmanager
def listening(status: int = 200, body: bytes = b"{}") -> Iterator[HttpListener]:
    """Yield a server on a free port that answers with this status and body."""
    bodies: Queue[str] = Queue()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers.get("Content-Length", 0))
            bodies.put(self.rfile.read(length).decode())
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST  # noqa: N815 - the name that the library calls

        @override
        def log_message(self, format: str, *args: object) -> None:
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield HttpListener(f"http://127.0.0.1:{server.server_port}", bodies)
        finally:
            server.shutdown()
            thread.join()
