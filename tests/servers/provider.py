"""A provider of language models on a local port: real HTTP, four wire formats, canned answers.

What it says is computed from what it is asked (tests/servers/answers.py); what goes wrong is told
by the test (tests/servers/faults.py).
"""

import asyncio
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.servers import wire_formats
from tests.servers.canned_responses import ANSWERS, Json
from tests.servers.faults import KINDS, Cap, Dice, Fault
from tests.servers.toy_embedder import ToyEmbedder
from tests.servers.wire_formats import Words
from turnetl.llm.vectors import floats

__all__ = ["KEY", "Asked", "Cap", "Dice", "Fault", "Provider", "Words", "serving"]

KEY = "key-for-the-test-server"


@dataclass(frozen=True)
class Asked:
    """A request as it arrived."""

    path: str
    headers: Mapping[str, str]
    body: Json

    @property
    def messages(self) -> list[tuple[str, str]]:
        """Role and text of each message, the system's first, in whatever format it came."""
        return wire_formats.messages(self.body)


class Provider:
    """What the server was asked, and what it shall do next."""

    def __init__(self) -> None:
        self.url = ""
        self.asked: list[Asked] = []
        self.faults: list[Fault] = []
        """Answered first, one a request."""
        self.answers = ANSWERS
        """What is answered to which field; tests/servers/touchy.py has others."""
        self.texts: list[str | Words] = []
        """Said instead of an answer, one a request."""
        self.dice: Dice | None = None
        """Decides what goes wrong where nothing was said above."""
        self.cap: Cap | None = None
        self.date: str | None = None
        """The server's clock, as its header says; None for the true one."""
        self.arrived = threading.Semaphore(0)
        """Released with every request."""
        self.at_once = 0
        self.most_at_once = 0
        self.hold: threading.Event | None = None
        """If set: answers wait for it."""
        self.over = threading.Event()
        """Set when the server ends: what hangs until then goes on."""
        self._lock = threading.Lock()

    def base_url(self, provider: str) -> str:
        ends = {"openai": "/v1", "openai-compatible": "/v1", "anthropic": "", "gemini": "/v1beta"}
        return self.url + ends[provider]

    def prompts(self, field_name: str) -> list[Asked]:
        """Return the requests whose answers shall have that field."""
        return [asked for asked in self.asked if field_name in wire_formats.fields(asked.body)]

    def receive(self, asked: Asked, raw: bytes) -> Fault | Words | None:
        """Note a request, and wait if told to; return what to answer if not what is asked for."""
        with self._lock:
            self.asked.append(asked)
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
            instead = self._instead(raw)
        self.arrived.release()
        if self.hold is not None:
            self.hold.wait(10)
        with self._lock:
            self.at_once -= 1
        return instead

    def _instead(self, raw: bytes) -> Fault | Words | None:
        if self.cap is not None and (fault := self.cap.over()):
            return fault
        if self.faults:
            return self.faults.pop(0)
        if self.texts:
            said = self.texts.pop(0)
            return Words(said) if isinstance(said, str) else said
        kind = self.dice.thrown(raw) if self.dice is not None else None
        return KINDS[kind] if kind is not None else None


@contextmanager
def serving() -> Iterator[Provider]:
    provider = Provider()
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, provider))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    provider.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield provider
    finally:
        provider.over.set()
        server.shutdown()
        server.server_close()
        thread.join()


def _embedded(texts: list[str]) -> Json:
    vectors = asyncio.run(ToyEmbedder().embed(texts))
    data = [{"index": at, "embedding": floats(one)} for at, one in enumerate(vectors)]
    return {"data": data, "usage": {"prompt_tokens": len(texts)}}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def __init__(self, provider: Provider, *of_the_server: Any) -> None:
        self._provider = provider
        super().__init__(*of_the_server)

    def date_time_string(self, timestamp: float | None = None) -> str:
        return self._provider.date or super().date_time_string(timestamp)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base's name
        """Say nothing."""

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers["Content-Length"]))
        body = json.loads(raw)
        instead = self._provider.receive(Asked(self.path, dict(self.headers), body), raw)
        fault = instead if isinstance(instead, Fault) else self._answer(body, instead)
        # Whoever asked may have gone.
        with suppress(ConnectionError):
            self._reply(fault)

    def _answer(self, body: Json, words: Words | None) -> Fault:
        if self.path.endswith("/embeddings"):
            return Fault(200, json.dumps(_embedded(body["input"])))
        words = words or Words(wire_formats.canned(body, self._provider.answers))
        reply = wire_formats.reply(self.path, words)
        if reply is None:
            return Fault(404, '{"error": {"message": "no such path"}}')
        return Fault(200, json.dumps(reply))

    def _reply(self, reply: Fault) -> None:
        data = reply.body.encode()
        if reply.way != "whole":
            self.close_connection = True
        if reply.way == "hangs":
            self._provider.over.wait(10)
        if reply.way in {"hangs", "dropped"}:
            return
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        if reply.way != "endless":
            self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data if reply.way == "whole" else data[: len(data) // 2])
        while reply.way == "endless" and not self._provider.over.is_set():
            self.wfile.write(b" " * 65_536)
