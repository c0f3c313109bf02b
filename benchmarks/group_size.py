"""CPU time per turn of client and database in groups that hold 100, 1,000 and 10,000 turns.

    python -m benchmarks.group_size [--sizes 100 1000 10000] [--turns 76] [--run-ahead 0 4]

Synthetic turns of `benchmarks.commit` fill a group of a real Neo4j, 4 entities and 9 facts each: a
group of 10,000 turns holds 90,000 facts. Then real turns go into it through the complete pipeline,
the same number for each depth of the run-ahead, with a model in another process that responds
immediately and agrees with most guesses. A figure is the mean of the turns after the first ten;
loading the group is not part of it.
"""

import argparse
import asyncio
import gc
import logging
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks import bulk_fill, provider, session
from benchmarks.commit import server_cpu
from benchmarks.cost import at_most
from benchmarks.provider import ProviderProcess
from benchmarks.throughput import COLLECTIONS, in_group
from benchmarks.turns_cpu import CpuSamples, ingest_with_turnetl
from tests.servers import neo4j_server
from tests.servers.neo4j_server import Neo4jServer
from turnetl.base.model import Episode, GroupId
from turnetl.llm.embedders.static_model import WordLlamaEmbedder

MAX_SERIAL, MAX_AHEAD, MAX_GROWTH = 0.05, 0.10, 1.2
"""Seconds of CPU per turn, client and database together; in a large group relative to a small."""
RESTING, MAX_SETTLING = 0.05, 60
"""Seconds of CPU in a second of a database that rests; seconds that it is waited for at most."""
WARM = GroupId("warm")
WARMUP_TURNS = 10
"""Turns of a measurement that are not part of its figure."""


async def measure_size(
    server: Neo4jServer,
    model: ProviderProcess,
    turns: Sequence[Episode],
    size: int,
    depths: Sequence[int],
) -> list[float]:
    """Return the CPU time of a turn in a group of this size for each depth of the run-ahead."""
    server.clear()
    await bulk_fill.fill(server.url, size)
    embedder = "MATCH (g:TurnGroup) SET g.embedder = $name"
    await bulk_fill.run_neo4j(server.url, [(embedder, {"name": WordLlamaEmbedder().name})])
    settle(server)
    costs, share = [], len(turns) // len(depths)
    for number, depth in enumerate(depths):
        of_depth = turns[number * share : (number + 1) * share]
        moved = [in_group(turn, bulk_fill.GROUP) for turn in of_depth]
        samples = await ingest_with_turnetl(server, model, moved, run_ahead=depth)
        client, database = _mean(samples)
        costs.append(client + database)
        print(
            f"{size:>7,} turns, {depth} ahead: client {client:.3f} s, database {database:.3f} s",
            flush=True,
        )
    return costs


def settle(server: Neo4jServer) -> None:
    """Wait until the database rests: what a bulk fill leaves to it is not the cost of a turn."""
    before = server_cpu(server.pid)
    for _ in range(MAX_SETTLING):
        time.sleep(1)
        now = server_cpu(server.pid)
        if now - before < RESTING:
            return
        before = now


def _mean(samples: CpuSamples) -> tuple[float, float]:
    first, last = samples.samples[WARMUP_TURNS], samples.samples[-1]
    count = len(samples.samples) - 1 - WARMUP_TURNS
    return (last[0] - first[0]) / count, (last[1] - first[1]) / count


async def main(arguments: argparse.Namespace) -> bool:
    turns = session.first_turns(arguments.archives, arguments.turns)
    with (
        tempfile.TemporaryDirectory() as folder,
        neo4j_server.running(Path(folder)) as server,
        provider.running(responders=arguments.responders) as model,
    ):
        for depth in arguments.run_ahead:
            # Java compiles what runs often.
            warm = [in_group(turn, GroupId(f"{WARM}{depth}")) for turn in turns]
            await ingest_with_turnetl(server, model, warm, run_ahead=depth)
        sizes = [
            await measure_size(server, model, turns, size, arguments.run_ahead)
            for size in arguments.sizes
        ]
    passed = []
    for number, depth in enumerate(arguments.run_ahead):
        costs = [of_size[number] for of_size in sizes]
        limit = MAX_AHEAD if depth else MAX_SERIAL
        passed.append(at_most(f"s of CPU per turn, {depth} ahead", costs[0], limit))
        growth = costs[-1] / costs[0]
        passed.append(at_most("times that in the largest group", growth, MAX_GROWTH))
    return all(passed)


if __name__ == "__main__":
    logging.disable(logging.ERROR)
    gc.set_threshold(COLLECTIONS)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 1_000, 10_000])
    parser.add_argument("--turns", type=int, default=76)
    parser.add_argument("--run-ahead", type=int, nargs="+", default=[0, 4])
    parser.add_argument("--responders", default="benchmarks.responders")
    parser.add_argument("--archives", type=Path, default=session.ARCHIVES)
    sys.exit(not asyncio.run(main(parser.parse_args())))
