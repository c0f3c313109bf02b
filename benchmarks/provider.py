"""A fake provider in a process of its own, fast enough not to affect a measurement.

    python -m benchmarks.provider [--responders benchmarks.responders] [--latency edges=1.6 ...]
        [--fault 429=0.05 ...] [--seed 0] [--cap 600] [--window 60]

It serves the formats of tests/servers/wire_formats.py and OpenAI's embeddings, prints its URL as
its first line, and exits when its standard input ends. `GET /counts` returns the counts so far;
`POST /reset` resets them.
"""

import argparse
import asyncio
import hashlib
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
from tests.servers.canned_responses import Responders
from tests.servers.faults import FAULTS, Fault, FaultInjector, RequestCap
from tests.servers.toy_embedder import ToyEmbedder
from tests.servers.wire_formats import CannedResponse

MEASURED_LATENCY: Mapping[str, float] = {
    "extracted_entities": 1.7,
    "entity_resolutions": 1.3,
    "edges": 1.6,
    "duplicate_facts": 0.6,
    "fact_resolutions": 1.3,
    "valid_at": 0.6,
    "summaries": 0.6,
    "embeddings": 0.05,
}
"""Seconds that users measured, by kind of request: a field of its response, or `embeddings`. Only
turnetl sends several facts in one request: the response is as long as that about entities."""
KINDS = (*MEASURED_LATENCY, "entity_summaries")
"""Kinds of requests that are counted under their own name."""
_CHARACTERS_PER_TOKEN = 4


@dataclass
class ProviderCounts:
    """What arrived so far, by kind of request."""

    requests: Counter[str] = field(default_factory=Counter)
    characters: Counter[str] = field(default_factory=Counter)
    """Of the messages, without schemas."""
    faults: Counter[str] = field(default_factory=Counter)
    """By name; `cap` is status 429 for a request above the limit."""
    bodies: Counter[str] = field(default_factory=Counter)
    """By digest of the request."""
    first: float | None = None
    last: float | None = None
    """Times of the first and the last request, on the server's clock."""
    arrivals: list[list[float]] = field(default_factory=list)
    """Time, on the server's clock, and tokens of each request and its response; no embeddings."""
    in_flight: int = 0
    most_in_flight: int = 0
    seconds: float = 0.0
    """From the arrival of each request to its response, added up; no embeddings."""

    @property
    def total(self) -> int:
        return sum(self.requests.values())


@dataclass(frozen=True)
class ProviderProcess:
    """A running provider."""

    url: str

    def base_url(self, provider: str = "openai-compatible") -> str:
        paths = {"openai": "/v1", "openai-compatible": "/v1", "anthropic": "", "gemini": "/v1beta"}
        return self.url + paths[provider]

    def counts(self) -> ProviderCounts:
        with urllib.request.urlopen(f"{self.url}/counts") as response:  # noqa: S310 - our own
            values = json.loads(response.read())
        names = ("requests", "characters", "faults", "bodies")
        counters = {name: Counter(values[name]) for name in names}
        return ProviderCounts(**values | counters)

    def reset(self) -> None:
        with urllib.request.urlopen(f"{self.url}/reset", data=b""):  # noqa: S310 - our own
            pass


@contextmanager
def running(
    *,
    responders: str = "tests.servers.canned_responses",
    latency: Mapping[str, float] | None = None,
    faults: Mapping[str, float] | None = None,
    seed: int = 0,
    cap: int | None = None,
    window: float = 60.0,
) -> Iterator[ProviderProcess]:
    """Start a provider; stop it on exit.

    Args:
        responders: a module with `RESPONDERS`.
        latency: seconds by kind of request; `MEASURED_LATENCY` are those of users.
        faults: rates by name in `FAULTS` of tests/servers/faults.py.
        seed: of the faults.
        cap: requests in any `window` seconds; those above it get status 429.
        window: seconds.
    """
    command = [sys.executable, "-m", "benchmarks.provider", "--responders", responders]
    command += ["--seed", str(seed), "--window", str(window)]
    command += [f"--latency={kind}={seconds}" for kind, seconds in (latency or {}).items()]
    command += [f"--fault={name}={rate}" for name, rate in (faults or {}).items()]
    command += ["--cap", str(cap)] if cap is not None else []
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield ProviderProcess(process.stdout.readline().strip())
        finally:
            process.stdin.close()
            process.wait()


class ProviderServer:
    """Responds to requests and counts them."""

    def __init__(
        self,
        responders: Responders,
        latency: Mapping[str, float],
        fault_injector: FaultInjector,
        cap: RequestCap | None,
    ) -> None:
        self.counts = ProviderCounts()
        self._responders = responders
        self._latency = latency
        self._fault_injector = fault_injector
        self._cap = cap
        self._embedder = ToyEmbedder()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve the requests of one connection, one after the other."""
        try:
            while (head := await reader.readuntil(b"\r\n\r\n")) and not writer.is_closing():
                length = _content_length(head)
                path = head.split(b" ", 2)[1].decode()
                await self._respond(path, await reader.readexactly(length), writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _respond(self, path: str, raw: bytes, writer: asyncio.StreamWriter) -> None:
        if path == "/counts":
            response = Fault(body=json.dumps(vars(self.counts)))
        elif path == "/reset":
            self.counts = ProviderCounts()
            response = Fault()
        else:
            response = await self._counted_response(path, raw)
        body = response.body.encode()
        head = f"HTTP/1.1 {response.status} X\r\nContent-Type: application/json\r\n"
        head += "".join(f"{name}: {value}\r\n" for name, value in response.headers.items())
        data = f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body
        if response.delivery != "complete":
            writer.write(data[: len(data) // 2] if response.delivery == "partial" else b"")
            writer.close()
            return
        writer.write(data)
        await writer.drain()

    async def _counted_response(self, path: str, raw: bytes) -> Fault:
        counts = self.counts
        counts.in_flight += 1
        counts.most_in_flight = max(counts.most_in_flight, counts.in_flight)
        try:
            return await self._response(path, raw)
        finally:
            counts.in_flight -= 1

    async def _response(self, path: str, raw: bytes) -> Fault:
        body = json.loads(raw)
        kind, characters = _kind(path, body)
        self._count(kind, characters)
        self.counts.bodies[hashlib.sha256(raw).hexdigest()[:16]] += 1
        arrival = [time.monotonic(), characters / _CHARACTERS_PER_TOKEN]
        if self._cap is not None and (fault := self._cap.reject()):
            self.counts.faults["cap"] += 1
            return fault
        injected = self._inject(raw)
        if isinstance(injected, Fault):
            return injected
        if kind != "embeddings":
            self.counts.arrivals.append(arrival)
        if seconds := self._latency.get(kind):
            await asyncio.sleep(seconds)
        if kind == "embeddings":
            return Fault(body=json.dumps(await self._embeddings(body)))
        response = injected or CannedResponse(wire_formats.canned_text(body, self._responders))
        self.counts.seconds += time.monotonic() - arrival[0]
        arrival[1] += len(response.text) // _CHARACTERS_PER_TOKEN
        tokens = characters // _CHARACTERS_PER_TOKEN, len(response.text) // _CHARACTERS_PER_TOKEN
        counted = CannedResponse(response.text, response.finish_reason, *tokens)
        sent = wire_formats.response_body(path, counted)
        return Fault(body=json.dumps(sent)) if sent else Fault(404)

    def _count(self, kind: str, characters: int) -> None:
        self.counts.requests[kind] += 1
        self.counts.characters[kind] += characters
        self.counts.last = time.monotonic()
        self.counts.first = self.counts.first or self.counts.last

    def _inject(self, raw: bytes) -> Fault | CannedResponse | None:
        name = self._fault_injector.pick(raw)
        if name is None:
            return None
        self.counts.faults[name] += 1
        return FAULTS[name]

    async def _embeddings(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
        vectors = await self._embedder.embed(texts)
        self._embedder.embedded.clear()
        encode = _base64 if body.get("encoding_format") == "base64" else _floats
        data = [
            {"index": index, "embedding": encode(vector)} for index, vector in enumerate(vectors)
        ]
        tokens = sum(map(len, texts)) // _CHARACTERS_PER_TOKEN
        return {"data": data, "usage": {"prompt_tokens": tokens, "total_tokens": tokens}}


def _kind(path: str, body: Mapping[str, Any]) -> tuple[str, int]:
    """Return the kind of the request, and the number of characters that the model reads."""
    if path.endswith("/embeddings"):
        texts = body["input"]
        return "embeddings", len(texts) if isinstance(texts, str) else sum(map(len, texts))
    fields = wire_formats.fields(dict(body))
    kind = next((kind for kind in KINDS if kind in fields), "other")
    return kind, sum(len(text) for _, text in wire_formats.messages(dict(body)))


def _content_length(head: bytes) -> int:
    lines = head.lower().split(b"\r\n")
    return next((int(line[15:]) for line in lines if line.startswith(b"content-length:")), 0)


def _base64(vector: bytes) -> str:
    return b64encode(vector).decode()


def _floats(vector: bytes) -> list[float]:
    import numpy as np  # noqa: PLC0415 - needed for embeddings only

    return [float(number) for number in np.frombuffer(vector, "<f4")]


def _rates(options: Sequence[str]) -> dict[str, float]:
    return {name: float(value) for name, value in (option.split("=") for option in options)}


async def _main(options: argparse.Namespace) -> None:
    cap = RequestCap(options.cap, options.window, time.monotonic) if options.cap else None
    responders: Responders = importlib.import_module(options.responders).RESPONDERS
    fault_injector = FaultInjector(_rates(options.fault), options.seed)
    server = ProviderServer(responders, _rates(options.latency), fault_injector, cap)
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0, limit=1 << 20)
    port = listening.sockets[0].getsockname()[1]
    print(f"http://127.0.0.1:{port}", flush=True)
    # The parent closes this input, also when it dies.
    await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--responders", default="tests.servers.canned_responses")
    parser.add_argument("--latency", action="append", default=[])
    parser.add_argument("--fault", action="append", default=[])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cap", type=int)
    parser.add_argument("--window", type=float, default=60.0)
    asyncio.run(_main(parser.parse_args()))
