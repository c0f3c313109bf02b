"""Compare Graphiti's `add_episode` with turnetl: sixty real turns, same responses and latencies.

    python -m benchmarks.session [--turns 60] [--pace 1.0] [--archives FOLDER]

A local provider responds to each kind of request after the latency that users of Graphiti measured
(entities 1.7 s, dedupe 1.3, facts 1.6, resolve 0.6, summaries 0.6, embeddings 0.05; turnetl's
request about several facts 1.3); `--pace 0.5` halves the latencies. `add_episode` runs with its
defaults: the last ten episodes of the group as context, one turn after the other. Both write to one
real Neo4j. Prompt tokens are estimated from characters, four per token, without schemas.
"""

import argparse
import asyncio
import logging
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from graphiti_core import Graphiti
from graphiti_core.embedder.client import EmbedderClient
from graphiti_core.llm_client.config import LLMConfig
from graphiti_core.llm_client.openai_generic_client import OpenAIGenericClient
from graphiti_core.nodes import EpisodeType
from openai import AsyncOpenAI
from typing_extensions import override

from benchmarks import provider
from benchmarks.cost import at_least, at_most
from benchmarks.ingest import kept_episodes
from benchmarks.provider import MEASURED_LATENCY, ProviderCounts, ProviderProcess
from tests import real_archives
from tests.servers import neo4j_server
from tests.servers.neo4j_server import Neo4jServer
from turnetl.base.model import Episode, GroupId, TurnId, Vector
from turnetl.extraction.config import ExtractionConfig, PromptConfigs
from turnetl.extraction.llm import LlmExtractor
from turnetl.extraction.ontology import CODING
from turnetl.extraction.templates import TemplateResolver, built_in_folder
from turnetl.graph import graphiti_names
from turnetl.graph.open import open_graph
from turnetl.ingestion.ingest_run import IngestRun
from turnetl.ingestion.quarantine import Quarantine
from turnetl.ingestion.turn_pipeline import TurnPipeline
from turnetl.lake import LocalFiles
from turnetl.llm.chat import ChatModel
from turnetl.llm.embedders import floats
from turnetl.llm.embedders.static_model import WordLlamaEmbedder
from turnetl.llm.graphiti import NoReranker
from turnetl.llm.limiter import Limiter, Slots
from turnetl.llm.meter import Meter
from turnetl.llm.prices import Prices
from turnetl.llm.providers.registry import open_model
from turnetl.llm.retry import RetryPolicy
from turnetl.llm.stack import ModelStack, wrap

UPSTREAM, TURNETL = GroupId("upstream"), GroupId("turnetl")
KEY = "no-key-is-needed-here"
MAX_TOKEN_RATIO, MIN_SPEEDUP = 0.4, 2.5
"""Limits relative to `add_episode`: prompt tokens at most, turns per second at least."""
CONTEXT, PREFETCH, CONCURRENCY = 3, 16, 8
"""turnetl's defaults."""
CHARACTERS_PER_TOKEN = 4
_PROJECT = real_archives.ARCHIVES / "entireio__cli"
ARCHIVES = _PROJECT if real_archives.AVAILABLE else real_archives.SAMPLES
"""A project with long sessions, or the samples."""


@dataclass(frozen=True)
class SessionResult:
    """The measurements of one run over all turns."""

    seconds: float
    counts: ProviderCounts
    embedding_requests: int

    @property
    def tokens(self) -> float:
        """Tokens of all prompts."""
        return sum(self.counts.characters.values()) / CHARACTERS_PER_TOKEN

    def lines(self, turns: int) -> Iterator[str]:
        for kind, calls in sorted(self.counts.requests.items()):
            tokens = self.counts.characters[kind] / CHARACTERS_PER_TOKEN
            yield f"    {kind:20} {calls / turns:6.2f} calls {tokens / turns:8,.0f} prompt tokens"
        yield f"    {'embeddings':20} {self.embedding_requests / turns:6.2f} requests"
        yield f"    {'total':20} {self.counts.total / turns:6.2f} calls {self.tokens / turns:8,.0f}"
        yield f"    {self.seconds / turns:.2f} s per turn"


class RemoteEmbedder:
    """An embedder with the latency of one behind a network."""

    def __init__(self, pace: float) -> None:
        self._inner = WordLlamaEmbedder()
        self._seconds = MEASURED_LATENCY["embeddings"] * pace
        self.requests = 0

    @property
    def name(self) -> str:
        return self._inner.name

    @property
    def dimensions(self) -> int:
        return self._inner.dimensions

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        self.requests += 1
        await asyncio.sleep(self._seconds)
        return await self._inner.embed(texts)

    async def close(self) -> None:
        """Do nothing: there are no connections."""


async def run_upstream(
    server: Neo4jServer,
    provider_process: ProviderProcess,
    turns: Sequence[Episode],
    embedder: RemoteEmbedder,
) -> SessionResult:
    """Ingest the turns with `add_episode`, one after the other."""
    model = LLMConfig(model="canned", api_key=KEY)
    async with AsyncOpenAI(
        api_key=KEY, base_url=provider_process.base_url(), max_retries=0
    ) as client:
        graphiti = Graphiti(
            server.address,
            server.user,
            server.password,
            llm_client=OpenAIGenericClient(model, client=client),
            embedder=_Uncached(embedder),
            cross_encoder=NoReranker(),
        )
        await graphiti.build_indices_and_constraints()
        provider_process.reset()
        started = time.perf_counter()
        for turn in turns:
            await graphiti.add_episode(
                name=turn.turn_id,
                episode_body=turn.text,
                source_description=graphiti_names.SOURCE_DESCRIPTION,
                reference_time=turn.turn.started_at or datetime.now(UTC),  # noqa: TID251 - not used: every turn has a time
                source=EpisodeType.message,
                group_id=UPSTREAM,
            )
        seconds = time.perf_counter() - started
        await graphiti.close()  # type: ignore[no-untyped-call]  # Graphiti has no annotation
    return SessionResult(seconds, provider_process.counts(), embedder.requests)


async def run_turnetl(
    server: Neo4jServer,
    provider_process: ProviderProcess,
    turns: Sequence[Episode],
    embedder: RemoteEmbedder,
) -> SessionResult:
    """Ingest the turns with turnetl's pipeline and its complete model stack."""
    store = await open_graph(server.url, user="", password="", write=True)
    await store.prepare()
    with tempfile.TemporaryDirectory() as folder:
        extractor = LlmExtractor(
            _stack(provider_process), embedder, prompts=prompts(), ontology=CODING
        )
        quarantine = Quarantine(LocalFiles(Path(folder)), TURNETL)
        pipeline = TurnPipeline(store, extractor, embedder, quarantine, ingest_run())
        provider_process.reset()
        started = time.perf_counter()
        done = await pipeline.ingest(TURNETL, turns, context(turns), lambda _: None)
        seconds = time.perf_counter() - started
        await extractor.close()
    await store.close()
    assert done.committed == len(turns), done
    return SessionResult(seconds, provider_process.counts(), embedder.requests)


def facts_of(server: Neo4jServer, group: GroupId) -> set[tuple[str, str, str]]:
    """Return the facts: the names of source and target, and the sentence."""
    rows = server.run(
        "MATCH (a:Entity)-[f:RELATES_TO {group_id: $group}]->(b:Entity) "
        "RETURN a.name AS source, f.fact AS fact, b.name AS target",
        group=group,
    )
    return {(str(row["source"]), str(row["fact"]), str(row["target"])) for row in rows}


def mentions_of(server: Neo4jServer, group: GroupId) -> set[tuple[str, str]]:
    """Return the pairs of turn and entity name of all mentions."""
    rows = server.run(
        "MATCH (e:Episodic {group_id: $group})-[:MENTIONS]->(n:Entity) "
        "RETURN DISTINCT e.content AS turn, n.name AS name",
        group=group,
    )
    return {(str(row["turn"]), str(row["name"])) for row in rows}


def first_turns(archives: Path, turns: int) -> list[Episode]:
    """Return the first turns of a project that fit one prompt."""
    with tempfile.TemporaryDirectory() as folder:
        episodes = kept_episodes(archives, Path(folder))
    short = [episode for episode in episodes if len(episode.chunks) == 1]
    return [_in_group(episode, TURNETL) for episode in short[:turns]]


def _in_group(episode: Episode, group: GroupId) -> Episode:
    return replace(episode, turn=replace(episode.turn, group_id=group))


def context(turns: Sequence[Episode]) -> dict[TurnId, tuple[TurnId, ...]]:
    """Return for each turn the last turns of its session."""
    sessions: dict[str, list[TurnId]] = {}
    context = {}
    for episode in turns:
        session = sessions.setdefault(episode.turn.session_id, [])
        context[episode.turn_id] = tuple(session[-CONTEXT:])
        session.append(episode.turn_id)
    return context


def _stack(provider_process: ProviderProcess) -> ChatModel:
    """Return the model with its complete stack."""
    bare = open_model("openai-compatible", model="canned", base_url=provider_process.base_url())
    limiter, meter = Limiter(Slots(CONCURRENCY)), Meter(Prices())
    return wrap(bare, ModelStack(None, None, RetryPolicy(), limiter, meter))


def prompts() -> PromptConfigs:
    return PromptConfigs(ExtractionConfig(), TemplateResolver([built_in_folder()]))


def ingest_run() -> IngestRun:
    clock = lambda: datetime.now(UTC)  # noqa: E731, TID251 - the run's clock
    return IngestRun("bench", "bench:0", clock, timedelta(minutes=5), PREFETCH)


class _Uncached(EmbedderClient):
    """An embedder for Graphiti without a cache."""

    def __init__(self, embedder: RemoteEmbedder) -> None:
        self._embedder = embedder

    @override
    async def create(
        self, input_data: str | list[str] | Iterable[int] | Iterable[Iterable[int]]
    ) -> list[float]:
        assert isinstance(input_data, str | list)
        texts = [input_data] if isinstance(input_data, str) else input_data[:1]
        return floats((await self._embedder.embed(texts))[0])

    @override
    async def create_batch(self, input_data_list: list[str]) -> list[list[float]]:
        return [floats(vector) for vector in await self._embedder.embed(input_data_list)]


async def main(turns: int, pace: float, archives: Path) -> None:
    logging.disable(logging.ERROR)
    episodes = first_turns(archives, turns)
    latency = {kind: seconds * pace for kind, seconds in MEASURED_LATENCY.items()}
    print(f"{len(episodes)} turns of `{archives.name}`, {pace:g} times the measured latencies")
    with (
        tempfile.TemporaryDirectory() as folder,
        neo4j_server.running(Path(folder)) as server,
        provider.running(responders="benchmarks.responders", latency=latency) as running,
    ):
        upstream = await run_upstream(server, running, episodes, RemoteEmbedder(pace))
        print("  add_episode, per turn:", *upstream.lines(len(episodes)), sep="\n")
        own = await run_turnetl(server, running, episodes, RemoteEmbedder(pace))
        print("  turnetl, per turn:", *own.lines(len(episodes)), sep="\n")
        same_facts = facts_of(server, UPSTREAM) == facts_of(server, TURNETL)
        same_mentions = mentions_of(server, UPSTREAM) == mentions_of(server, TURNETL)
        server.clear()
    print(f"  identical facts: {same_facts}; identical mentions: {same_mentions}")
    extraction = ("extracted_entities", "edges")
    requests = sum(own.counts.requests[kind] for kind in extraction)
    wasted = requests - len(extraction) * len(episodes)
    passed = [
        at_most(
            "of the prompt tokens of add_episode", own.tokens / upstream.tokens, MAX_TOKEN_RATIO
        ),
        at_least("times as fast", upstream.seconds / own.seconds, MIN_SPEEDUP),
        at_most("unnecessary extraction requests", wasted, 0),
    ]
    sys.exit(not (all(passed) and same_facts and same_mentions))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=60)
    parser.add_argument("--pace", type=float, default=1.0)
    parser.add_argument("--archives", type=Path, default=ARCHIVES)
    arguments = parser.parse_args()
    asyncio.run(main(arguments.turns, arguments.pace, arguments.archives))
