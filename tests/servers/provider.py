"""A fake provider on a local port: real HTTP, four wire formats, canned responses.

Responses are computed from the requests (`canned_responses`); a test chooses the faults (`faults`).
"""

import asyncio
import json
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.servers import wire_formats
from tests.servers.canned_responses import Json
from tests.servers.faults import FAULTS, Fault, FaultInjector, RequestCap
from tests.servers.prompt_cache import CHARACTERS_PER_TOKEN, PromptCache
from tests.servers.summary_responses import RESPONDERS
from tests.servers.toy_embedder import ToyEmbedder
from tests.servers.wire_formats import CannedResponse
from turnetl.llm.embedders import floats

__all__ = [
    "KEY",
    "CannedResponse",
    "FakeProvider",
    "Fault",
    "FaultInjector",
    "ReceivedRequest",
    "RequestCap",
    "serving",
]

KEY = "key-for-the-test-server"


@dataclass(frozen=True)
class ReceivedRequest:
    """A request as it arrived."""

    path: str
    headers: Mapping[str, str]
    body: Json

    @property
    def messages(self) -> list[tuple[str, str]]:
        """Role and text of each message, system messages first, of any format."""
        return wire_formats.messages(self.body)


class FakeProvider:
    """The requests that arrived, and the responses to come."""

    def __init__(self) -> None:
        self.url = ""
        self.requests: list[ReceivedRequest] = []
        self.faults: list[Fault] = []
        """Sent first, one per request."""
        self.responses: list[str | CannedResponse] = []
        """Sent next, one per request."""
        self.fault_injector: FaultInjector | None = None
        """Picks faults for the other requests."""
        self.responders = RESPONDERS
        """Compute all other responses; see also `order_sensitive_responses`."""
        self.prompt_tokens = 100
        """In the usage of each computed response."""
        self.counts_text = False
        """Whether the usage of computed responses is that of their text and of their prompt."""
        self.prompt_cache: PromptCache | None = None
        """If set, the usage of computed responses is counted, with the tokens from this cache."""
        self.cap: RequestCap | None = None
        self.date: str | None = None
        """The server's `Date` header; None for the current time."""
        self.arrived = threading.Semaphore(0)
        """Released with every request."""
        self.in_flight = 0
        self.max_in_flight = 0
        self.hold: threading.Event | None = None
        """If set, responses wait for it."""
        self.stopped = threading.Event()
        """Set when the server stops: releases requests that hang."""
        self._lock = threading.Lock()

    def base_url(self, provider: str) -> str:
        paths = {"openai": "/v1", "openai-compatible": "/v1", "anthropic": "", "gemini": "/v1beta"}
        return self.url + paths[provider]

    def requests_for(self, field_name: str) -> list[ReceivedRequest]:
        """Return the requests whose response schema has that field."""
        return [
            request for request in self.requests if field_name in wire_formats.fields(request.body)
        ]

    def receive(self, request: ReceivedRequest, raw: bytes) -> Fault | CannedResponse | None:
        """Record a request and wait for `hold`; return the response unless it is computed."""
        with self._lock:
            self.requests.append(request)
            self.in_flight += 1
            self.max_in_flight = max(self.max_in_flight, self.in_flight)
            response = self._scripted(raw)
        self.arrived.release()
        if self.hold is not None:
            self.hold.wait(10)
        with self._lock:
            self.in_flight -= 1
        return response

    def _scripted(self, raw: bytes) -> Fault | CannedResponse | None:
        if self.cap is not None and (fault := self.cap.reject()):
            return fault
        if self.faults:
            return self.faults.pop(0)
        if self.responses:
            response = self.responses.pop(0)
            return CannedResponse(response) if isinstance(response, str) else response
        name = self.fault_injector.pick(raw) if self.fault_injector is not None else None
        return FAULTS[name] if name is not None else None


@contextmanager
def serving() -> Iterator[FakeProvider]:
    provider = FakeProvider()
    server = _Server(("127.0.0.1", 0), partial(_Handler, provider))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    provider.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield provider
    finally:
        provider.stopped.set()
        server.shutdown()
        server.server_close()
        thread.join()


def _embeddings(texts: list[str]) -> Json:
    vectors = asyncio.run(ToyEmbedder().embed(texts))
    data = [{"index": index, "embedding": floats(one)} for index, one in enumerate(vectors)]
    return {"data": data, "usage": {"prompt_tokens": len(texts)}}


class _Server(ThreadingHTTPServer):
    """Reports errors, but not that a client was killed."""

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def __init__(self, provider: FakeProvider, *arguments: Any) -> None:
        self._provider = provider
        super().__init__(*arguments)

    def date_time_string(self, timestamp: float | None = None) -> str:
        return self._provider.date or super().date_time_string(timestamp)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base's name
        """Log nothing."""

    def do_GET(self) -> None:
        """Send the number of requests that arrived, for another process."""
        self._send(Fault(200, str(len(self._provider.requests))))

    def do_POST(self) -> None:
        size = int(self.headers["Content-Length"])
        raw = self.rfile.read(size)
        if len(raw) < size:
            # The client was killed while it sent the request.
            self.close_connection = True
            return
        body = json.loads(raw)
        request = ReceivedRequest(self.path, dict(self.headers), body)
        response = self._provider.receive(request, raw)
        if not isinstance(response, Fault):
            response = self._success(body, response)
        # The client may have closed the connection.
        with suppress(ConnectionError):
            self._send(response)

    def _success(self, body: Json, response: CannedResponse | None) -> Fault:
        if self.path.endswith("/embeddings"):
            return Fault(200, json.dumps(_embeddings(body["input"])))
        if response is None:
            text = wire_formats.canned_text(body, self._provider.responders)
            response = self._counted(body, text)
        sent = wire_formats.response_body(self.path, response)
        if sent is None:
            return Fault(404, '{"error": {"message": "no such path"}}')
        return Fault(200, json.dumps(sent))

    def _counted(self, body: Json, text: str) -> CannedResponse:
        cache = self._provider.prompt_cache
        if not self._provider.counts_text and cache is None:
            return CannedResponse(text, prompt_tokens=self._provider.prompt_tokens)
        prompt = sum(len(message) for _, message in wire_formats.messages(body))
        return CannedResponse(
            text,
            prompt_tokens=max(prompt // CHARACTERS_PER_TOKEN, 1),
            completion_tokens=max(len(text) // CHARACTERS_PER_TOKEN, 1),
            cached_tokens=cache.read(body) if cache is not None else None,
        )

    def _send(self, response: Fault) -> None:
        data = response.body.encode()
        if response.delivery != "complete":
            self.close_connection = True
        if response.delivery == "hangs":
            self._provider.stopped.wait(10)
        if response.delivery in {"hangs", "dropped"}:
            return
        self.send_response(response.status)
        for name, value in response.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        if response.delivery != "endless":
            self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data if response.delivery == "complete" else data[: len(data) // 2])
        while response.delivery == "endless" and not self._provider.stopped.is_set():
            self.wfile.write(b" " * 65_536)
