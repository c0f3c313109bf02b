"""40 groups with the latency of a provider, on two processes by shards against one process.

    python -m benchmarks.shards [--groups 40] [--turns 5]

Each run starts with an empty lake and an empty Neo4j; its time is that from the start of the first
process to the end of the last one. The hash decides which groups a shard has: the larger shard is
printed, because it limits what two processes can gain.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks import provider
from tests.cli.command import clean_environment, command_line
from tests.cli.sharded import write_session
from tests.servers import neo4j_server
from turnetl.base.shard import Shard

LEAST = 1.7
"""How many times as fast two processes must be."""


@contextmanager
def served() -> Iterator[tuple[neo4j_server.Neo4jServer, provider.ProviderProcess]]:
    with (
        tempfile.TemporaryDirectory() as folder,
        neo4j_server.running(Path(folder)) as graph,
        provider.running(latency=provider.MEASURED_LATENCY) as model,
    ):
        yield graph, model


def model_environment(url: str, model_url: str) -> dict[str, str]:
    """Return the environment that selects the graph and the model."""
    return {
        "TURNETL_GRAPH": url,
        "TURNETL_LLM__PROVIDER": "openai-compatible",
        "TURNETL_LLM__BASE_URL": model_url,
        "TURNETL_LLM__MODEL": "canned",
    }


def seconds(shards: Sequence[str], archives: Path, url: str, model_url: str) -> float:
    """Return the wall time of a backfill by these shards, all at the same time."""
    with tempfile.TemporaryDirectory() as folder:
        environment = clean_environment(Path(folder)) | model_environment(url, model_url)
        start = time.perf_counter()
        processes = [
            subprocess.Popen(
                command_line("backfill", archives, "--jobs", "1", "--shard", shard),
                cwd=folder,
                env=environment,
                stdout=subprocess.DEVNULL,
            )
            for shard in shards
        ]
        codes = [process.wait() for process in processes]
        assert codes == [0] * len(shards), codes
        return time.perf_counter() - start


def main(groups: int, turns: int) -> int:
    projects = [f"project{number:02}" for number in range(groups)]
    with tempfile.TemporaryDirectory() as folder, served() as (graph, model):
        archives = Path(folder)
        for project in projects:
            write_session(archives, project, "one", turns)
        one = seconds(["1/1"], archives, graph.url, model.base_url())
        graph.clear()
        two = seconds(["1/2", "2/2"], archives, graph.url, model.base_url())
    first = sum(Shard(1, 2).owns(project) for project in projects)
    larger = max(first, groups - first)
    print(f"{groups} groups of {turns} turns: one process {one:.1f} s, two shards {two:.1f} s")
    print(f"larger shard: {larger} groups, so that at most {groups / larger:.2f} is possible")
    print(f"{one / two:.2f} times as fast (at least {LEAST})")
    return 0 if one / two >= LEAST else 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--groups", type=int, default=40)
    parser.add_argument("--turns", type=int, default=5)
    given = parser.parse_args()
    sys.exit(main(given.groups, given.turns))
