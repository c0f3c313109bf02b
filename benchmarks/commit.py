"""CPU time of a commit as a group grows: it must be the same at 5,000 turns as at 100.

    python -m benchmarks.commit [ladybug] [neo4j] [--turns 5000]

Synthetic turns of 8 entities and 10 facts (256 dimensions): half of the entities are new, one is in
every turn and changes with it, and one fact per turn is invalidated. CPU time is that of this
process and of the server, if the benchmark started it. Every line is the mean of the turns since
the line before.
"""

import argparse
import asyncio
import os
import tempfile
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

from tests.builders import START
from tests.graph.sample_changes import NOW, TTL, change, entity, fact, receipt, turn_id, vector
from tests.servers import neo4j_server
from turnetl.base.graph_model import GroupProfile, Lease
from turnetl.base.model import Change, Entity, Fact, GroupId, SessionId
from turnetl.graph.open import open_graph
from turnetl.graph.port import GraphStore

DIMENSIONS = 256
PROFILE = GroupProfile("bench", DIMENSIONS, "bench")
TURNS_IN_A_SESSION = 20
POINTS = (100, 1_000, 5_000)
TEXT = "user: why does the checkout test fail?\n\nassistant: the cart was empty. " * 25


@dataclass
class BenchmarkGraph:
    store: GraphStore
    server: int | None
    """Process id of the server, if the benchmark started it."""


Measure = Callable[[str, BenchmarkGraph, int], Awaitable[None]]
"""Measures the named graph with a given number of turns, and prints the result."""


def synthetic(group: GroupId, turns: int) -> Iterator[Change]:
    """Yield the turns of one group, oldest first, in sessions of twenty."""
    hub = _entity(group, "src/app.py")
    recent: list[Entity] = []
    last_fact: Fact | None = None
    for number in range(turns):
        native = f"p{number}"
        turn = turn_id(native, group)
        new = [_entity(group, f"src/module_{number}_{place}.py") for place in range(4)]
        old = recent[-60::20]
        hub_now = replace(hub, summary=f"app.py, edited in turn {number}")
        others = [*new, *old]
        texts = [f"step {step} of turn {number} changed how totals round" for step in range(9)]
        facts = [
            fact(turn, hub_now, others[step % len(others)], text, embedding=_vector(text))
            for step, text in enumerate(texts)
        ]
        invalidated = [replace(last_fact, invalid_at=START, expired_at=NOW)] if last_fact else []
        change_of_turn = change(
            native,
            [*new, hub_now],
            [*facts, *invalidated],
            group_id=group,
            session_id=SessionId(f"s{number // TURNS_IN_A_SESSION}"),
            started_at=START + timedelta(minutes=number),
            ordinal=number % TURNS_IN_A_SESSION,
            mentions=tuple(sorted({entity.uuid for entity in (hub_now, *others)})),
            entities_before=(hub,) if number else (),
            facts_before=(last_fact,) if last_fact else (),
            previous_turn=(
                turn_id(f"p{number - 1}", group) if number % TURNS_IN_A_SESSION else None
            ),
        )
        yield replace(change_of_turn, episode=replace(change_of_turn.episode, text=TEXT))
        hub, last_fact = hub_now, facts[0]
        recent = [*recent, *new][-60:]


async def measure(name: str, graph: BenchmarkGraph, turns: int) -> None:
    await graph.store.prepare()
    await _warm_up(graph.store)
    group = GroupId("bench")
    lease = await _lease(graph.store, group)
    print(f"{name}: ms of CPU per turn")
    print(f"{'turns':>7} {'client':>8} {'server':>8} {'total':>9} {'wall':>7}")
    client = wall = 0.0
    server, since = server_cpu(graph.server), 0
    costs: dict[int, float] = {}
    for number, change_of_turn in enumerate(synthetic(group, turns), start=1):
        cpu, clock = time.process_time(), time.perf_counter()
        await graph.store.commit(lease, change_of_turn, receipt(change_of_turn), now=NOW, ttl=TTL)
        client += time.process_time() - cpu
        wall += time.perf_counter() - clock
        if number in POINTS or number % 500 == 0:
            server_now = server_cpu(graph.server)
            measured = number - since
            client_ms, server_ms = client / measured * 1e3, (server_now - server) / measured * 1e3
            costs[number] = client_ms + server_ms
            print(
                f"{number:>7} {client_ms:>8.1f} {server_ms:>8.1f} {costs[number]:>9.1f} "
                f"{wall / measured * 1e3:>7.1f}",
                flush=True,
            )
            client = wall = 0.0
            server, since = server_now, number
    if POINTS[-1] in costs:
        print(f"at 5,000 turns {costs[5_000] / costs[100]:.2f} times the cost at 100")
    await _measure_load(graph.store, group)


async def _measure_load(store: GraphStore, group: GroupId) -> None:
    cpu, clock = time.process_time(), time.perf_counter()
    contents = await store.load(group)
    print(
        f"load of {len(contents.facts)} facts and {len(contents.entities)} entities: "
        f"{time.process_time() - cpu:.2f} s CPU, {time.perf_counter() - clock:.2f} s\n",
        flush=True,
    )


async def _warm_up(store: GraphStore) -> None:
    """Commit to another group first, so that Java compiles and caches fill."""
    group = GroupId("warm_up")
    lease = await _lease(store, group)
    for change_of_turn in synthetic(group, 200):
        await store.commit(lease, change_of_turn, receipt(change_of_turn), now=NOW, ttl=TTL)


async def _lease(store: GraphStore, group: GroupId) -> Lease:
    return await store.acquire(
        group, PROFILE, owner="bench", now=NOW, ttl=TTL, is_dead=lambda _: False
    )


@asynccontextmanager
async def open_benchmark_graph(name: str, folder: Path) -> AsyncGenerator[BenchmarkGraph]:
    if name == "ladybug":
        store = await open_graph(f"ladybug://{folder / 'bench.lbug'}", user="", password="")
        yield BenchmarkGraph(store, None)
        await store.close()
        return
    with neo4j_server.running(folder) as server:
        store = await open_graph(server.url, user="", password="")
        yield BenchmarkGraph(store, server.pid)
        await store.close()
        server.clear()


def _entity(group: GroupId, name: str) -> Entity:
    return entity(name, group=group, embedding=_vector(name))


def _vector(text: str) -> bytes:
    return vector(text, DIMENSIONS)


def server_cpu(pid: int | None) -> float:
    """Return the CPU seconds that the process has used; 0 where they cannot be read."""
    stat = Path(f"/proc/{pid}/stat")
    if pid is None or not stat.exists():
        return 0.0
    fields = stat.read_text().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def run(measure: Measure, description: str | None, turns: int) -> None:
    """Measure each graph that the command line names; both without a name.

    Args:
        measure: called with the name of each graph, the graph, and the number of turns.
        description: of the benchmark, for its help.
        turns: unless --turns says otherwise.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("graphs", nargs="*", default=["ladybug", "neo4j"])
    parser.add_argument("--turns", type=int, default=turns)
    arguments = parser.parse_args()
    asyncio.run(_measure_each(arguments.graphs, arguments.turns, measure))


async def _measure_each(names: Sequence[str], turns: int, measure: Measure) -> None:
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            async with open_benchmark_graph(name, Path(folder)) as graph:
                await measure(name, graph, turns)


if __name__ == "__main__":
    run(measure, __doc__, POINTS[-1])
