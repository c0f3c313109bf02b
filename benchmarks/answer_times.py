"""Times of the answers of a server over indexes of many turns, for `mcp` and `serve`."""

import asyncio
import statistics
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from benchmarks.index import MultipliedGraph, source_turns
from benchmarks.index_arguments import kept_folder, parsed_arguments
from turnetl import wiring
from turnetl.base.clock import now
from turnetl.index.files import index_folder
from turnetl.index.persistent import PersistentIndex
from turnetl.llm.embedders.static_model import WordLlamaEmbedder
from turnetl.settings import Settings

CHARS = 1_200
"""Of a text: about three passages."""

Measure = Callable[[MultipliedGraph, int, Path], Iterable[float]]
"""Takes the turns, their number and the lake of their index; yields each p95, in seconds."""


@dataclass(frozen=True)
class AnswerTimes:
    """Seconds of requests of one kind, in their order."""

    seconds: Sequence[float]

    @property
    def p95(self) -> float:
        """Of all but the first, in seconds."""
        return statistics.quantiles(self.seconds[1:], n=20)[-1]

    def columns(self) -> str:
        """Return the first, and the p50, the p95 and the maximum of the others, in ms."""
        first, *others = self.seconds
        times = (first, statistics.median(others), self.p95, max(others))
        return "".join(f"{one * 1e3:7.0f}" for one in times)


class ShorterTurns(MultipliedGraph):
    """Copies of turns with texts of an ordinary length."""

    def _text(self, position: int) -> str:
        return super()._text(position)[:CHARS]


def measure_sizes(
    description: str | None,
    sizes: Sequence[int],
    heading: str,
    limit: float,
    measure: Measure,
) -> None:
    """Measure at each size, and exit: with 1 if a p95 exceeds the limit.

    Args:
        description: of the benchmark.
        sizes: numbers of turns, unless the command line has others.
        heading: what is measured, and the names of the columns that `measure` prints.
        limit: seconds.
        measure: measures one size.
    """
    given = parsed_arguments(description, sizes)
    slowest = 0.0
    with kept_folder(given.folder) as folder:
        sources = asyncio.run(source_turns(given.archives, folder / "source"))
        print(f"{len(sources):,} turns of archives; {heading}")
        for size in given.turns:
            graph, lake = ShorterTurns(sources, size), folder / f"turns-{size}"
            asyncio.run(build(graph, lake))
            slowest = max(slowest, *measure(graph, size, lake))
    sys.exit(slowest > limit)


async def build(graph: MultipliedGraph, lake: Path) -> None:
    """Build the index unless it is there; the graph itself is empty."""
    settings, embedder = Settings(lake=lake), WordLlamaEmbedder()
    folder = index_folder(settings.lake, settings.graph_url)
    if not folder.exists():
        async with wiring.store(settings, write=True) as store:
            await store.prepare()
    with closing(PersistentIndex(folder, embedder.name, embedder.dimensions)) as index:
        await index.catch_up(graph, embedder, now=now())
        index.record("graph_state", wiring.graph_state(settings))
