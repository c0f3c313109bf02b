"""What stands around a call: CPU a call of the whole stack, and how much of a limit is used.

    python -m benchmarks.calls [--calls 2000] [--minutes 2]

The provider is a process of its own. Requests are as long as those of a turn, each another one,
and answers name six facts; the stack is the one that a run has: journal on disk, budget of tokens
and money, retry, limiter of requests and tokens, meter, HTTP. CPU is this process's, of all its
threads. Then a provider that takes 600 requests in any minute and answers 429 beyond them is asked
as fast as the limiter lets.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from graphiti_core.prompts.extract_edges import ExtractedEdges

from benchmarks import provider
from benchmarks.cost import at_least, at_most
from benchmarks.provider import Running
from turnetl import clock
from turnetl.llm.budget import Budget
from turnetl.llm.chat import ChatMessage, ChatModel, ChatRequest, response_schema
from turnetl.llm.journal import Journal
from turnetl.llm.limiter import Limiter
from turnetl.llm.meter import Meter
from turnetl.llm.prices import Price, Prices
from turnetl.llm.providers.registry import open_model
from turnetl.llm.retry import RetryPolicy
from turnetl.llm.stack import ModelStack, wrap

MS_A_CALL = 2.0
USED = 0.95
REQUESTS = 600
AT_ONCE = 16
WARM = 100
CHARACTERS = 12_000
"""Of a request: those of a turn of two thousand characters, with three before it."""

Ask = Callable[[ChatModel, ChatRequest], Awaitable[object]]


@dataclass(frozen=True)
class Spent:
    """Milliseconds a call."""

    cpu: float
    wall: float


def request(number: int) -> ChatRequest:
    words = " ".join(f"word{number}x{at}" for at in range(CHARACTERS // 12))
    facts = " ".join(f"`cart{number}.py` uses `sqlite{at}`." for at in range(6))
    told = f"{words[:CHARACTERS]}\n<CURRENT_MESSAGE>\n{facts}\n</CURRENT_MESSAGE>\n"
    messages = (ChatMessage("system", "You extract facts."), ChatMessage("user", told))
    return ChatRequest("extract_edges.edge", messages, response_schema(ExtractedEdges), 16_384)


@contextmanager
def shared(folder: Path, requests: int = 10**6) -> Iterator[ModelStack]:
    prices = Prices(({"*": Price(0.4, 0.1, 1.6)},))
    meter = Meter(prices)
    with closing(Journal(folder / "journal.sqlite", clock=clock.now)) as journal:
        yield ModelStack(
            journal,
            Budget(10**12, 10**6, meter, prices),
            RetryPolicy(),
            Limiter(requests, 10**9, AT_ONCE),
            meter,
        )


async def asked(model: ChatModel, numbers: range) -> Spent:
    """Ask all requests, so many at once as the model bears."""
    requests = [request(number) for number in numbers]
    cpu, wall = time.process_time(), time.perf_counter()
    left = iter(requests)

    async def some() -> None:
        for one in left:
            await model.complete(one)

    await asyncio.gather(*(some() for _ in range(AT_ONCE)))
    share = 1e3 / len(requests)
    return Spent((time.process_time() - cpu) * share, (time.perf_counter() - wall) * share)


def opened(url: str) -> ChatModel:
    return open_model("openai-compatible", model="canned", base_url=url)


async def costs(url: str, folder: Path, calls: int) -> bool:
    bare = opened(url)
    await asked(bare, range(-WARM, 0))
    alone = await asked(bare, range(calls))
    await bare.close()
    with shared(folder) as around:
        whole = wrap(opened(url), around)
        await asked(whole, range(-WARM, 0))
        first = await asked(whole, range(calls))
        again = await asked(whole, range(calls))
        await whole.close()
    print(f"{calls:,} calls, {CHARACTERS:,} characters each, {AT_ONCE} at once: ms a call")
    for name, spent in (("HTTP alone", alone), ("the stack", first), ("from the journal", again)):
        print(f"  {spent.cpu:8.2f} CPU {spent.wall:8.2f} wall  {name}")
    return at_most("ms of CPU a call of the whole stack", first.cpu, MS_A_CALL)


async def used(minutes: float) -> bool:
    """Ask as fast as the limiter lets, and see what the provider counted."""
    with (
        provider.running(cap=REQUESTS, latency={"edges": 0.4}) as running,
        tempfile.TemporaryDirectory() as folder,
        shared(Path(folder), REQUESTS) as around,
    ):
        model = wrap(opened(running.base_url()), around)
        await asked(model, range(int(REQUESTS * minutes)))
        await model.close()
        return _told(running)


def _told(running: Running) -> bool:
    counts = running.counts()
    assert counts.first is not None
    assert counts.last is not None
    share = (counts.total - 1) / ((counts.last - counts.first) / 60) / REQUESTS
    print(f"\n{REQUESTS} requests a minute, {counts.total:,} asked")
    enough = at_least("of the requests that a provider takes are used", share, USED)
    return at_most("answers 429", counts.faults["cap"], 0) and enough


async def main(calls: int, minutes: float) -> bool:
    with provider.running() as running, tempfile.TemporaryDirectory() as folder:
        kept = await costs(running.base_url(), Path(folder), calls)
    return await used(minutes) and kept if minutes else kept


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=2000)
    parser.add_argument("--minutes", type=float, default=2)
    given = parser.parse_args()
    sys.exit(not asyncio.run(main(given.calls, given.minutes)))
