"""What the journal costs a call: looked for and not found, kept, found again; on a file that holds
a hundred thousand answers.

    python -m benchmarks.journal

Exits with 1 if a call costs more than it may.
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
from turnetl.clock import now
from turnetl.llm.chat import ChatMessage, ChatRequest, ChatResponse, response_schema
from turnetl.llm.journal import Journal, JournaledModel

CALLS = 2_000
HELD = 100_000
AT_ONCE = 8
MAY = 0.3
"""Milliseconds of CPU a call."""
NAMED = [{"name": f"src/module_{number:02}.py", "entity_type_id": 1} for number in range(20)]
TEXT = json.dumps({"extracted_entities": NAMED})


class Canned:
    """Answers at once."""

    name = "openai/canned"

    async def complete(self, request: ChatRequest) -> ChatResponse:  # noqa: ARG002 - whatever is asked
        return ChatResponse(TEXT, 4_000, 250, truncated=False, cost=0.001)

    async def close(self) -> None: ...


@dataclass
class Measured:
    cpu: float
    """Milliseconds a call."""
    wall: float
    """Milliseconds a call, one after another."""
    stall: float
    """Milliseconds that the loop did nothing else, at the most."""


def request(number: int) -> ChatRequest:
    words = (
        ChatMessage("system", "You extract. " * 100),
        ChatMessage("user", f"{number} " + "turn " * 3_000),
    )
    return ChatRequest(
        "extract_nodes.extract_text", words, response_schema(ExtractedEntities), 16_384
    )


async def measured(answer: Callable[[ChatRequest], Awaitable[ChatResponse]]) -> Measured:
    """Ask all requests, some at once."""
    asked, free, longest = [request(n) for n in range(CALLS)], asyncio.Semaphore(AT_ONCE), 0.0

    async def watch() -> None:
        nonlocal longest
        while True:
            began = time.perf_counter()
            await asyncio.sleep(0.005)
            longest = max(longest, time.perf_counter() - began - 0.005)

    async def one(what: ChatRequest) -> None:
        async with free:
            await answer(what)

    watching = asyncio.create_task(watch())
    cpu, wall = cpu_seconds(), time.perf_counter()
    await asyncio.gather(*map(one, asked))
    spent = Measured(
        (cpu_seconds() - cpu) / CALLS * 1e3, (time.perf_counter() - wall) / CALLS * 1e3, 0
    )
    watching.cancel()
    spent.stall = longest * 1e3
    return spent


def cpu_seconds() -> float:
    """Return what this process used, in all its threads."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def fill(journal: Journal) -> None:
    answer = ChatResponse(TEXT, 4_000, 250, truncated=False, cost=0.001)
    small = ChatRequest("dedupe_nodes.nodes", (ChatMessage("user", "?"),), None, 100)
    for number in range(HELD):
        journal.put(f"{number:032x}", small, Canned.name, answer)


async def run(folder: Path) -> list[bool]:
    path = folder / "journal.sqlite"
    bare = await measured(Canned().complete)
    journal = Journal(path, clock=now)
    fill(journal)
    kept = await measured(JournaledModel(Canned(), journal).complete)
    found = await measured(JournaledModel(Canned(), journal).complete)
    journal.close()
    journal = Journal(path, clock=now)
    began = time.perf_counter()
    stats = journal.stats()
    print(
        f"  {time.perf_counter() - began:8.2f} s to sum up {stats.total.entries:,} answers, "
        f"{stats.bytes / 1e6:,.0f} MB"
    )
    began = time.perf_counter()
    pruned = journal.prune(older_than=now())
    print(f"  {time.perf_counter() - began:8.2f} s to prune {pruned.entries:,}")
    journal.close()
    for what, spent in (("kept", kept), ("found", found)):
        print(f"  {spent.stall:8.2f} ms of a stall at the most while answers are {what}")
    return [
        at_most("ms of CPU a call: looked for, kept", kept.cpu - bare.cpu, MAY),
        at_most("ms of CPU a call: found", found.cpu - bare.cpu, MAY),
    ]


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        within = asyncio.run(run(Path(folder)))
    sys.exit(not all(within))


if __name__ == "__main__":
    main()
