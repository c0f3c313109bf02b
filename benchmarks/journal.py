"""Overhead of the journal per request: a miss with a write, and a hit, in a file of 100,000 rows.

    python -m benchmarks.journal

Exits with 1 if a request costs more than it may.
"""

import asyncio
import json
import resource
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from graphiti_core.prompts.extract_nodes import ExtractedEntities

from benchmarks.cost import at_most
from turnetl.base.clock import now
from turnetl.llm.chat import ChatMessage, ChatRequest, ChatResponse, response_schema
from turnetl.llm.journal import Journal, JournaledModel

REQUESTS = 2_000
ROWS = 100_000
CONCURRENCY = 8
MAX_CPU_MS = 0.3
"""Per request."""
ENTITIES = [{"name": f"src/module_{number:02}.py", "entity_type_id": 1} for number in range(20)]
TEXT = json.dumps({"extracted_entities": ENTITIES})


class ConstantModel:
    """Responds immediately."""

    name = "openai/canned"

    async def complete(self, request: ChatRequest) -> ChatResponse:  # noqa: ARG002 - the same to all
        return ChatResponse(TEXT, 4_000, 250, truncated=False, cost=0.001)

    async def close(self) -> None: ...


@dataclass
class JournalTime:
    cpu: float
    """Milliseconds per request."""
    wall: float
    """Milliseconds per request."""
    stall: float
    """Longest time that the event loop was blocked, in milliseconds."""


def chat_request(number: int) -> ChatRequest:
    messages = (
        ChatMessage("system", "You extract. " * 100),
        ChatMessage("user", f"{number} " + "turn " * 3_000),
    )
    return ChatRequest(
        "extract_nodes.extract_text", messages, response_schema(ExtractedEntities), 16_384
    )


async def measure(complete: Callable[[ChatRequest], Awaitable[ChatResponse]]) -> JournalTime:
    """Send all requests, `CONCURRENCY` at a time."""
    requests = [chat_request(number) for number in range(REQUESTS)]
    slots, stall = asyncio.Semaphore(CONCURRENCY), 0.0

    async def watch() -> None:
        nonlocal stall
        while True:
            started = time.perf_counter()
            await asyncio.sleep(0.005)
            stall = max(stall, time.perf_counter() - started - 0.005)

    async def send(request: ChatRequest) -> None:
        async with slots:
            await complete(request)

    watching = asyncio.create_task(watch())
    cpu, wall = cpu_seconds(), time.perf_counter()
    await asyncio.gather(*map(send, requests))
    scale = 1e3 / REQUESTS
    spent = JournalTime(
        (cpu_seconds() - cpu) * scale, (time.perf_counter() - wall) * scale, stall * 1e3
    )
    watching.cancel()
    return spent


def cpu_seconds() -> float:
    """Return the CPU time of this process, with all its threads."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def fill(journal: Journal) -> None:
    response = ChatResponse(TEXT, 4_000, 250, truncated=False, cost=0.001)
    request = ChatRequest("dedupe_nodes.nodes", (ChatMessage("user", "?"),), None, 100)
    for number in range(ROWS):
        journal.put(f"{number:032x}", request, ConstantModel.name, response)


async def run(folder: Path) -> list[bool]:
    path = folder / "journal.sqlite"
    baseline = await measure(ConstantModel().complete)
    journal = Journal(path, clock=now)
    fill(journal)
    misses = await measure(JournaledModel(ConstantModel(), journal).complete)
    hits = await measure(JournaledModel(ConstantModel(), journal).complete)
    journal.close()
    journal = Journal(path, clock=now)
    started = time.perf_counter()
    stats = journal.stats()
    print(
        f"  {time.perf_counter() - started:8.2f} s for statistics of {stats.total.entries:,} rows, "
        f"{stats.bytes / 1e6:,.0f} MB"
    )
    started = time.perf_counter()
    pruned = journal.prune(older_than=now())
    print(f"  {time.perf_counter() - started:8.2f} s to prune {pruned.entries:,}")
    journal.close()
    for name, spent in (("misses", misses), ("hits", hits)):
        print(f"  {spent.stall:8.2f} ms: longest block of the event loop during {name}")
    return [
        at_most("ms of CPU per miss with its write", misses.cpu - baseline.cpu, MAX_CPU_MS),
        at_most("ms of CPU per hit", hits.cpu - baseline.cpu, MAX_CPU_MS),
    ]


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        passed = asyncio.run(run(Path(folder)))
    sys.exit(not all(passed))


if __name__ == "__main__":
    main()
