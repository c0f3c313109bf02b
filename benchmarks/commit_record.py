"""Share of fence, commit record and before-images in what a commit takes: at most 10 %.

    python -m benchmarks.commit_record [ladybug] [neo4j] [--turns 1000]

The turns of `benchmarks.commit` are written twice, in turn: into one group by the store, and into
another by the same statements in a transaction of their own, without those that lock and check the
lease, number the commit, and create the TurnCommit with its before-images. CPU time is that of this
process and of the server, if the benchmark started it. Each figure is the median of blocks of
twenty turns; a share is that of a block written both ways one after the other, so that it does not
depend on what else the machine does.
"""

import asyncio
import statistics
import sys
import tempfile
import time
from argparse import ArgumentParser
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from benchmarks.commit import PROFILE, server_cpu, synthetic
from benchmarks.cost import at_most
from tests.graph.sample_changes import NOW, TTL, receipt
from tests.servers import neo4j_server
from turnetl.base.graph_model import Receipt
from turnetl.base.model import Change, GroupId
from turnetl.graph import to_rows
from turnetl.graph.ladybug import cypher as ladybug_cypher
from turnetl.graph.ladybug import rows as ladybug_rows
from turnetl.graph.ladybug.client import LadybugClient
from turnetl.graph.ladybug.file import LOCK_TIMEOUT, LadybugFile
from turnetl.graph.ladybug.log import DiskSpace, change_size
from turnetl.graph.ladybug.store import LadybugStore
from turnetl.graph.neo4j import cypher as neo4j_cypher
from turnetl.graph.neo4j import rows as neo4j_rows
from turnetl.graph.neo4j.client import Neo4jClient, write_rows
from turnetl.graph.neo4j.store import Neo4jStore
from turnetl.graph.port import GraphStore

LIMIT = 10
"""Percent, of CPU and of wall time."""
WARM_UP, BLOCK = 100, 20
"""Turns."""
WITH, WITHOUT = GroupId("with"), GroupId("without")

_CREATE_TURN = neo4j_cypher.CREATE_TURN.replace(neo4j_cypher.CREATE_RECORD, "")


@dataclass(frozen=True)
class Writers:
    """The two ways to write a turn."""

    store: GraphStore
    write_bare: Callable[[Change], Awaitable[None]]
    commit_row: Callable[[Change, Receipt, int], object]
    server: int | None
    """Process id, if the benchmark started it."""

    def clocks(self) -> tuple[float, float]:
        """Return seconds of CPU and of wall time."""
        return time.process_time() + server_cpu(self.server), time.perf_counter()


async def measure(name: str, writers: Writers, turns: int) -> bool:
    """Print the shares; return whether both are within the limit."""
    store = writers.store
    await store.prepare()
    lease = await store.acquire(
        WITH, PROFILE, owner="bench", now=NOW, ttl=TTL, is_dead=lambda _: False
    )

    async def commit(change: Change) -> None:
        await store.commit(lease, change, receipt(change), now=NOW, ttl=TTL)

    costs: list[tuple[float, ...]] = []
    pairs = zip(synthetic(WITH, turns + WARM_UP), synthetic(WITHOUT, turns + WARM_UP), strict=True)
    blocks = iter(lambda: list(islice(pairs, BLOCK)), [])
    for number, block in enumerate(blocks):
        with_record, without = ([pair[at] for pair in block] for at in (0, 1))
        cost = [
            *await _cost(writers, commit, with_record),
            *await _cost(writers, writers.write_bare, without),
            _seconds_of_records(writers, without),
        ]
        if number * BLOCK >= WARM_UP:
            costs.append(tuple(seconds / len(block) for seconds in cost))
    cpu, wall, bare_cpu, bare_wall, _ = map(statistics.median, zip(*costs, strict=True))
    print(
        f"{name}: {turns} turns, ms of CPU and of wall time each: {_ms(cpu, wall)}, "
        f"without {_ms(bare_cpu, bare_wall)}"
    )
    # The statements without it are made with it: the row of the TurnCommit is built and dropped.
    of_cpu = statistics.median(100 * (1 - (b - record) / w) for w, _, b, _, record in costs)
    of_wall = statistics.median(100 * (1 - (b - record) / w) for _, w, _, b, record in costs)
    passed = at_most(f"% of the CPU of a commit, {name}", of_cpu, LIMIT)
    return at_most(f"% of the wall time of a commit, {name}", of_wall, LIMIT) and passed


async def _cost(
    writers: Writers, write: Callable[[Change], Awaitable[None]], changes: Iterable[Change]
) -> tuple[float, float]:
    """Return the seconds of CPU and of wall time of writing the turns."""
    cpu, wall = writers.clocks()
    for change in changes:
        await write(change)
    cpu_after, wall_after = writers.clocks()
    return cpu_after - cpu, wall_after - wall


def _seconds_of_records(writers: Writers, changes: Iterable[Change]) -> float:
    """Return the seconds of building the rows of TurnCommits."""
    given = [(change, receipt(change)) for change in changes]
    start = time.process_time()
    for change, of_change in given:
        writers.commit_row(change, of_change, 1)
    return time.process_time() - start


def _ms(*seconds: float) -> str:
    return " and ".join(f"{each * 1e3:.1f}" for each in seconds)


@asynccontextmanager
async def ladybug_writers(folder: Path) -> AsyncGenerator[Writers]:
    path = folder / "bench.lbug"
    file, space = LadybugFile.open(path, write=True, timeout=LOCK_TIMEOUT), DiskSpace(path)
    store, client = LadybugStore(file), LadybugClient(file)

    def write(change: Change) -> None:
        space.check(change_size(change))
        with client.transaction():
            statements = ladybug_rows.statements(change, receipt(change), NOW, sequence=1)
            for query, parameters, _ in statements:
                if query != ladybug_cypher.CREATE_TURN_COMMIT:
                    client.query(query, parameters)

    async def write_bare(change: Change) -> None:
        await client.run(lambda _: write(change))

    yield Writers(store, write_bare, ladybug_rows.commit_row, None)
    await client.close()
    await store.close()


@asynccontextmanager
async def neo4j_writers(folder: Path) -> AsyncGenerator[Writers]:
    with neo4j_server.running(folder) as server:
        async with server.async_driver() as driver:
            client = Neo4jClient(
                driver, address=server.address, user=server.user, timeout_seconds=60
            )

            async def write_bare(change: Change) -> None:
                (_, turn), *others = neo4j_rows.statements(change, receipt(change), NOW, sequence=1)
                del turn["commit"]
                async with client.transaction() as transaction:
                    for query, parameters in [(_CREATE_TURN, turn), *others]:
                        await write_rows(transaction, query, parameters)
                    await transaction.commit()

            store = Neo4jStore(driver, address=server.address, user=server.user)
            yield Writers(store, write_bare, to_rows.commit_row, server.pid)
        server.clear()


WRITERS = {"ladybug": ladybug_writers, "neo4j": neo4j_writers}


async def main(names: Sequence[str], turns: int) -> int:
    results = []
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            async with WRITERS[name](Path(folder)) as writers:
                results.append(await measure(name, writers, turns))
    return 0 if all(results) else 1


if __name__ == "__main__":
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("graphs", nargs="*", default=list(WRITERS))
    parser.add_argument("--turns", type=int, default=1_000)
    arguments = parser.parse_args()
    sys.exit(asyncio.run(main(arguments.graphs, arguments.turns)))
