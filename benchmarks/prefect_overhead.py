"""What a flow run costs beside the same command: wall clock, and CPU time of client and server.

    python -m benchmarks.prefect_overhead [--archives 1000]

Copies of the sample archives, each with ids of its own. The same work is done by the command and by
the flow in a process, with a real server: new archives are parsed (`parse`, `rescue`), and a
backfill finds nothing new (`backfill`), in tasks of 200 archives and of 20. Then a deployment runs
with a worker: seconds from `prefect deployment run` to the first turn that is committed.
"""

import argparse
import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import prefect_server
from benchmarks.large_lake import write_copy
from benchmarks.prefect_server import LocalPrefect, cpu_seconds
from turnetl import wiring
from turnetl.settings import Settings

ARCHIVES_IN_COPY = 10
BATCHES = (200, 20)
"""Archives in a task."""
SETTLED = 5.0
"""Seconds after a run in which the server records what it was sent."""
PROGRAM = """
import sys
from flows.{flow} import {flow}
state = {flow}([sys.argv[1]], lake=sys.argv[2], batch_size=int(sys.argv[3]), return_state=True)
import asyncio, inspect
state = asyncio.run(state) if inspect.isawaitable(state) else state
sys.exit(state.is_failed())
"""
"""Runs a flow in this process, as the process of a worker does."""


@dataclass(frozen=True)
class OverheadCost:
    """Of one run, in seconds."""

    wall: float
    client: float
    """CPU time of the process."""
    server: float
    """CPU time of Prefect's server."""

    def __str__(self) -> str:
        cpu = f"client {self.client:5.1f} s CPU, server {self.server:5.1f} s CPU"
        return f"{self.wall:5.1f} s, {cpu}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--archives", type=int, default=1000)
    count = parser.parse_args().archives
    with tempfile.TemporaryDirectory() as folder, prefect_server.running(Path(folder)) as server:
        archives = Path(folder) / "archives"
        for copy in range(count // ARCHIVES_IN_COPY):
            write_copy(archives / str(copy), copy)
        # A server is slower in its first run.
        flow(server, "rescue", archives / "0", server.home / "warm", BATCHES[0])
        compare(server, archives, count, ("parse", "rescue"), fresh=True)
        print(f"ingest: {command(server, 'backfill', archives, server.home / 'lake')}")
        compare(server, archives, count, ("backfill", "backfill"), fresh=False)
        print(f"from `prefect deployment run` to the first turn: {first_turn(server):.1f} s")


def compare(
    server: LocalPrefect, archives: Path, count: int, names: tuple[str, str], *, fresh: bool
) -> None:
    """Do the same by a command and by a flow.

    Args:
        server: a running server.
        archives: their folder.
        count: number of archives.
        names: of the command and of the flow.
        fresh: whether each starts with an empty lake; else with that of the ingest.
    """
    lake = server.home / "lake"
    run = command(server, names[0], archives, _emptied(server.home / "fresh") if fresh else lake)
    print(f"turnetl {names[0]}, {count:,} archives: {run}")
    flows = list[OverheadCost]()
    for batch in BATCHES:
        target = _emptied(server.home / "fresh") if fresh else lake
        flows.append(flow(server, names[1], archives, target, batch))
        print(f"flow {names[1]}, {-(-count // batch)} parse tasks: {flows[-1]}")
    tasks = -(-count // BATCHES[1]) - -(-count // BATCHES[0])
    few, many = flows
    overhead = OverheadCost(few.wall - run.wall, few.client - run.client, few.server - run.server)
    print(f"    more than the command: {overhead}")
    per_task = [1000 * (of(many) - of(few)) / tasks for of in (_wall, _client, _server)]
    print("    per task: {:.0f} ms, client {:.0f} ms CPU, server {:.0f} ms CPU".format(*per_task))


def command(server: LocalPrefect, name: str, archives: Path, lake: Path) -> OverheadCost:
    return measured(server, server.command("turnetl", name, str(archives), "--lake", str(lake)))


def flow(server: LocalPrefect, name: str, archives: Path, lake: Path, batch: int) -> OverheadCost:
    program = PROGRAM.format(flow=name)
    return measured(server, [sys.executable, "-c", program, str(archives), str(lake), str(batch)])


def measured(server: LocalPrefect, line: Sequence[str]) -> OverheadCost:
    """Run a process, and return what it and the server used until the server has settled."""
    before, started = cpu_seconds(server.pid), time.perf_counter()
    process = subprocess.Popen(
        line, env=server.environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    assert process.stderr is not None
    errors = process.stderr.read().decode()
    _, status, used = os.wait4(process.pid, 0)
    wall = time.perf_counter() - started
    assert status == 0, errors
    time.sleep(SETTLED)
    return OverheadCost(wall, used.ru_utime + used.ru_stime, cpu_seconds(server.pid) - before)


def first_turn(server: LocalPrefect) -> float:
    """Return the seconds from the command to the commit of the first turn."""
    server.output("turnetl", "prefect", "setup")
    server.output("prefect", "--no-prompt", "deploy", "--all")
    write_copy(server.home / ".claude" / "projects", 0)
    with server.worker():
        time.sleep(SETTLED)
        started = time.time()
        server.output("prefect", "deployment", "run", "backfill/backfill", "--watch")
    return asyncio.run(_first_commit(server.home / ".turnetl" / "lake")) - started


async def _first_commit(lake: Path) -> float:
    async with wiring.store(Settings(lake=lake), write=False) as store:
        receipts = [one for group in await store.groups() for one in await store.receipts(group)]
    return min(one.committed_at for one in receipts).timestamp()


def _emptied(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    return folder


def _wall(cost: OverheadCost) -> float:
    return cost.wall


def _client(cost: OverheadCost) -> float:
    return cost.client


def _server(cost: OverheadCost) -> float:
    return cost.server


if __name__ == "__main__":
    main()
