"""A provider of language models on a local port: real HTTP, four wire formats, canned answers.

What it says is computed from what it is asked: see tests/servers/answers.py.
"""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.servers.answers import ANSWERS, Answers, Json

KEY = "key-for-the-test-server"


@dataclass(frozen=True)
class Fault:
    """What is answered instead of an answer."""

    status: int
    body: str = "{}"
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Asked:
    """A request as it arrived."""

    path: str
    headers: Mapping[str, str]
    body: Json

    @property
    def messages(self) -> list[tuple[str, str]]:
        """Role and text of each message, the system's first, in whatever format it came."""
        return _messages(self.body)


class Provider:
    """What the server was asked, and what it shall do next."""

    def __init__(self) -> None:
        self.url = ""
        self.asked: list[Asked] = []
        self.faults: list[Fault] = []
        """Answered first, one a request."""
        self.answers = ANSWERS
        """What is answered to which field; tests/servers/touchy.py has others."""
        self.texts: list[str] = []
        """Said instead of an answer, one a request."""
        self.arrived = threading.Semaphore(0)
        """Released with every request."""
        self.at_once = 0
        self.most_at_once = 0
        self.hold: threading.Event | None = None
        """If set: answers wait for it."""
        self._lock = threading.Lock()

    def base_url(self, provider: str) -> str:
        ends = {"openai": "/v1", "openai-compatible": "/v1", "anthropic": "", "gemini": "/v1beta"}
        return self.url + ends[provider]

    def prompts(self, field_name: str) -> list[Asked]:
        """Return the requests whose answers shall have that field."""
        return [asked for asked in self.asked if field_name in _fields(asked.body)]

    def receive(self, asked: Asked) -> tuple[Fault | None, str | None]:
        """Note a request, and wait if told to; return the fault or the text to answer, if any."""
        with self._lock:
            self.asked.append(asked)
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
            fault = self.faults.pop(0) if self.faults else None
            said = self.texts.pop(0) if self.texts else None
        self.arrived.release()
        if self.hold is not None:
            self.hold.wait(10)
        with self._lock:
            self.at_once -= 1
        return fault, said


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
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def __init__(self, provider: Provider, *of_the_server: Any) -> None:
        self._provider = provider
        super().__init__(*of_the_server)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base's name
        """Say nothing."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        fault, said = self._provider.receive(Asked(self.path, dict(self.headers), body))
        self._reply(fault or self._answer(body, said))

    def _answer(self, body: Json, said: str | None) -> Fault:
        wire = _wire(self.path)
        if wire is None:
            return Fault(404, '{"error": {"message": "no such path"}}')
        given = json.dumps(_canned(body, self._provider.answers)) if said is None else said
        return Fault(200, json.dumps(wire(given)))

    def _reply(self, reply: Fault) -> None:
        data = reply.body.encode()
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def _wire(path: str) -> Callable[[str], Json] | None:
    if path.endswith("/v1/chat/completions"):
        return _openai
    if path.endswith("/v1/messages"):
        return _anthropic
    if path.endswith(":generateContent"):
        return _gemini
    return None


def _openai(said: str) -> Json:
    return {
        "id": "c",
        "object": "chat.completion",
        "created": 0,
        "model": "canned",
        "choices": [
            {
                "index": 0,
                "finish_reason": "stop",
                "message": {"role": "assistant", "content": said},
            }
        ],
        "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
    }


def _anthropic(said: str) -> Json:
    try:
        block = {"type": "tool_use", "id": "t", "name": "answer", "input": json.loads(said)}
    except ValueError:
        block = {"type": "text", "text": said}
    usage = {"input_tokens": 60, "cache_read_input_tokens": 40, "output_tokens": 10}
    return {"content": [block], "stop_reason": "end_turn", "usage": usage}


def _gemini(said: str) -> Json:
    parts = [{"text": "thinking", "thought": True}, {"text": said}]
    return {
        "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP"}],
        "usageMetadata": {
            "promptTokenCount": 100,
            "candidatesTokenCount": 7,
            "thoughtsTokenCount": 3,
        },
    }


def _messages(body: Json) -> list[tuple[str, str]]:
    if "contents" in body:
        system = [("system", part["text"]) for part in body["systemInstruction"]["parts"]]
        rest = [(turn["role"], turn["parts"][0]["text"]) for turn in body["contents"]]
        return [*system, *rest]
    system = [("system", body["system"])] if "system" in body else []
    return [*system, *((m["role"], m["content"]) for m in body["messages"])]


def _fields(body: Json) -> set[str]:
    """Return the fields that the answer shall have."""
    if "response_format" in body:
        schema = body["response_format"]["json_schema"]["schema"]
    elif "tools" in body:
        schema = body["tools"][0]["input_schema"]
    else:
        schema = body.get("generationConfig", {}).get("responseSchema", {})
    return set(schema.get("properties", {}))


def _canned(body: Json, answers: Answers) -> Json:
    fields = _fields(body)
    prompt = next(text for role, text in _messages(body) if role == "user")
    return next((answer(prompt) for name, answer in answers.items() if name in fields), {})
