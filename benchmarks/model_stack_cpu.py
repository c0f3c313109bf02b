"""Overhead of the model stack: CPU per request, and the used share of a rate limit.

    python -m benchmarks.model_stack_cpu [--calls 2000] [--minutes 2]

The provider is a process of its own. Requests are as long as those of a turn and all different;
responses name six facts. The stack is that of a run: journal on disk, budget of tokens and dollars,
retry, limiter of requests and tokens, meter, HTTP. CPU is that of this process with all its
threads. Then requests are sent as fast as the limiter admits them, to a provider that accepts 600
in any minute and returns 429 above that.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from graphiti_core.prompts.extract_edges import ExtractedEdges

from benchmarks import provider
from benchmarks.cost import at_least, at_most
from benchmarks.provider import ProviderProcess
from turnetl.base import clock
from turnetl.llm.budget import Budget
from turnetl.llm.chat import ChatMessage, ChatModel, ChatRequest, response_schema
from turnetl.llm.journal import Journal
from turnetl.llm.limiter import Limiter, ProviderLimits
from turnetl.llm.meter import Meter
from turnetl.llm.prices import Price, Prices
from turnetl.llm.providers.registry import open_model
from turnetl.llm.retry import RetryPolicy
from turnetl.llm.shared_limits import own_limits
from turnetl.llm.stack import ModelStack, wrap

MAX_CPU_MS = 2.0
"""Per request."""
MIN_USED = 0.95
"""Share of the rate limit."""
REQUESTS_PER_MINUTE = 600
CONCURRENCY = 16
WARMUP = 100
CHARACTERS = 12_000
"""Per request: a turn of two thousand characters with three turns of context."""


@dataclass(frozen=True)
class RequestTime:
    """Milliseconds per request."""

    cpu: float
    wall: float


def chat_request(number: int) -> ChatRequest:
    words = " ".join(f"word{number}x{index}" for index in range(CHARACTERS // 12))
    facts = " ".join(f"`cart{number}.py` uses `sqlite{index}`." for index in range(6))
    prompt = f"{words[:CHARACTERS]}\n<CURRENT_MESSAGE>\n{facts}\n</CURRENT_MESSAGE>\n"
    messages = (ChatMessage("system", "You extract facts."), ChatMessage("user", prompt))
    return ChatRequest("extract_edges.edge", messages, response_schema(ExtractedEdges), 16_384)


@contextmanager
def model_stack(folder: Path, requests_per_minute: int = 10**6) -> Iterator[ModelStack]:
    prices = Prices(({"*": Price(0.4, 0.1, 1.6)},))
    meter = Meter(prices)
    with closing(Journal(folder / "journal.sqlite", clock=clock.now)) as journal:
        yield ModelStack(
            journal,
            Budget(10**12, 10**6, meter, prices),
            RetryPolicy(),
            Limiter(
                own_limits(
                    ProviderLimits(requests_per_minute, 10**9, CONCURRENCY), request_seconds=120
                )
            ),
            meter,
        )


async def send_all(model: ChatModel, numbers: range) -> RequestTime:
    """Send all requests, `CONCURRENCY` at a time."""
    requests = [chat_request(number) for number in numbers]
    cpu, wall = time.process_time(), time.perf_counter()
    queue = iter(requests)

    async def worker() -> None:
        for request in queue:
            await model.complete(request)

    await asyncio.gather(*(worker() for _ in range(CONCURRENCY)))
    scale = 1e3 / len(requests)
    return RequestTime((time.process_time() - cpu) * scale, (time.perf_counter() - wall) * scale)


def open_http_model(url: str) -> ChatModel:
    return open_model("openai-compatible", model="canned", base_url=url)


async def measure_overhead(url: str, folder: Path, calls: int) -> bool:
    http_model = open_http_model(url)
    await send_all(http_model, range(-WARMUP, 0))
    http_only = await send_all(http_model, range(calls))
    await http_model.close()
    with model_stack(folder) as stack:
        model = wrap(open_http_model(url), stack)
        await send_all(model, range(-WARMUP, 0))
        full_stack = await send_all(model, range(calls))
        cached = await send_all(model, range(calls))
        await model.close()
    print(f"{calls:,} requests of {CHARACTERS:,} characters, {CONCURRENCY} in flight: ms each")
    for name, spent in (
        ("HTTP only", http_only),
        ("full stack", full_stack),
        ("journal hits", cached),
    ):
        print(f"  {spent.cpu:8.2f} CPU {spent.wall:8.2f} wall  {name}")
    return at_most("ms of CPU per request, full stack", full_stack.cpu, MAX_CPU_MS)


async def measure_rate(minutes: float) -> bool:
    """Send requests as fast as the limiter admits them; compare with the provider's counts."""
    with (
        provider.running(cap=REQUESTS_PER_MINUTE, latency={"edges": 0.4}) as process,
        tempfile.TemporaryDirectory() as folder,
        model_stack(Path(folder), REQUESTS_PER_MINUTE) as stack,
    ):
        model = wrap(open_http_model(process.base_url()), stack)
        await send_all(model, range(int(REQUESTS_PER_MINUTE * minutes)))
        await model.close()
        return _print_rate(process)


def _print_rate(process: ProviderProcess) -> bool:
    counts = process.counts()
    assert counts.first is not None
    assert counts.last is not None
    minutes = (counts.last - counts.first) / 60
    share = (counts.total - 1) / minutes / REQUESTS_PER_MINUTE
    print(f"\n{REQUESTS_PER_MINUTE} requests per minute, {counts.total:,} sent")
    is_used = at_least("of the provider's rate limit is used", share, MIN_USED)
    return at_most("responses with status 429", counts.faults["cap"], 0) and is_used


async def main(calls: int, minutes: float) -> bool:
    with provider.running() as process, tempfile.TemporaryDirectory() as folder:
        passed = await measure_overhead(process.base_url(), Path(folder), calls)
    return await measure_rate(minutes) and passed if minutes else passed


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=2000)
    parser.add_argument("--minutes", type=float, default=2)
    options = parser.parse_args()
    sys.exit(not asyncio.run(main(options.calls, options.minutes)))
