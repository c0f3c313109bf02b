"""How long `turnetl mcp` takes to answer, p50 and p95 per tool, at two sizes of the graph.

    python -m benchmarks.mcp [--turns N ...] [--folder FOLDER] [ARCHIVES]

The index is that of `benchmarks.index`: the turns of the archives, multiplied, with three passages
each, as the turns of real projects have on average. CPU is the mean of a call. A server is started
as an agent starts it, and asked line by line on standard input and output; a time is from a request
to its answer. The calls of a tool differ: other words, turns, sessions, files, times. With
`--folder`, the indexes stay there, and the next run measures them again. Exits with 1 if the p95 of
a tool exceeds 100 ms.
"""

import json
import os
import random
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.answer_times import AnswerTimes, measure_sizes
from benchmarks.index import QUERIES, MultipliedGraph
from turnetl.base.text import estimate_tokens

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

Arguments = Mapping[str, Any]


@dataclass(frozen=True)
class Answered:
    seconds: float
    text: str


class Server:
    """A server as a process."""

    def __init__(self, lake: Path | None = None, command: Sequence[str] = ()) -> None:
        program = str(Path(sys.executable).with_name("turnetl"))
        command = command or [program, "mcp", "--lake", str(lake)]
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
    columns = "  turns  tool               first    p50    p95    max    CPU  tokens"
    heading = f"{len(CALLS)} calls each, in ms\n{columns}"
    measure_sizes(__doc__, SIZES, heading, LIMIT, measure)


def measure(graph: MultipliedGraph, size: int, lake: Path) -> Iterator[float]:
    """Print a row per tool, and yield its p95."""
    with closing(Server(lake)) as server:
        for tool, name, calls in scripts(graph, server, size):
            used = server.cpu_seconds()
            answers = [server.call(tool, one) for one in calls]
            cpu = (server.cpu_seconds() - used) / len(answers)
            times = AnswerTimes([one.seconds for one in answers])
            tokens = statistics.median(estimate_tokens(one.text) for one in answers)
            print(
                f"{size:7,}  {name:<17}{times.columns()}{cpu * 1e3:7.0f}{tokens:8.0f}", flush=True
            )
            yield times.p95


def scripts(
    graph: MultipliedGraph, server: Server, size: int
) -> Iterator[tuple[str, str, Sequence[Arguments]]]:
    """Yield a tool, the name of a kind of calls, and the calls."""
    chance = random.Random(0)
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
