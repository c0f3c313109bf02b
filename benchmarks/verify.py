"""Time and memory of `turnetl verify` over 10,000 turns: at most 20 s and 500 MB.

    python -m benchmarks.verify [ladybug] [neo4j] [--turns NUMBER]

The graph holds the turns of `benchmarks.commit`: 8 entities and 10 facts each, with vectors of 256
dimensions, in sessions of twenty; each turn records what summaries need. `benchmarks.bulk_fill`
fills it. The command is run as a process; its time includes the start of Python, and its memory is
the peak of the process. That of a Neo4j server is not included.
"""

import argparse
import asyncio
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from benchmarks.bulk_fill import fill
from benchmarks.commit import server_cpu
from benchmarks.cost import at_most
from tests.servers import neo4j_server

SECONDS = 20
MEGABYTES = 500
PROGRAM = """
import sys, time
from pathlib import Path
from turnetl.cli import main
try:
    main()
finally:
    # The peak that wait4 returns includes that of the parent process before exec.
    status = Path("/proc/self/status").read_text()
    [peak] = [line for line in status.splitlines() if line.startswith("VmHWM")]
    print(time.process_time(), int(peak.split()[1]) / 1024, file=sys.stderr)
"""
"""The command, which prints its seconds of CPU and its peak of memory at the end."""


def measure(name: str, url: str, folder: Path, server: int | None) -> bool:
    """Run the command, print what it took, and return whether that is within the limits."""
    arguments = ["verify", "--lake", str(folder / "lake"), "--graph", url]
    start, server_start = time.perf_counter(), server_cpu(server)
    process = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments], capture_output=True, text=True, check=False
    )
    seconds = time.perf_counter() - start
    cpu, megabytes = map(float, process.stderr.splitlines()[-1].split())
    print(process.stdout)
    print(f"{name}: exit code {process.returncode}, {cpu:.1f} s of CPU", end="")
    of_server = server_cpu(server) - server_start
    print(f", {of_server:.1f} s of the server" if server else "")
    passed = at_most(f"s, turnetl verify, {name}", seconds, SECONDS)
    passed = at_most(f"MB, turnetl verify, {name}", megabytes, MEGABYTES) and passed
    return process.returncode == 0 and passed


@asynccontextmanager
async def graph(name: str, folder: Path) -> AsyncGenerator[tuple[str, int | None]]:
    """Yield the URL of an empty graph, and the process of its server."""
    if name == "ladybug":
        yield f"ladybug://{folder / 'graph.lbug'}", None
        return
    with neo4j_server.running(folder) as server:
        yield server.url, server.pid


async def main(names: Sequence[str], turns: int) -> int:
    results = []
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            async with graph(name, Path(folder)) as (url, server):
                await fill(url, turns, are_summarised=True)
                results.append(measure(name, url, Path(folder), server))
    return 0 if all(results) else 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("graphs", nargs="*", default=["ladybug", "neo4j"])
    parser.add_argument("--turns", type=int, default=10_000)
    arguments = parser.parse_args()
    sys.exit(asyncio.run(main(arguments.graphs, arguments.turns)))
