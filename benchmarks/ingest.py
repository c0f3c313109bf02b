"""Turns per second into each store, and CPU time per turn as one group grows: it must not grow.

    python -m benchmarks.ingest [ladybug] [neo4j] [--turns 5000] [--archives FOLDER]

The turns of the archives that tests/real_archives.py names, repeated with other names, sessions and
times as often as necessary, go through the complete pipeline with the structural extractor:
extract, resolve, embed, commit, apply. CPU time is that of this process and of the server, if the
benchmark started it; each figure is the mean of the `WINDOW` turns before it.
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

from benchmarks.commit import BenchmarkGraph, open_benchmark_graph, server_cpu
from tests import real_archives
from turnetl import pipeline
from turnetl.base import ids
from turnetl.base.model import Episode, GroupId, SessionId
from turnetl.extraction.structural import StructuralExtractor
from turnetl.ingestion.ingest_run import IngestProgress, IngestRun
from turnetl.ingestion.quarantine import Quarantine
from turnetl.ingestion.turn_pipeline import TurnPipeline
from turnetl.lake import Lake, LocalFiles
from turnetl.llm.embedders.static_model import WordLlamaEmbedder
from turnetl.settings import Settings

GROUP = GroupId("bench")
POINTS = (100, 1_000, 5_000)
WINDOW = 500
"""Turns per figure: Ladybug merges its log into the file about every 400."""
MAX_GROWTH = 1.3
"""Maximum CPU time per turn at the last point, as a multiple of that at the first."""
WARMUP_TURNS = 600
"""Turns ingested into another group first: Java compiles what runs often."""


@dataclass
class CpuMeter:
    """CPU time of client and server after each turn."""

    graph: BenchmarkGraph

    def __post_init__(self) -> None:
        self.samples = [self._now()]

    def turn(self, _: IngestProgress) -> None:
        self.samples.append(self._now())

    def window(self, end: int) -> tuple[float, float, float]:
        """Return client, server and wall ms per turn, over the `WINDOW` turns before `end`."""
        first, last = self.samples[max(end - WINDOW, 0)], self.samples[end]
        share = end - max(end - WINDOW, 0)
        client, server, wall = (
            (after - before) / share * 1e3 for before, after in zip(first, last, strict=True)
        )
        return client, server, wall

    def _now(self) -> tuple[float, float, float]:
        return time.process_time(), server_cpu(self.graph.server), time.perf_counter()


def kept_episodes(archives: Path, folder: Path) -> list[Episode]:
    """Return the kept episodes of these archives, all in one group."""
    settings = Settings(lake=folder, group=GROUP)
    pipeline.parse_archives([str(archives)], settings)
    pipeline.filter_turns(settings)
    episodes = Lake(folder).episodes(GROUP)
    return [
        episode
        for episode in episodes
        if episode.noise is None and episode.turn.started_at is not None
    ]


def repeat_with_variations(episodes: Sequence[Episode], group: GroupId) -> Iterator[Episode]:
    """Yield the episodes repeatedly, each time of a later project with other names."""
    for repetition in count():
        for episode in episodes:
            yield _vary(episode, group, repetition)


def _vary(episode: Episode, group: GroupId, repetition: int) -> Episode:
    original, later = episode.turn, timedelta(days=400 * repetition)
    started = (original.started_at or datetime.min.replace(tzinfo=UTC)) + later
    tools = tuple(
        replace(tool, input=tool.input.replace("/", f"/v{repetition}_", 1))
        for tool in original.tool_calls
    )
    turn = replace(
        original,
        group_id=group,
        turn_id=ids.turn_id(group, original.format, f"{original.turn_id} {repetition}"),
        session_id=SessionId(f"{original.session_id} {repetition}"),
        started_at=started,
        ended_at=original.ended_at and original.ended_at + later,
        tool_calls=tools,
    )
    return replace(episode, turn=turn)


async def measure(
    name: str, graph: BenchmarkGraph, episodes: Sequence[Episode], turns: int
) -> bool:
    """Ingest and print one line per point; return whether the cost stayed within `MAX_GROWTH`."""
    await graph.store.prepare()
    await _ingest(
        graph, list(islice(repeat_with_variations(episodes, GroupId("warm")), WARMUP_TURNS)), "warm"
    )
    meter = await _ingest(
        graph, list(islice(repeat_with_variations(episodes, GROUP), turns)), GROUP
    )
    print(f"{name}: ms per turn\n{'turns':>7} {'client':>8} {'server':>8} {'total':>9} {'wall':>7}")
    costs = {}
    for point in [point for point in POINTS if point <= turns]:
        client, server, wall = meter.window(point)
        costs[point] = client + server
        print(f"{point:>7} {client:>8.1f} {server:>8.1f} {client + server:>9.1f} {wall:>7.1f}")
    first, last = meter.samples[0], meter.samples[-1]
    print(f"{turns / (last[2] - first[2]):.1f} turns per second", end="")
    growth = costs[max(costs)] / costs[100]
    print(f"; CPU at {max(costs)} turns {growth:.2f} times that at 100 (at most {MAX_GROWTH})\n")
    return growth <= MAX_GROWTH


async def _ingest(graph: BenchmarkGraph, episodes: Sequence[Episode], group: str) -> CpuMeter:
    run = IngestRun("bench", "bench:0", lambda: datetime.now(UTC), timedelta(minutes=5), 8)  # noqa: TID251 - the run's clock
    with tempfile.TemporaryDirectory() as folder:
        pipeline = TurnPipeline(
            graph.store,
            StructuralExtractor(),
            WordLlamaEmbedder(),
            Quarantine(LocalFiles(Path(folder)), GroupId(group)),
            run,
        )
        meter = CpuMeter(graph)
        context = {episode.turn_id: () for episode in episodes}
        done = await pipeline.ingest(GroupId(group), episodes, context, meter.turn)
    assert done.committed == len(episodes), done
    return meter


def _folder(root: Path, name: str) -> Path:
    (root / name).mkdir()
    return root / name


async def main(names: Sequence[str], turns: int, archives: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        episodes = kept_episodes(archives, Path(folder) / "lake")
        print(f"{len(episodes)} turns of `{archives.name}`, repeated to {turns}\n")
        passed = True
        for name in names:
            async with open_benchmark_graph(name, _folder(Path(folder), name)) as graph:
                passed &= await measure(name, graph, episodes, turns)
    sys.exit(not passed)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("graphs", nargs="*", default=["ladybug", "neo4j"])
    parser.add_argument("--turns", type=int, default=POINTS[-1])
    parser.add_argument("--archives", type=Path, default=real_archives.ARCHIVES_OR_SAMPLES)
    arguments = parser.parse_args()
    asyncio.run(main(arguments.graphs, arguments.turns, arguments.archives))
