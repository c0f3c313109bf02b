"""A provider of canned answers in a process of its own, fast enough not to be what is measured.

    python -m benchmarks.provider [--answers benchmarks.answers] [--latency edges=1.6 ...]
        [--fault 429=0.05 ...] [--seed 0] [--cap 600] [--window 60]

It speaks the formats of tests/servers/wires.py and OpenAI's embeddings, prints its address as its
first line, and lives until its standard input ends. `GET /counts` says what came so far; `POST
/reset` starts that anew.
"""

import argparse
import asyncio
import importlib
import json
import subprocess
import sys
import time
import urllib.request
from base64 import b64encode
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.servers import wire_formats
from tests.servers.canned_responses import Answers
from tests.servers.faults import KINDS, Cap, Dice, Fault
from tests.servers.toy_embedder import ToyEmbedder
from tests.servers.wire_formats import Words

SPEC: Mapping[str, float] = {
    "extracted_entities": 1.7,
    "entity_resolutions": 1.3,
    "edges": 1.6,
    "duplicate_facts": 0.6,
    "valid_at": 0.6,
    "summaries": 0.6,
    "embeddings": 0.05,
}
"""Seconds that users measured, by the field that an answer has."""
_CHARACTERS_A_TOKEN = 4


@dataclass
class Counts:
    """What came so far, by the field that the answer has; `embeddings` are among them."""

    requests: Counter[str] = field(default_factory=Counter)
    characters: Counter[str] = field(default_factory=Counter)
    """Of the messages; schemas are not counted."""
    faults: Counter[str] = field(default_factory=Counter)
    """By kind; `cap` is the 429 of a request over the limit."""
    first: float | None = None
    last: float | None = None
    """When the first and the last request came, on the server's clock."""

    @property
    def total(self) -> int:
        return sum(self.requests.values())


@dataclass(frozen=True)
class Running:
    """A provider that was started."""

    url: str

    def base_url(self, provider: str = "openai-compatible") -> str:
        ends = {"openai": "/v1", "openai-compatible": "/v1", "anthropic": "", "gemini": "/v1beta"}
        return self.url + ends[provider]

    def counts(self) -> Counts:
        with urllib.request.urlopen(f"{self.url}/counts") as response:  # noqa: S310 - our own
            said = json.loads(response.read())
        named = {name: Counter(said[name]) for name in ("requests", "characters", "faults")}
        return Counts(**named, first=said["first"], last=said["last"])

    def reset(self) -> None:
        with urllib.request.urlopen(f"{self.url}/reset", data=b""):  # noqa: S310 - our own
            pass


@contextmanager
def running(
    *,
    answers: str = "tests.servers.canned_responses",
    latency: Mapping[str, float] | None = None,
    faults: Mapping[str, float] | None = None,
    seed: int = 0,
    cap: int | None = None,
    window: float = 60.0,
) -> Iterator[Running]:
    """Start a provider, and end it afterwards.

    Args:
        answers: a module with `ANSWERS`.
        latency: seconds by the field that the answer has; `SPEC` are those that users measured.
        faults: rates by kind, from `KINDS` in tests/servers/faults.py.
        seed: of the accidents.
        cap: requests in any `window` seconds; more are answered 429.
        window: seconds.
    """
    given = [sys.executable, "-m", "benchmarks.provider", "--answers", answers]
    given += ["--seed", str(seed), "--window", str(window)]
    given += [f"--latency={kind}={seconds}" for kind, seconds in (latency or {}).items()]
    given += [f"--fault={kind}={rate}" for kind, rate in (faults or {}).items()]
    given += ["--cap", str(cap)] if cap is not None else []
    with subprocess.Popen(
        given, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield Running(process.stdout.readline().strip())
        finally:
            process.stdin.close()
            process.wait()


class Server:
    """Answers, and counts."""

    def __init__(
        self, answers: Answers, latency: Mapping[str, float], dice: Dice, cap: Cap | None
    ) -> None:
        self.counts = Counts()
        self._answers = answers
        self._latency = latency
        self._dice = dice
        self._cap = cap
        self._embedder = ToyEmbedder()

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection, request after request."""
        try:
            while (head := await reader.readuntil(b"\r\n\r\n")) and not writer.is_closing():
                length = _length(head)
                path = head.split(b" ", 2)[1].decode()
                await self._serve(path, await reader.readexactly(length), writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _serve(self, path: str, raw: bytes, writer: asyncio.StreamWriter) -> None:
        if path == "/counts":
            fault = Fault(body=json.dumps(vars(self.counts)))
        elif path == "/reset":
            self.counts = Counts()
            fault = Fault()
        else:
            fault = await self._reply(path, raw)
        data = fault.body.encode()
        head = f"HTTP/1.1 {fault.status} X\r\nContent-Type: application/json\r\n"
        head += "".join(f"{name}: {value}\r\n" for name, value in fault.headers.items())
        whole = f"{head}Content-Length: {len(data)}\r\n\r\n".encode() + data
        if fault.way != "whole":
            writer.write(whole[: len(whole) // 2] if fault.way == "half" else b"")
            writer.close()
            return
        writer.write(whole)
        await writer.drain()

    async def _reply(self, path: str, raw: bytes) -> Fault:
        body = json.loads(raw)
        kind, characters = _asked(path, body)
        self._count(kind, characters)
        if self._cap is not None and (fault := self._cap.over()):
            self.counts.faults["cap"] += 1
            return fault
        instead = self._accident(raw)
        if isinstance(instead, Fault):
            return instead
        if seconds := self._latency.get(kind):
            await asyncio.sleep(seconds)
        if kind == "embeddings":
            return Fault(body=json.dumps(await self._embedded(body)))
        words = instead or Words(wire_formats.canned(body, self._answers))
        tokens = characters // _CHARACTERS_A_TOKEN, len(words.text) // _CHARACTERS_A_TOKEN
        reply = wire_formats.reply(path, Words(words.text, words.end, *tokens))
        return Fault(body=json.dumps(reply)) if reply else Fault(404)

    def _count(self, kind: str, characters: int) -> None:
        self.counts.requests[kind] += 1
        self.counts.characters[kind] += characters
        self.counts.last = time.monotonic()
        self.counts.first = self.counts.first or self.counts.last

    def _accident(self, raw: bytes) -> Fault | Words | None:
        kind = self._dice.thrown(raw)
        if kind is None:
            return None
        self.counts.faults[kind] += 1
        return KINDS[kind]

    async def _embedded(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
        vectors = await self._embedder.embed(texts)
        self._embedder.embedded.clear()
        in_base64 = body.get("encoding_format") == "base64"
        data = [
            {"index": at, "embedding": b64encode(one).decode() if in_base64 else _floats(one)}
            for at, one in enumerate(vectors)
        ]
        tokens = sum(map(len, texts)) // _CHARACTERS_A_TOKEN
        return {"data": data, "usage": {"prompt_tokens": tokens, "total_tokens": tokens}}


def _asked(path: str, body: Mapping[str, Any]) -> tuple[str, int]:
    """Return the kind of the request, and the characters that the model reads."""
    if path.endswith("/embeddings"):
        texts = body["input"]
        return "embeddings", len(texts) if isinstance(texts, str) else sum(map(len, texts))
    fields = wire_formats.fields(dict(body))
    kind = next((kind for kind in SPEC if kind in fields), "other")
    return kind, sum(len(text) for _, text in wire_formats.messages(dict(body)))


def _length(head: bytes) -> int:
    lines = head.lower().split(b"\r\n")
    return next((int(line[15:]) for line in lines if line.startswith(b"content-length:")), 0)


def _floats(vector: bytes) -> list[float]:
    import numpy as np  # noqa: PLC0415 - for those who ask for embeddings

    return [float(one) for one in np.frombuffer(vector, "<f4")]


def _rates(given: Sequence[str]) -> dict[str, float]:
    return {name: float(value) for name, value in (one.split("=") for one in given)}


async def _main(given: argparse.Namespace) -> None:
    cap = Cap(given.cap, given.window, time.monotonic) if given.cap else None
    answers: Answers = importlib.import_module(given.answers).ANSWERS
    dice = Dice(_rates(given.fault), given.seed)
    server = Server(answers, _rates(given.latency), dice, cap)
    listening = await asyncio.start_server(server.talk, "127.0.0.1", 0, limit=1 << 20)
    port = listening.sockets[0].getsockname()[1]
    print(f"http://127.0.0.1:{port}", flush=True)
    # Whoever started it closes its input, also by dying.
    await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--answers", default="tests.servers.canned_responses")
    parser.add_argument("--latency", action="append", default=[])
    parser.add_argument("--fault", action="append", default=[])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cap", type=int)
    parser.add_argument("--window", type=float, default=60.0)
    asyncio.run(_main(parser.parse_args()))
