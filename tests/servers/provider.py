"""A provider of language models on a local port: real HTTP, four wire formats, canned answers.

What it says is computed from what it is asked, by simple rules, so that any pipeline that asks the
same gets the same. Things stand in backticks, facts are sentences between two of them:

    `cart.py` uses `sqlite`.          a fact, USES
    `cart.py` no longer uses `sqlite`.  contradicts it
    `a` was split from `b` on 2026-01-02.  a fact with a date of its own
"""

import ast
import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

KEY = "key-for-the-test-server"

Json = dict[str, Any]


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
        self.texts: list[str] = []
        """Said instead of an answer, one a request."""
        self.arrived = threading.Semaphore(0)
        """Released with every request."""
        self.at_once = 0
        self.most_at_once = 0
        self.hold: threading.Event | None = None
        """If set: answers wait for it."""

    def base_url(self, provider: str) -> str:
        ends = {"openai": "/v1", "openai-compatible": "/v1", "anthropic": "", "gemini": "/v1beta"}
        return self.url + ends[provider]

    def prompts(self, field_name: str) -> list[Asked]:
        """Return the requests whose answers shall have that field."""
        return [asked for asked in self.asked if field_name in _fields(asked.body)]


@contextmanager
def serving() -> Iterator[Provider]:
    provider = Provider()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(provider))
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


def _handler(provider: Provider) -> type[BaseHTTPRequestHandler]:
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base's name
            """Say nothing."""

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with lock:
                provider.asked.append(Asked(self.path, dict(self.headers), body))
                provider.at_once += 1
                provider.most_at_once = max(provider.most_at_once, provider.at_once)
                fault = provider.faults.pop(0) if provider.faults else None
                said = provider.texts.pop(0) if provider.texts else None
            provider.arrived.release()
            if provider.hold is not None:
                provider.hold.wait(10)
            with lock:
                provider.at_once -= 1
            self._reply(fault or self._answer(body, said))

        def _answer(self, body: Json, said: str | None) -> Fault:
            wire = _wire(self.path)
            if wire is None:
                return Fault(404, '{"error": {"message": "no such path"}}')
            given = json.dumps(_canned(body)) if said is None else said
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

    return Handler


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


def _canned(body: Json) -> Json:
    fields = _fields(body)
    prompt = next(text for role, text in _messages(body) if role == "user")
    for name, answer in _ANSWERS.items():
        if name in fields:
            return answer(prompt)
    return {}


def _between(prompt: str, *names: str) -> str:
    for name in names:
        if found := re.search(rf"<{name}>\n(.*?)\n</{name}>", prompt, re.DOTALL):
            return found[1]
    raise ValueError(f"no {names} in the prompt")


def _entities(prompt: str) -> Json:
    kinds = {
        kind["entity_type_name"]: kind["entity_type_id"]
        for kind in ast.literal_eval(_between(prompt, "ENTITY TYPES"))
    }
    names = re.findall(r"`([^`]+)`", _between(prompt, "CURRENT MESSAGE"))
    found = [
        {"name": name, "entity_type_id": kinds.get(_kind(name), 0), "episode_indices": [0]}
        for name in dict.fromkeys(names)
        if not name.startswith("!")
    ]
    return {"extracted_entities": found}


def _kind(name: str) -> str:
    if name.endswith(("Error", "Exception")):
        return "Error"
    return "File" if name.endswith((".py", ".toml")) else "Entity"


def _edges(prompt: str) -> Json:
    edges = []
    message = _between(prompt, "CURRENT_MESSAGE")
    for fact, source, verb, target, date in _SENTENCE.findall(message):
        edges.append(
            {
                "source_entity_name": source.lstrip("!"),
                "target_entity_name": target.lstrip("!"),
                "relation_type": re.sub(r"\W+", "_", verb.strip()).upper(),
                "fact": fact.replace("`", "").replace("!", ""),
                "valid_at": f"{date}T00:00:00Z" if date else None,
                "invalid_at": None,
                "episode_indices": [0],
            }
        )
    return {"edges": edges}


_SENTENCE = re.compile(r"(`([^`]+)` ([a-z ]+) `([^`]+)`(?: on (\d{4}-\d\d-\d\d))?)\.")


def _resolutions(prompt: str) -> Json:
    new = json.loads(_between(prompt, "ENTITIES"))
    old = json.loads(_between(prompt, "EXISTING ENTITIES"))
    known = {_letters(one["name"]): one["candidate_id"] for one in reversed(old)}
    return {
        "entity_resolutions": [
            {
                "id": one["id"],
                "name": one["name"],
                "duplicate_candidate_id": known.get(_letters(one["name"]), -1),
            }
            for one in new
        ]
    }


def _duplicates(prompt: str) -> Json:
    existing = ast.literal_eval(_between(prompt, "EXISTING FACTS"))
    others = ast.literal_eval(_between(prompt, "FACT INVALIDATION CANDIDATES"))
    new = _between(prompt, "NEW FACT").strip()
    ended = _letters(new.replace("no longer ", "")) if "no longer" in new else None
    return {
        "duplicate_facts": [f["idx"] for f in existing if _letters(f["fact"]) == _letters(new)],
        "contradicted_facts": [
            f["idx"] for f in [*existing, *others] if _letters(f["fact"]) == ended
        ],
    }


def _timestamps(prompt: str) -> Json:
    return {"valid_at": _between(prompt, "REFERENCE TIME").strip(), "invalid_at": None}


def _summaries(prompt: str) -> Json:
    names = dict.fromkeys(re.findall(r'"name": "([^"]+)"', prompt))
    return {"summaries": [{"name": name, "summary": f"About {name}."} for name in names]}


def _letters(text: str) -> str:
    return re.sub(r"\W+", "", text).lower()


_ANSWERS: Mapping[str, Callable[[str], Json]] = {
    "extracted_entities": _entities,
    "edges": _edges,
    "entity_resolutions": _resolutions,
    "duplicate_facts": _duplicates,
    "summaries": _summaries,
    "valid_at": _timestamps,
}
