"""40 groups with the latency of a provider, on two workers of a Dask cluster against one.

    python -m benchmarks.dask_cluster [--groups 40] [--turns 5]

The flow `backfill` with a real Prefect server, scheduler, and Neo4j; each run starts with an empty
lake and an empty graph. Its time is that of the process of the flow, with its start.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from benchmarks import prefect_server
from benchmarks.shards import model_environment, served
from tests.cli.sharded import write_session
from tests.servers.free_port import free_port

LEAST = 1.8
"""How many times as fast two workers must be."""
_SETTLED = 10.0
"""Seconds in which workers import what they need and connect."""
_PROGRAM = """
import asyncio, sys
from flows.backfill import backfill
arguments = dict(lake=sys.argv[2], engine=sys.argv[3], return_state=True)
state = asyncio.run(backfill([sys.argv[1]], **arguments))
print(state.message)
sys.exit(not state.is_completed())
"""


@contextmanager
def cluster(workers: int, environment: Mapping[str, str]) -> Iterator[str]:
    """Run a scheduler with workers of one thread each; yield the engine."""
    port = str(free_port())
    address = f"tcp://127.0.0.1:{port}"
    lines: list[tuple[str, ...]] = [
        ("distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", port)
    ]
    lines += [("distributed.cli.dask_worker", address, "--nthreads", "1")] * workers
    with ExitStack() as stack:
        for line in lines:
            process = subprocess.Popen(
                [sys.executable, "-m", *line, "--no-dashboard"],
                env=environment,
                stderr=subprocess.DEVNULL,
            )
            stack.callback(process.wait)
            stack.callback(process.terminate)
        time.sleep(_SETTLED)
        yield f"dask:{address}"


def seconds(workers: int, archives: Path, lake: Path, environment: Mapping[str, str]) -> float:
    """Return the wall time of a run on this number of workers."""
    with cluster(workers, environment) as engine:
        start = time.perf_counter()
        line = [sys.executable, "-c", _PROGRAM, str(archives), str(lake), engine]
        subprocess.run(line, env=environment, check=True)
        return time.perf_counter() - start


def main(groups: int, turns: int) -> int:
    with (
        tempfile.TemporaryDirectory() as folder,
        served() as (graph, model),
        prefect_server.running(Path(folder)) as server,
    ):
        archives = Path(folder) / "archives"
        for number in range(groups):
            write_session(archives, f"project{number:02}", "one", turns)
        environment = server.environment | model_environment(graph.url, model.base_url())
        one = seconds(1, archives, Path(folder) / "one", environment)
        graph.clear()
        two = seconds(2, archives, Path(folder) / "two", environment)
    print(f"{groups} groups of {turns} turns: one worker {one:.1f} s, two workers {two:.1f} s")
    print(f"{one / two:.2f} times as fast (at least {LEAST})")
    return 0 if one / two >= LEAST else 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--groups", type=int, default=40)
    parser.add_argument("--turns", type=int, default=5)
    given = parser.parse_args()
    sys.exit(main(given.groups, given.turns))
