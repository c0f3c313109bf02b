"""How long `turnetl mcp` takes to answer, p50 and p95 per tool, at two sizes of the graph.

    python -m benchmarks.mcp [--turns N ...] [--folder FOLDER] [ARCHIVES]

The index is that of `benchmarks.index`: the turns of the archives, multiplied, with three passages
each, as the turns of real projects have on average. CPU is the mean of a call. A server is started
as an agent starts it, and asked line by line on standard input and output; a time is from a request
to its answer. The calls of a tool differ: other words, turns, sessions, files, times. With
`--folder`, the indexes stay there, and the next run measures them again. Exits with 1 if the p95 of
a tool exceeds 100 ms.
"""

import argparse
import asyncio
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.index import QUERIES, MultipliedGraph, SourceTurn, source_turns
from tests import real_archives
from turnetl import wiring
from turnetl.clock import now
from turnetl.index.location import index_folder
from turnetl.index.persistent import PersistentIndex
from turnetl.llm.embedders import WordLlamaEmbedder
from turnetl.llm.meter import estimate_tokens
from turnetl.settings import Settings

SIZES = (10_000, 100_000)
CALLS = range(60)
"""Of each kind."""
LIMIT = 0.1
"""Seconds."""
INITIALIZE = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "benchmark", "version": "1"},
}

CHARS = 1_200
"""Of a text: about three passages."""

Arguments = Mapping[str, Any]


class ShorterTurns(MultipliedGraph):
    """Copies of turns with texts of an ordinary length."""

    def _text(self, position: int) -> str:
        return super()._text(position)[:CHARS]


@dataclass(frozen=True)
class Answered:
    seconds: float
    text: str


class Server:
    """A server as a process."""

    def __init__(self, lake: Path) -> None:
        command = [str(Path(sys.executable).with_name("turnetl")), "mcp", "--lake", str(lake)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._number = 0
        self._request("initialize", INITIALIZE)

    def call(self, tool: str, arguments: Arguments) -> Answered:
        started = time.perf_counter()
        result = self._request("tools/call", {"name": tool, "arguments": arguments})
        seconds = time.perf_counter() - started
        assert not result["isError"], result
        return Answered(seconds, result["content"][0]["text"])

    def cpu_seconds(self) -> float:
        """Return the CPU time of the process, which other processes lengthen less than its time."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()

    def _request(self, method: str, params: Arguments) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._number += 1
        message = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        return dict(answer["result"])


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("archives", nargs="?", default=real_archives.ARCHIVES, type=Path)
    arguments.add_argument("--turns", nargs="+", type=int, default=SIZES)
    arguments.add_argument("--folder", type=Path)
    given = arguments.parse_args()
    archives = given.archives if given.archives.is_dir() else real_archives.SAMPLES
    with tempfile.TemporaryDirectory() as temporary:
        folder = (given.folder or Path(temporary)).absolute()
        sources = asyncio.run(source_turns(archives, folder / "source"))
        print(f"{len(sources):,} turns of archives; {len(CALLS)} calls each, in ms")
        print("  turns  tool               first    p50    p95    max    CPU  tokens")
        slowest = [measure(sources, size, folder / f"turns-{size}") for size in given.turns]
    sys.exit(max(slowest) > LIMIT)


def measure(sources: Sequence[SourceTurn], size: int, lake: Path) -> float:
    """Print a row per tool; return the highest p95, in seconds."""
    graph = ShorterTurns(sources, size)
    asyncio.run(build(graph, lake))
    slowest = 0.0
    with closing(Server(lake)) as server:
        for tool, name, calls in scripts(graph, server, size):
            used = server.cpu_seconds()
            answers = [server.call(tool, one) for one in calls]
            cpu = (server.cpu_seconds() - used) / len(answers)
            seconds = [one.seconds for one in answers[1:]]
            p95 = statistics.quantiles(seconds, n=20)[-1]
            slowest = max(slowest, p95)
            tokens = statistics.median(estimate_tokens(one.text) for one in answers)
            times = (answers[0].seconds, statistics.median(seconds), p95, max(seconds), cpu)
            columns = "".join(f"{one * 1e3:7.0f}" for one in times)
            print(f"{size:7,}  {name:<17}{columns}{tokens:8.0f}", flush=True)
    return slowest


async def build(graph: MultipliedGraph, lake: Path) -> None:
    """Build the index unless it is there; the graph itself is empty."""
    settings, embedder = Settings(lake=lake), WordLlamaEmbedder()
    folder = index_folder(settings.lake, settings.graph_url)
    if not folder.exists():
        async with wiring.store(settings, write=True) as store:
            await store.prepare()
    with closing(PersistentIndex(folder, embedder.name, embedder.dimensions)) as index:
        await index.catch_up(graph, embedder, now=now())
        index.mark(wiring.graph_state(settings))


def scripts(
    graph: MultipliedGraph, server: Server, size: int
) -> Iterator[tuple[str, str, Sequence[Arguments]]]:
    """Yield a tool, the name of a kind of calls, and the calls."""
    chance = random.Random(0)  # noqa: S311 - the same calls in every run
    words = [chance.choices(graph.turn(chance.randrange(size)).text.split(), k=6) for _ in CALLS]
    queries = [f"{chance.choice(QUERIES)} {' '.join(some)}" for some in words]
    yield "search", "search", [{"query": query} for query in queries]
    recent = [{"query": query, "since": "2026-03-01"} for query in queries]
    yield "search", "search, since", recent
    # What an agent opens is what an answer named.
    offsets = [chance.randrange(size) for _ in CALLS]
    listed = [server.call("timeline", {"offset": at, "limit": 1}).text for at in offsets]
    turns = [found[1] for text in listed if (found := re.search(r"turn (\w+)", text))]
    yield "open", "open a turn", [{"id": one} for one in turns]
    opened = [server.call("open", {"id": one, "max_tokens": 10_000}).text for one in turns]
    sessions = [found[1] for text in opened if (found := re.search(r"session (\S+)", text))]
    yield "open", "open a session", [{"id": one} for one in sessions]
    yield "timeline", "timeline", [{"offset": 30 * number} for number in range(len(CALLS))]
    yield "timeline", "timeline, session", [{"session": one} for one in sessions]
    yield "fix", "fix", [{"error": f"Error: {' '.join(some)}"} for some in words]
    yield "list", "list projects", [{} for _ in CALLS]
    pages = [{"what": "sessions", "offset": 50 * number} for number in range(len(CALLS))]
    yield "list", "list sessions", pages


if __name__ == "__main__":
    main()
