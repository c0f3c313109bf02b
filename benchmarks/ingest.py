"""Turns a second into each graph, and CPU a turn as one group grows: it must not grow with it.

    python -m benchmarks.ingest [ladybug] [neo4j] [--turns 5000] [--archives FOLDER]

Turns of the archives that tests/real.py names, repeated with other names, sessions and times until
there are enough, go through the whole pipeline with the structural extractor: extract, resolve,
embed, commit, apply. CPU is this process's and, where we started it, the server's; each figure is
the mean of the hundred turns before it.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import count, islice
from pathlib import Path

from benchmarks.commit import Graph, opened, server_cpu
from tests import real
from turnetl import ids, pipeline
from turnetl.extraction.structural import StructuralExtractor
from turnetl.ingest.quarantine import Quarantine
from turnetl.ingest.turn_pipeline import IngestProgress, IngestRun, TurnPipeline
from turnetl.lake import Lake
from turnetl.llm.embedders import WordLlamaEmbedder
from turnetl.model import Episode, GroupId, SessionId
from turnetl.settings import Settings

GROUP = GroupId("bench")
POINTS = (100, 1_000, 5_000)
WINDOW = 500
"""Turns that a figure is the mean of: Ladybug writes its log back every 400 or so."""
GROWTH = 1.3
"""CPU a turn at the last point, in multiples of that at the first: more is a failure."""
WARM = 600
"""Turns in a group of their own first: Java compiles what it runs often."""


@dataclass
class Meter:
    """CPU of client and server after each turn."""

    graph: Graph

    def __post_init__(self) -> None:
        self.marks = [self._now()]

    def turn(self, _: IngestProgress) -> None:
        self.marks.append(self._now())

    def window(self, end: int) -> tuple[float, float, float]:
        """Return client ms, server ms and wall ms a turn, over the `WINDOW` turns before `end`."""
        first, last = self.marks[max(end - WINDOW, 0)], self.marks[end]
        share = end - max(end - WINDOW, 0)
        client, server, wall = (
            (after - before) / share * 1e3 for before, after in zip(first, last, strict=True)
        )
        return client, server, wall

    def _now(self) -> tuple[float, float, float]:
        return time.process_time(), server_cpu(self.graph.server), time.perf_counter()


def kept(archives: Path, folder: Path) -> list[Episode]:
    """Return the kept episodes of these archives, as of one group."""
    settings = Settings(lake=folder, group=GROUP)
    pipeline.parse_archives([str(archives)], settings)
    pipeline.filter_turns(settings)
    found = Lake(folder).episodes(GROUP)
    return [one for one in found if one.noise is None and one.turn.started_at is not None]


def repeated(episodes: Sequence[Episode], group: GroupId) -> Iterator[Episode]:
    """Yield the episodes again and again, each time of a later project with other names."""
    for time_around in count():
        for one in episodes:
            yield _varied(one, group, time_around)


def _varied(one: Episode, group: GroupId, around: int) -> Episode:
    of, later = one.turn, timedelta(days=400 * around)
    started = (of.started_at or datetime.min.replace(tzinfo=UTC)) + later
    tools = tuple(
        replace(tool, input=tool.input.replace("/", f"/v{around}_", 1)) for tool in of.tool_calls
    )
    turn = replace(
        of,
        group_id=group,
        turn_id=ids.turn_id(group, of.format, f"{of.turn_id} {around}"),
        session_id=SessionId(f"{of.session_id} {around}"),
        started_at=started,
        ended_at=of.ended_at and of.ended_at + later,
        tool_calls=tools,
    )
    return replace(one, turn=turn)


async def measure(name: str, graph: Graph, episodes: Sequence[Episode], turns: int) -> bool:
    """Ingest, and print a line a point; say whether the cost of a turn grew no more than it may."""
    await graph.store.prepare()
    await _ingest(graph, list(islice(repeated(episodes, GroupId("warm")), WARM)), "warm")
    meter = await _ingest(graph, list(islice(repeated(episodes, GROUP), turns)), GROUP)
    print(
        f"{name}: ms a turn\n{'turns':>7} {'client':>8} {'server':>8} {'together':>9} {'wall':>7}"
    )
    costs = {}
    for point in [point for point in POINTS if point <= turns]:
        client, server, wall = meter.window(point)
        costs[point] = client + server
        print(f"{point:>7} {client:>8.1f} {server:>8.1f} {client + server:>9.1f} {wall:>7.1f}")
    first, last = meter.marks[0], meter.marks[-1]
    print(f"{turns / (last[2] - first[2]):.1f} turns a second", end="")
    growth = costs[max(costs)] / costs[100]
    print(f"; CPU at {max(costs)} turns {growth:.2f} times that at 100 (at most {GROWTH})\n")
    return growth <= GROWTH


async def _ingest(graph: Graph, episodes: Sequence[Episode], group: str) -> Meter:
    run = IngestRun("bench", "bench:0", lambda: datetime.now(UTC), timedelta(minutes=5), 8)  # noqa: TID251 - the run's clock
    with tempfile.TemporaryDirectory() as folder:
        pipeline = TurnPipeline(
            graph.store,
            StructuralExtractor(),
            WordLlamaEmbedder(),
            Quarantine(Path(folder), GroupId(group)),
            run,
        )
        meter = Meter(graph)
        context = {one.turn_id: () for one in episodes}
        done = await pipeline.ingest(GroupId(group), episodes, context, meter.turn)
    assert done.committed == len(episodes), done
    return meter


def _folder(root: Path, name: str) -> Path:
    (root / name).mkdir()
    return root / name


async def main(names: Sequence[str], turns: int, archives: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        episodes = kept(archives, Path(folder) / "lake")
        print(f"{len(episodes)} turns of `{archives.name}`, repeated to {turns}\n")
        flat = True
        for name in names:
            async with opened(name, _folder(Path(folder), name)) as graph:
                flat &= await measure(name, graph, episodes, turns)
    sys.exit(not flat)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("graphs", nargs="*", default=["ladybug", "neo4j"])
    parser.add_argument("--turns", type=int, default=POINTS[-1])
    parser.add_argument("--archives", type=Path, default=real.ARCHIVES_OR_SAMPLES)
    given = parser.parse_args()
    asyncio.run(main(given.graphs, given.turns, given.archives))
