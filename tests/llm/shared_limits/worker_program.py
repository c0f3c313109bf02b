"""A process that sends requests within shared limits.

    python -m tests.llm.shared_limits.worker_program SPEC

SPEC is the JSON of `WorkerSpec`. Prints the JSON of `Work`.
"""

import asyncio
import json
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from uuid import uuid4

from turnetl.base import clock
from turnetl.base.errors import ModelBusy
from turnetl.graph.open import server_limits
from turnetl.ingestion import held_lease
from turnetl.llm.chat import ChatMessage, ChatModel, ChatRequest
from turnetl.llm.limiter import AdmissionLimits, LimitedModel, Limiter, ProviderLimits
from turnetl.llm.providers.registry import open_model
from turnetl.llm.shared_limits import SharedLimits, own_limits
from turnetl.llm.shared_limits.store import LimitsStore, SqliteLimits

REQUEST_SECONDS = 30.0


@dataclass(frozen=True)
class WorkerSpec:
    """What a worker does."""

    store: str
    """Path of a SQLite file, URL of a Neo4j with user and password, or empty: limits of its own."""
    base_url: str
    limits: tuple[int | None, int | None, int]
    """Requests per minute, tokens per minute, concurrency."""
    window: float
    """Seconds for which a request counts."""
    requests: int
    at_once: int
    characters: int = 400
    warmup: int = 0
    """Requests that are sent first and not counted."""
    name: str = "workers"
    """Of the limits."""


@dataclass(frozen=True)
class Work:
    """What a worker did."""

    answered: int
    rejected: int
    """Requests with status 429."""
    seconds: float
    cpu_seconds: float


def command(spec: WorkerSpec) -> list[str]:
    """Return the command that starts the worker."""
    return [sys.executable, "-m", __spec__.name, json.dumps(asdict(spec))]


def _store(place: str) -> LimitsStore:
    if not place.startswith("bolt://"):
        return SqliteLimits(Path(place), clock=lambda: clock.now().timestamp())
    store = server_limits(place, user="", password="")
    assert store is not None
    return store


def _shared(spec: WorkerSpec) -> SharedLimits:
    return SharedLimits(
        _store(spec.store),
        spec.name,
        ProviderLimits(*spec.limits),
        owner=held_lease.owner_name(uuid4().hex),
        is_dead=held_lease.is_dead,
        request_seconds=REQUEST_SECONDS,
        window=spec.window,
    )


async def _send_all(spec: WorkerSpec, model: ChatModel, count: int) -> Work:
    answered = rejected = 0
    queue = iter(range(count))
    text = "x" * spec.characters
    wall, cpu = time.perf_counter(), time.process_time()

    async def send() -> None:
        nonlocal answered, rejected
        for number in queue:
            request = ChatRequest(str(number), (ChatMessage("user", text),), None, 1000)
            try:
                await model.complete(request)
            except ModelBusy:
                rejected += 1
            else:
                answered += 1

    await asyncio.gather(*(send() for _ in range(spec.at_once)))
    return Work(answered, rejected, time.perf_counter() - wall, time.process_time() - cpu)


async def main(spec: WorkerSpec) -> None:
    shared = _shared(spec) if spec.store else None
    limits: AdmissionLimits = shared or own_limits(
        ProviderLimits(*spec.limits), request_seconds=120
    )
    base = open_model("openai-compatible", model="canned", base_url=spec.base_url)
    model = LimitedModel(base, Limiter(limits))
    await _send_all(spec, model, spec.warmup)
    work = await _send_all(spec, model, spec.requests)
    await model.close()
    if shared is not None:
        await shared.close()
    sys.stdout.write(json.dumps(asdict(work)))


if __name__ == "__main__":
    asyncio.run(main(WorkerSpec(**json.loads(sys.argv[1]))))
