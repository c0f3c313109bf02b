"""Size and speed of the search index: how it is built, and searched, at several sizes.

    OPENBLAS_NUM_THREADS=1 python -m benchmarks.index [--turns N ...] [--folder FOLDER] [ARCHIVES]

The benchmark ingests the archives, and multiplies their turns: each copy has a part of its words
exchanged for other words of the archives, and facts and entities of its own. An index of that many
turns is built through `PersistentIndex.catch_up`, and searched by `turnetl search` as a process and
by `search` in this process, with one thread for numpy as every command has. Beside it, plain BM25
over all texts in memory.

Default archives: those of tests/real_archives.py, else the samples. With `--folder`, the indexes
stay there, and the next run measures them again without building. Exits with 1 if a limit is
exceeded.
"""

import asyncio
import random
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.index_arguments import compile_package, kept_folder, parsed_arguments
from benchmarks.plain_bm25 import PlainBm25
from turnetl import pipeline, wiring
from turnetl.base import ids
from turnetl.base.clock import now
from turnetl.base.graph_model import CommittedTurn, GroupContents, GroupVersion, Receipt
from turnetl.base.model import Entity, Fact, GroupId, SessionId, TurnId
from turnetl.index.files import index_folder
from turnetl.index.persistent import PersistentIndex
from turnetl.ingestion import plan
from turnetl.llm.embedders.static_model import WordLlamaEmbedder
from turnetl.retrieval.search import search
from turnetl.settings import Settings

SIZES = (1_000, 10_000)
QUERIES = (
    "why did the checkout tests fail",
    "parse session files incrementally",
    "ModuleNotFoundError in the test runner",
    "how are timestamps shown in the export",
    "refactor the settings into one class",
    "add a command line option for the output folder",
)
EXCHANGED = 0.15
"""Share of the words of a copy that are other words."""
CHARS = 2_000
"""Of a text, so that a turn has about ten passages."""
COLD_SECONDS = 0.6
COLD_MB = 400
WARM_CPU = 0.06
CPU_PER_TURN = 0.015
RUNS = 5
LAUNCHER = """
import resource, subprocess, sys, time
started = time.perf_counter()
assert subprocess.run(sys.argv[1:], check=True, capture_output=True).stdout
seconds = time.perf_counter() - started
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(seconds, used.ru_utime + used.ru_stime, used.ru_maxrss)
"""


@dataclass(frozen=True)
class SourceTurn:
    """A turn of the archives with its facts."""

    receipt: Receipt
    text: str
    facts: Sequence[Fact]
    entities: Sequence[Entity]


class MultipliedGraph:
    """`FollowedGraph` of copies of turns, made when they are read."""

    def __init__(self, turns: Sequence[SourceTurn], size: int) -> None:
        self._turns = turns
        self._size = size
        self._words = sorted({word for turn in turns for word in turn.text.split()})
        self._group = GroupId("multiplied")
        self._last: dict[str, Entity | Fact] = {}

    async def versions(self) -> Mapping[GroupId, GroupVersion]:
        return {self._group: GroupVersion(self._size, self._size)}

    async def commits(self, _group: GroupId, after: int, limit: int) -> Sequence[CommittedTurn]:
        self._last.clear()
        return [self.turn(number) for number in range(after, min(after + limit, self._size))]

    async def turn_ids(self, _group: GroupId) -> frozenset[TurnId]:
        raise AssertionError("no turn is ever gone")

    async def entities(self, _group: GroupId, uuids: Collection[str]) -> Sequence[Entity]:
        found = (self._last.get(uuid) for uuid in uuids)
        return [one for one in found if isinstance(one, Entity)]

    async def facts(self, _group: GroupId, uuids: Collection[str]) -> Sequence[Fact]:
        found = (self._last.get(uuid) for uuid in uuids)
        return [one for one in found if isinstance(one, Fact)]

    async def pause(self) -> None:
        pass

    def turn(self, number: int) -> CommittedTurn:
        copy, position = divmod(number, len(self._turns))
        source = self._turns[position]
        turn_id = ids.turn_id(self._group, "multiplied", str(number))
        entities = [
            replace(entity, uuid=f"{entity.uuid}-{copy}", group_id=self._group)
            for entity in source.entities
        ]
        facts = [
            replace(
                fact,
                uuid=f"{fact.uuid}-{copy}",
                group_id=self._group,
                source=f"{fact.source}-{copy}",
                target=f"{fact.target}-{copy}",
                turns=(turn_id,),
            )
            for fact in source.facts
        ]
        self._last |= {entity.uuid: entity for entity in entities}
        self._last |= {fact.uuid: fact for fact in facts}
        receipt = replace(
            source.receipt,
            turn_id=turn_id,
            group_id=self._group,
            session_id=SessionId(f"{source.receipt.session_id}-{copy}"),
        )
        return CommittedTurn(
            receipt,
            number + 1,
            self._varied(self._text(position), number),
            tuple(sorted(entity.uuid for entity in entities)),
            tuple(sorted(fact.uuid for fact in facts)),
        )

    def _text(self, position: int) -> str:
        """Return the text of a turn and of those that follow it, up to ten passages."""
        text = ""
        while len(text) < CHARS:
            text += self._turns[position % len(self._turns)].text + "\n\n"
            position += 1
        return text[:CHARS]

    def _varied(self, text: str, seed: int) -> str:
        chance = random.Random(seed)

        def exchange(word: re.Match[str]) -> str:
            return chance.choice(self._words) if chance.random() < EXCHANGED else word[0]

        return re.sub(r"\S+", exchange, text)


@dataclass(frozen=True)
class Measured:
    """One index, and searches in it."""

    turns: int
    passages: int
    megabytes: float
    cpu_per_turn: float | None
    """Seconds; None if the index was there already."""
    cold_seconds: float
    cold_cpu: float
    """Seconds."""
    cold_megabytes: float
    warm_cpu: float
    """Seconds."""

    @property
    def exceeded(self) -> list[str]:
        limits = (
            ("CPU per turn", self.cpu_per_turn or 0, CPU_PER_TURN),
            ("cold search, s", self.cold_seconds, COLD_SECONDS),
            ("cold search, MB", self.cold_megabytes, COLD_MB),
            ("search in an open process, CPU-s", self.warm_cpu, WARM_CPU),
        )
        return [
            f"{self.turns:,} turns: {name} {value:.3f} > {limit}"
            for name, value, limit in limits
            if value > limit
        ]


def main() -> None:
    given = parsed_arguments(__doc__, SIZES)
    with kept_folder(given.folder) as folder:
        exceeded = asyncio.run(measure(given.archives, given.turns, folder))
    print(*exceeded, sep="\n")
    sys.exit(bool(exceeded))


async def measure(archives: Path, sizes: Sequence[int], folder: Path) -> list[str]:
    """Print a row for each size; return the limits that are exceeded."""
    compile_package()
    sources = await source_turns(archives, folder / "source")
    print(f"{len(sources):,} turns of archives")
    print("  turns   passages    index  build/turn  cold search         warm CPU  BM25 in memory")
    exceeded = []
    for size in sizes:
        graph = MultipliedGraph(sources, size)
        one = await measure_size(graph, size, folder / f"turns-{size}")
        plain = plain_seconds(graph, size)
        build = f"{one.cpu_per_turn * 1e3:7.1f} ms" if one.cpu_per_turn else "         -"
        print(
            f"{size:7,} {one.passages:10,} {one.megabytes:5.0f} MB  {build}"
            f"  {one.cold_seconds:.2f} s {one.cold_cpu:.2f} CPU-s {one.cold_megabytes:3.0f} MB"
            f" {one.warm_cpu * 1e3:6.0f} ms {plain * 1e3:10.0f} ms",
            flush=True,
        )
        exceeded += one.exceeded
    return exceeded


async def source_turns(archives: Path, lake: Path) -> list[SourceTurn]:
    """Ingest the archives without a model, and return their turns."""
    settings = Settings(lake=lake)
    options = pipeline.RunOptions(assumed_time=plan.parse_assumed_time("2024-01-01", now()))
    await pipeline.backfill([str(archives)], settings, options, now)
    async with wiring.store(settings, write=False) as store:
        groups = [await store.load(group) for group in await store.groups()]
    return [turn for group in groups for turn in _turns(group)]


def _turns(group: GroupContents) -> Iterator[SourceTurn]:
    entities = {entity.uuid: entity for entity in group.entities}
    facts: dict[TurnId, list[Fact]] = {receipt.turn_id: [] for receipt in group.receipts}
    for fact in group.facts:
        facts.get(fact.turns[0], []).append(fact)
    for receipt in group.receipts:
        of_turn = facts[receipt.turn_id]
        ends = sorted({end for fact in of_turn for end in (fact.source, fact.target)})
        yield SourceTurn(
            receipt, group.texts[receipt.turn_id], of_turn, [entities[end] for end in ends]
        )


async def measure_size(graph: MultipliedGraph, size: int, lake: Path) -> Measured:
    settings, embedder = Settings(lake=lake), WordLlamaEmbedder()
    folder = index_folder(settings.lake, settings.graph_url)
    is_there = folder.exists()
    if not is_there:
        async with wiring.store(settings, write=True) as store:
            await store.prepare()
    with closing(PersistentIndex(folder, embedder.name, embedder.dimensions)) as index:
        generating = _cpu_seconds()
        for number in range(100):
            graph.turn(number)
        started = _cpu_seconds()
        await index.catch_up(graph, embedder, now=now())
        # The texts of the copies are not part of the work.
        cpu = _cpu_seconds() - started - (started - generating) / 100 * size
        index.record("graph_state", wiring.graph_state(settings))
        status = index.status()
        durations = []
        for query in (*QUERIES, *QUERIES):
            begun = _cpu_seconds()
            # The archives need not say anything about these subjects.
            found = await search(
                index, query, embedder, now=now(), nearest=True, thesaurus=wiring.thesaurus()
            )
            durations.append(_cpu_seconds() - begun)
            assert found.hits
    cold = [search_process(query, lake) for query in QUERIES[:RUNS]]
    return Measured(
        turns=size,
        passages=status.passages,
        megabytes=status.bytes / 1e6,
        cpu_per_turn=None if is_there else cpu / size,
        cold_seconds=statistics.median(seconds for seconds, _, _ in cold),
        cold_cpu=statistics.median(cpu for _, cpu, _ in cold),
        cold_megabytes=max(megabytes for _, _, megabytes in cold),
        warm_cpu=statistics.median(durations[len(QUERIES) :]),
    )


def search_process(query: str, lake: Path) -> tuple[float, float, float]:
    """Return seconds, those of CPU, and peak memory in MB of `turnetl search`."""
    command = [str(Path(sys.executable).with_name("turnetl")), "search", query, "--lake", str(lake)]
    # Started by a small process: the peak of a process is never less than that of its parent.
    launcher = [sys.executable, "-c", LAUNCHER, *command]
    printed = subprocess.run(launcher, check=True, capture_output=True, text=True, cwd=lake).stdout
    seconds, cpu, kilobytes = printed.split()
    return float(seconds), float(cpu), int(kilobytes) / 1024


def plain_seconds(graph: MultipliedGraph, size: int) -> float:
    """Return the seconds of a query of plain BM25; of 10,000 turns at most, and in proportion."""
    used = min(size, 10_000)
    plain = PlainBm25([graph.turn(number).text for number in range(used)])
    started = time.perf_counter()
    for query in QUERIES:
        plain.scores(query)
    return (time.perf_counter() - started) / len(QUERIES) * size / used


def _cpu_seconds() -> float:
    return time.process_time()


if __name__ == "__main__":
    main()
