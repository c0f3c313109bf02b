"""CPU time per turn of client and database, with a model that responds immediately.

    python -m benchmarks.turns_cpu [--turns 1500] [--upstream 150] [--archives FOLDER] [--profile]

The turns of the archives that tests/real_archives.py names, repeated with other names as often as
necessary, go into one group of a real Neo4j through the complete pipeline, with all layers of the
model stack, and then --upstream of them through Graphiti's `add_episode` into an empty database.
The model is a local provider in another process, which is not measured. A figure is the mean over
the turns around it. The model names five entities and seven facts per turn, and its responses
depend on every
candidate: tests/servers/order_sensitive_responses.py.
"""

import argparse
import asyncio
import cProfile
import logging
import pstats
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path

from graphiti_core.nodes import EpisodeType

from benchmarks import provider
from benchmarks.commit import server_cpu
from benchmarks.cost import at_most
from benchmarks.ingest import kept_episodes
from benchmarks.provider import ProviderProcess
from tests import real_archives
from tests.extraction import long_sample_turns, upstream_comparison
from tests.servers import neo4j_server
from tests.servers.neo4j_server import Neo4jServer
from turnetl.base.model import Episode, GroupId, TurnId
from turnetl.extraction.config import ExtractionConfig, PromptConfigs
from turnetl.extraction.llm import LlmExtractor
from turnetl.extraction.llm.guesses import ResolutionGuesses
from turnetl.extraction.ontology import CODING
from turnetl.extraction.templates import TemplateResolver, built_in_folder
from turnetl.graph import graphiti_names
from turnetl.graph.open import open_graph
from turnetl.ingestion.ingest_run import IngestRun
from turnetl.ingestion.quarantine import Quarantine
from turnetl.ingestion.turn_pipeline import TurnPipeline
from turnetl.lake import LocalFiles
from turnetl.llm.ahead import AheadModel
from turnetl.llm.embedders.static_model import WordLlamaEmbedder
from turnetl.llm.journal import Journal
from turnetl.llm.limiter import Limiter, Slots
from turnetl.llm.meter import Meter
from turnetl.llm.prices import Prices
from turnetl.llm.providers.registry import open_model
from turnetl.llm.retry import RetryPolicy
from turnetl.llm.stack import ModelStack, wrap

RESPONDERS = "tests.servers.order_sensitive_responses"
POINTS = (50, 150, 300, 600, 1_000, 1_500)
CHECKED_POINTS = (50, 1_500)
MAX_CPU = 0.12
"""Seconds of CPU time per turn, client and database together."""
AVERAGED_TURNS = 25
"""Turns before and after a point that its figure averages."""
WARMUP_TURNS = 500
"""Turns ingested into another group first: Java compiles what runs often."""


@dataclass
class CpuSamples:
    """CPU time of client and database after each turn."""

    server: int | None
    samples: list[tuple[float, float, float]] = field(default_factory=list)

    def turn(self, *_: object) -> None:
        self.samples.append((time.process_time(), server_cpu(self.server), time.perf_counter()))

    def at(self, point: int) -> tuple[float, float, float]:
        """Return the client, database and wall seconds per turn around the point."""
        first, last = (
            max(point - AVERAGED_TURNS, 0),
            min(point + AVERAGED_TURNS, len(self.samples) - 1),
        )
        client, server, wall = (
            (after - before) / (last - first)
            for before, after in zip(self.samples[first], self.samples[last], strict=True)
        )
        return client, server, wall

    def show(self, name: str) -> Mapping[int, float]:
        """Print one line per point; return the CPU time per turn at each."""
        points = [point for point in POINTS if point < len(self.samples) + AVERAGED_TURNS]
        print(
            f"{name}: seconds per turn\n{'turn':>7} {'client':>8} {'database':>9} {'CPU':>7} wall"
        )
        costs = {}
        for point in points:
            client, server, wall = self.at(point)
            costs[point] = client + server
            print(f"{point:>7} {client:8.3f} {server:9.3f} {client + server:7.3f} {wall:.3f}")
        return costs


async def ingest_with_turnetl(
    server: Neo4jServer,
    model_server: ProviderProcess,
    turns: Sequence[Episode],
    *,
    run_ahead: int = 0,
) -> CpuSamples:
    """Ingest the turns with the pipeline, `run_ahead` of them resolved ahead."""
    store = await open_graph(server.url, user="", password="")
    await store.prepare()
    samples = CpuSamples(server.pid)
    group = turns[0].turn.group_id
    embedder = WordLlamaEmbedder()
    with tempfile.TemporaryDirectory() as folder:
        journal = Journal(Path(folder) / "journal.sqlite", clock=_now)
        prompts = PromptConfigs(ExtractionConfig(), TemplateResolver([built_in_folder()]))
        model = _stack(model_server, journal)
        extractor = LlmExtractor(model, embedder, prompts=prompts, ontology=CODING)
        run = IngestRun(
            "bench",
            "bench:0",
            _now,
            timedelta(minutes=30),
            prefetch=16,
            run_ahead=run_ahead,
            extractor_named=True,
        )
        quarantine = Quarantine(LocalFiles(Path(folder)), group)
        pipeline = TurnPipeline(store, extractor, embedder, quarantine, run, ahead=model)
        samples.turn()
        done = await pipeline.ingest(group, turns, _context(turns), samples.turn)
        await extractor.close()
        journal.close()
    await store.close()
    assert done.committed == len(turns), done
    return samples


async def ingest_with_graphiti(
    server: Neo4jServer, model_server: ProviderProcess, turns: Sequence[Episode]
) -> CpuSamples:
    """Ingest the turns with `add_episode`, one after the other, with its defaults."""
    samples = CpuSamples(server.pid)
    async with upstream_comparison.open_graphiti(
        server, model_server, WordLlamaEmbedder()
    ) as graphiti:
        samples.turn()
        for turn in turns:
            assert turn.turn.started_at is not None
            await graphiti.add_episode(
                name=turn.turn_id,
                episode_body=turn.text,
                source_description=graphiti_names.SOURCE_DESCRIPTION,
                reference_time=turn.turn.started_at,
                source=EpisodeType.message,
                group_id=turn.turn.group_id,
                entity_types=CODING.entity_types,
                edge_types=CODING.edge_types,
            )
            samples.turn()
    return samples


def _stack(model_server: ProviderProcess, journal: Journal) -> AheadModel:
    bare = open_model("openai-compatible", model="canned", base_url=model_server.base_url())
    limiter, meter = Limiter(Slots(16)), Meter(Prices())
    stack = ModelStack(journal, None, RetryPolicy(), limiter, meter)
    return AheadModel(wrap(bare, stack), ResolutionGuesses(), is_sent=limiter.has_sent)


def _context(turns: Sequence[Episode]) -> dict[TurnId, tuple[TurnId, ...]]:
    """Return for each turn the three turns before it in its session."""
    sessions: dict[str, list[TurnId]] = {}
    context = {}
    for episode in turns:
        before = sessions.setdefault(episode.turn.session_id, [])
        context[episode.turn_id] = tuple(before[-3:])
        before.append(episode.turn_id)
    return context


def _as_warmup(episode: Episode) -> Episode:
    return replace(episode, turn=replace(episode.turn, group_id=GroupId("warm")))


def _now() -> datetime:
    return datetime.now(UTC)  # noqa: TID251 - the run's clock


def measured_turns(archives: Path, count: int) -> list[Episode]:
    """Return the turns to measure, and those of the warm-up after them."""
    with tempfile.TemporaryDirectory() as lake:
        episodes = [
            episode for episode in kept_episodes(archives, Path(lake)) if len(episode.chunks) == 1
        ]
    print(f"{len(episodes)} turns of `{archives.name}`, repeated to {count}")
    return list(islice(long_sample_turns.repeat_with_variations(episodes), count + WARMUP_TURNS))


async def main(arguments: argparse.Namespace) -> bool:
    turns = measured_turns(arguments.archives, arguments.turns)
    with (
        tempfile.TemporaryDirectory() as folder,
        neo4j_server.running(Path(folder)) as server,
        provider.running(responders=RESPONDERS) as model_server,
    ):
        await ingest_with_turnetl(
            server, model_server, [_as_warmup(turn) for turn in turns[arguments.turns :]]
        )
        profile = cProfile.Profile() if arguments.profile else nullcontext()
        with profile:
            costs = (
                await ingest_with_turnetl(server, model_server, turns[: arguments.turns])
            ).show("turnetl")
        if isinstance(profile, cProfile.Profile):
            pstats.Stats(profile).sort_stats("tottime").print_stats(45)
        rows = server.run(
            "MATCH ()-[f:RELATES_TO {group_id: $group}]->() RETURN count(f) AS facts",
            group=turns[0].turn.group_id,
        )
        print(f"{rows[0]['facts']} facts, {model_server.counts().total} calls")
        server.clear()
        if arguments.upstream:
            (await ingest_with_graphiti(server, model_server, turns[: arguments.upstream])).show(
                "add_episode"
            )
            server.clear()
    passed = [
        at_most(f"seconds of CPU per turn at turn {point}", costs[point], MAX_CPU)
        for point in CHECKED_POINTS
        if point in costs
    ]
    return all(passed)


if __name__ == "__main__":
    logging.disable(logging.ERROR)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=POINTS[-1])
    parser.add_argument("--upstream", type=int, default=150)
    parser.add_argument("--archives", type=Path, default=real_archives.ARCHIVES_OR_SAMPLES)
    parser.add_argument("--profile", action="store_true")
    sys.exit(not asyncio.run(main(parser.parse_args())))
