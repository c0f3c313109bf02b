"""How fast turns are ingested with the latencies of a provider, beside Graphiti's `add_episode`.

    python -m benchmarks.throughput [--turns 100] [--pace 1.0] [--responders MODULE] [--groups]

One group of real turns goes through `add_episode`, through turnetl one turn after the other, and
through turnetl with turns that run ahead, over HTTP to a local provider with the latencies of
`benchmarks.session`, into one real Neo4j; all with the same facts. With `--groups`, instead, 4 and
32 groups on 16 slots: the share of the time in which a slot has a request at the provider, on its
clock, at these latencies and at a tenth of them.
"""

import argparse
import asyncio
import gc
import logging
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks import provider, session
from benchmarks.cost import at_least, at_most
from benchmarks.provider import MEASURED_LATENCY, ProviderProcess
from tests.servers import neo4j_server
from tests.servers.neo4j_server import Neo4jServer
from turnetl.base import ids
from turnetl.base.clock import now
from turnetl.base.model import Episode, GroupId
from turnetl.extraction.llm import LlmExtractor
from turnetl.extraction.llm.guesses import ResolutionGuesses
from turnetl.extraction.ontology import CODING
from turnetl.graph.open import open_graph
from turnetl.graph.port import GraphStore
from turnetl.ingestion.quarantine import Quarantine
from turnetl.ingestion.turn_pipeline import TurnPipeline
from turnetl.ingestion.turn_summaries import SummaryRules
from turnetl.lake import LocalFiles
from turnetl.llm.ahead import AheadModel
from turnetl.llm.journal import Journal
from turnetl.llm.limiter import Limiter, Slots
from turnetl.llm.meter import Meter
from turnetl.llm.prices import Prices
from turnetl.llm.providers.registry import open_model
from turnetl.llm.retry import RetryPolicy
from turnetl.llm.stack import ModelStack, wrap
from turnetl.summaries.gate import GateLimits
from turnetl.summaries.model_summariser import ModelSummariser

MAX_UNUSED, MIN_BUSY = 0.15, 0.9
CONCURRENT_GROUPS = 8
"""`group_concurrency`: half of the slots, as the documentation recommends for many small groups."""
COLLECTIONS = 200_000
"""Objects between two garbage collections: as in the command."""
SLOTS = 16
"""Of the runs with several groups."""


@dataclass(frozen=True)
class Setting:
    """One run over a group, and the least that it must reach, relative to `add_episode`."""

    slots: int
    depth: int
    min_speedup: float
    max_unused: float


SETTINGS = (
    # Several facts in one request take longer than one each, side by side.
    Setting(slots=16, depth=0, min_speedup=2.5, max_unused=0.0),
    Setting(slots=16, depth=1, min_speedup=3.5, max_unused=0.0),
    Setting(slots=16, depth=4, min_speedup=7.0, max_unused=MAX_UNUSED),
    Setting(slots=32, depth=8, min_speedup=10.0, max_unused=MAX_UNUSED),
)


@dataclass(frozen=True)
class ThroughputResult:
    """What a run took, for all its turns."""

    seconds: float
    cpu_seconds: float
    """Of this process."""
    unused: float
    """Share of the tokens of responses that no turn needed."""
    busy: float
    """Share of the slot-seconds in which a request was at the provider."""


async def ingest(
    server: Neo4jServer,
    running: ProviderProcess,
    groups: Sequence[Sequence[Episode]],
    setting: Setting,
    pace: float,
) -> ThroughputResult:
    """Ingest groups with the complete model stack and a new journal, a few at a time."""
    store = await open_graph(server.url, user="", password="", write=True)
    await store.prepare()
    with (
        tempfile.TemporaryDirectory() as folder,
        closing(Journal(Path(folder) / "journal.sqlite", clock=now)) as journal,
    ):
        try:
            return await _ingest(store, journal, running, groups, setting=setting, pace=pace)
        finally:
            await store.close()


async def _ingest(
    store: GraphStore,
    journal: Journal,
    running: ProviderProcess,
    groups: Sequence[Sequence[Episode]],
    *,
    setting: Setting,
    pace: float,
) -> ThroughputResult:
    bare = open_model("openai-compatible", model="canned", base_url=running.base_url())
    limiter = Limiter(Slots(setting.slots))
    stack = ModelStack(journal, None, RetryPolicy(), limiter, Meter(Prices()))
    model = AheadModel(wrap(bare, stack), ResolutionGuesses(), is_sent=limiter.has_sent)
    embedder = session.RemoteEmbedder(pace)
    extractor = LlmExtractor(model, embedder, prompts=session.prompts(), ontology=CODING)
    places = asyncio.Semaphore(CONCURRENT_GROUPS)

    async def one(turns: Sequence[Episode]) -> None:
        async with places:
            await _ingest_group(store, extractor, model, embedder, turns=turns, setting=setting)

    running.reset()
    started, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*map(one, groups))
    seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
    await extractor.close()
    waited = running.counts().seconds
    return ThroughputResult(seconds, cpu, model.unused_share, waited / (setting.slots * seconds))


async def _ingest_group(
    store: GraphStore,
    extractor: LlmExtractor,
    model: AheadModel,
    embedder: session.RemoteEmbedder,
    *,
    turns: Sequence[Episode],
    setting: Setting,
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        group = turns[0].turn.group_id
        prefetch = max(session.PREFETCH, setting.slots)
        pipeline = TurnPipeline(
            store,
            extractor,
            embedder,
            Quarantine(LocalFiles(Path(folder)), group),
            replace(session.ingest_run(), prefetch=prefetch, run_ahead=setting.depth),
            summaries=SummaryRules(ModelSummariser(model), GateLimits()),
            ahead=model,
        )
        done = await pipeline.ingest(group, turns, session.context(turns), lambda _: None)
        assert done.committed == len(turns), done


async def measure_one_group(
    server: Neo4jServer, running: ProviderProcess, turns: Sequence[Episode], pace: float
) -> bool:
    """Compare all settings with `add_episode`; return whether all is as it must be."""
    upstream = await session.run_upstream(server, running, turns, session.RemoteEmbedder(pace))
    print(f"  add_episode: {upstream.seconds / len(turns):.2f} s a turn", flush=True)
    passed, expected = [], None
    for setting in SETTINGS:
        server.clear()
        done = await ingest(server, running, [turns], setting, pace)
        print(
            f"  {setting.slots} slots, {setting.depth} turns ahead: "
            f"{done.seconds / len(turns):.3f} s a turn, CPU {done.cpu_seconds / len(turns):.3f} s, "
            f"slots busy {done.busy:.0%}"
        )
        passed += [
            at_least("times as fast", upstream.seconds / done.seconds, setting.min_speedup),
            at_most("of the tokens unused", done.unused, setting.max_unused),
        ]
        facts = session.facts_of(server, session.TURNETL), _ends(server)
        passed.append(expected is None or facts == expected)
        print(f"    the graph is that of one turn after the other: {passed[-1]}", flush=True)
        expected = expected or facts
    return all(passed)


async def measure_groups(
    server: Neo4jServer, running: ProviderProcess, turns: Sequence[Episode], pace: float
) -> bool:
    """Print how busy the slots are with 4 groups and with 32."""
    passed = []
    for count in (4, 32):
        server.clear()
        groups = list(_groups(turns, count))
        setting = Setting(SLOTS, 4, 0, MAX_UNUSED)
        done = await ingest(server, running, groups, setting, pace)
        total = sum(map(len, groups))
        print(
            f"  {count} groups, {total} turns: {done.seconds / total:.3f} s a turn, "
            f"CPU {done.cpu_seconds / total:.3f} s, {done.unused:.1%} of the tokens unused"
        )
        passed.append(at_least("of the slot-seconds busy", done.busy, MIN_BUSY))
    return all(passed)


def _groups(turns: Sequence[Episode], count: int) -> Iterator[list[Episode]]:
    """Yield groups of turns that differ in their first word: fewer turns if there are more groups.

    Equal requests of several groups would share their responses.
    """
    size = max(len(turns) * 4 // count, 8)
    for number in range(count):
        group = GroupId(f"group{number}")
        yield [in_group(episode, group) for episode in turns[:size]]


def in_group(episode: Episode, group: GroupId) -> Episode:
    """Return the turn as one of another group, with the name of the group as its first word."""
    turn = episode.turn
    turn_id = ids.turn_id(group, turn.format, f"{turn.turn_id} {group}")
    chunks = tuple(f"{group} {chunk}" for chunk in episode.chunks)
    moved = replace(turn, group_id=group, turn_id=turn_id)
    return replace(episode, turn=moved, text="\n\n".join(chunks), chunks=chunks)


def _ends(server: Neo4jServer) -> set[tuple[str, str]]:
    """Return the facts that are invalidated, with their end."""
    rows = server.run(
        "MATCH (:Entity)-[f:RELATES_TO]->(:Entity) WHERE f.invalid_at IS NOT NULL "
        "RETURN f.fact AS fact, toString(f.invalid_at) AS invalid_at"
    )
    return {(str(row["fact"]), str(row["invalid_at"])) for row in rows}


async def main(arguments: argparse.Namespace) -> None:
    logging.disable(logging.ERROR)
    gc.set_threshold(COLLECTIONS)
    turns = session.first_turns(arguments.archives, arguments.turns)
    measure = measure_groups if arguments.groups else measure_one_group
    passed = []
    with tempfile.TemporaryDirectory() as folder, neo4j_server.running(Path(folder)) as server:
        for pace in (arguments.pace, arguments.pace / 10)[: 1 + arguments.groups]:
            latency = {kind: seconds * pace for kind, seconds in MEASURED_LATENCY.items()}
            print(f"{len(turns)} turns, {pace:g} times the measured latencies", flush=True)
            with provider.running(responders=arguments.responders, latency=latency) as running:
                passed.append(await measure(server, running, turns, pace))
    sys.exit(not all(passed))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=100)
    parser.add_argument("--pace", type=float, default=1.0)
    parser.add_argument("--responders", default="benchmarks.responders")
    parser.add_argument("--groups", action="store_true")
    parser.add_argument("--archives", type=Path, default=session.ARCHIVES)
    asyncio.run(main(parser.parse_args()))
