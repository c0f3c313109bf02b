"""Sixty real turns through Graphiti's `add_episode`, one by one, and through turnetl: the same
answers at the same pace, in one run.

    python -m benchmarks.session [--turns 60] [--pace 1.0] [--archives FOLDER]

A local provider answers each kind of question after the time that users of Graphiti measured
(entities 1.7 s, dedupe 1.3, facts 1.6, resolve 0.6, summaries 0.6, embeddings 0.05); --pace 0.5
halves the times. `add_episode` stands on its defaults: the last ten episodes of the group as
context, one turn after the other. Both write to one real Neo4j. What a prompt is long is estimated
as turnetl estimates tokens everywhere.
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
from tests import real
from tests.servers import neo4j_server
from tests.servers.neo4j_server import Neo4jServer
from turnetl.extraction.config import ExtractionConfig
from turnetl.extraction.llm import LlmExtractor
from turnetl.extraction.ontology import CODING
from turnetl.extraction.prompt_config import PromptConfigs
from turnetl.extraction.templates import TemplateResolver, built_in_folder
from turnetl.graph import graphiti_names
from turnetl.graph.open import open_graph
from turnetl.ingest.quarantine import Quarantine
from turnetl.ingest.turn_pipeline import IngestRun, TurnPipeline
from turnetl.llm.chat import ChatModel
from turnetl.llm.embedders import WordLlamaEmbedder
from turnetl.llm.graphiti import NoReranker
from turnetl.llm.limiter import Limiter
from turnetl.llm.meter import Meter
from turnetl.llm.prices import Prices
from turnetl.llm.providers.registry import open_model
from turnetl.llm.retry import RetryPolicy
from turnetl.llm.stack import ModelStack, wrap
from turnetl.llm.vectors import floats
from turnetl.model import Episode, GroupId, TurnId, Vector

THEIRS, OURS = GroupId("theirs"), GroupId("ours")
KEY = "no-key-is-needed-here"
TOKENS, SPEED = 0.5, 2.5
"""What is promised: prompt tokens at most so many times, turns a second at least so many times
those of `add_episode`."""
CONTEXT, AHEAD, CALLS = 3, 16, 8
"""As turnetl has them by default."""
CHARACTERS_A_TOKEN = 4
PROJECT = "entireio__cli"
"""It has sessions of many turns."""


@dataclass(frozen=True)
class Took:
    """One way through all turns."""

    seconds: float
    asked: ProviderCounts
    embedded: int
    """Requests for embeddings."""

    @property
    def tokens(self) -> float:
        """Of all prompts."""
        return sum(self.asked.characters.values()) / CHARACTERS_A_TOKEN

    def lines(self, turns: int) -> Iterator[str]:
        for kind, calls in sorted(self.asked.requests.items()):
            tokens = self.asked.characters[kind] / CHARACTERS_A_TOKEN
            yield f"    {kind:20} {calls / turns:6.2f} calls {tokens / turns:8,.0f} prompt tokens"
        yield f"    {'embeddings':20} {self.embedded / turns:6.2f} requests"
        yield f"    {'in all':20} {self.asked.total / turns:6.2f} calls {self.tokens / turns:8,.0f}"
        yield f"    {self.seconds / turns:.2f} s a turn"


class Remote:
    """An embedder that takes as long as one behind a network."""

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
        """Nothing is open."""


async def theirs(
    server: Neo4jServer, asked: ProviderProcess, turns: Sequence[Episode], embedder: Remote
) -> Took:
    """Put the turns through `add_episode`, one after the other."""
    model = LLMConfig(model="canned", api_key=KEY)
    async with AsyncOpenAI(api_key=KEY, base_url=asked.base_url(), max_retries=0) as client:
        graphiti = Graphiti(
            server.address,
            server.user,
            server.password,
            llm_client=OpenAIGenericClient(model, client=client),
            embedder=_Uncached(embedder),
            cross_encoder=NoReranker(),
        )
        await graphiti.build_indices_and_constraints()
        asked.reset()
        started = time.perf_counter()
        for turn in turns:
            await graphiti.add_episode(
                name=turn.turn_id,
                episode_body=turn.text,
                source_description=graphiti_names.SOURCE_DESCRIPTION,
                reference_time=turn.turn.started_at or datetime.now(UTC),  # noqa: TID251 - never: `kept_episodes` has only such as have one
                source=EpisodeType.message,
                group_id=THEIRS,
            )
        seconds = time.perf_counter() - started
        await graphiti.close()  # type: ignore[no-untyped-call]  # Graphiti says nothing of it
    return Took(seconds, asked.counts(), embedder.requests)


async def ours(
    server: Neo4jServer, asked: ProviderProcess, turns: Sequence[Episode], embedder: Remote
) -> Took:
    """Put the turns through the pipeline, with all that stands around a call."""
    store = await open_graph(server.url, user="", password="", write=True)
    await store.prepare()
    with tempfile.TemporaryDirectory() as folder:
        extractor = LlmExtractor(_stack(asked), embedder, prompts=_steering(), ontology=CODING)
        quarantine = Quarantine(Path(folder), OURS)
        pipeline = TurnPipeline(store, extractor, embedder, quarantine, _run())
        asked.reset()
        started = time.perf_counter()
        done = await pipeline.ingest(OURS, turns, _context(turns), lambda _: None)
        seconds = time.perf_counter() - started
        await extractor.close()
    await store.close()
    assert done.committed == len(turns), done
    return Took(seconds, asked.counts(), embedder.requests)


def facts_of(server: Neo4jServer, group: GroupId) -> set[tuple[str, str, str]]:
    """Return who is joined with whom by which sentence."""
    rows = server.run(
        "MATCH (a:Entity)-[f:RELATES_TO {group_id: $group}]->(b:Entity) "
        "RETURN a.name AS source, f.fact AS fact, b.name AS target",
        group=group,
    )
    return {(str(row["source"]), str(row["fact"]), str(row["target"])) for row in rows}


def things_of(server: Neo4jServer, group: GroupId) -> set[tuple[str, str]]:
    """Return the things, and the turns that speak of them."""
    rows = server.run(
        "MATCH (e:Episodic {group_id: $group})-[:MENTIONS]->(n:Entity) "
        "RETURN DISTINCT e.content AS turn, n.name AS name",
        group=group,
    )
    return {(str(row["turn"]), str(row["name"])) for row in rows}


def chosen(archives: Path, turns: int) -> list[Episode]:
    """Return the first turns of a project that one prompt can hold."""
    with tempfile.TemporaryDirectory() as folder:
        whole = [one for one in kept_episodes(archives, Path(folder)) if len(one.parts) == 1]
    return [_of(one, OURS) for one in whole[:turns]]


def _of(one: Episode, group: GroupId) -> Episode:
    return replace(one, turn=replace(one.turn, group_id=group))


def _context(turns: Sequence[Episode]) -> dict[TurnId, tuple[TurnId, ...]]:
    """Return for each turn the last ones of its session."""
    sessions: dict[str, list[TurnId]] = {}
    context = {}
    for one in turns:
        before = sessions.setdefault(one.turn.session_id, [])
        context[one.turn_id] = tuple(before[-CONTEXT:])
        before.append(one.turn_id)
    return context


def _stack(asked: ProviderProcess) -> ChatModel:
    """Return the model with all that stands around a call."""
    bare = open_model("openai-compatible", model="canned", base_url=asked.base_url())
    limiter, meter = Limiter(None, None, CALLS), Meter(Prices())
    return wrap(bare, ModelStack(None, None, RetryPolicy(), limiter, meter))


def _steering() -> PromptConfigs:
    return PromptConfigs(ExtractionConfig(), TemplateResolver([built_in_folder()]))


def _run() -> IngestRun:
    clock = lambda: datetime.now(UTC)  # noqa: E731, TID251 - the run's clock
    return IngestRun("bench", "bench:0", clock, timedelta(minutes=5), AHEAD)


class _Uncached(EmbedderClient):
    """Graphiti's embedder as it comes: every request goes out."""

    def __init__(self, embedder: Remote) -> None:
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
        return [floats(one) for one in await self._embedder.embed(input_data_list)]


async def main(turns: int, pace: float, archives: Path) -> None:
    logging.disable(logging.ERROR)
    episodes = chosen(archives, turns)
    latency = {kind: seconds * pace for kind, seconds in MEASURED_LATENCY.items()}
    print(f"{len(episodes)} turns of `{archives.name}`, {pace:g} of the measured latencies")
    with (
        tempfile.TemporaryDirectory() as folder,
        neo4j_server.running(Path(folder)) as server,
        provider.running(responders="benchmarks.responders", latency=latency) as asked,
    ):
        upstream = await theirs(server, asked, episodes, Remote(pace))
        print("  add_episode, a turn:", *upstream.lines(len(episodes)), sep="\n")
        own = await ours(server, asked, episodes, Remote(pace))
        print("  turnetl, a turn:", *own.lines(len(episodes)), sep="\n")
        same_facts = facts_of(server, THEIRS) == facts_of(server, OURS)
        same_things = things_of(server, THEIRS) == things_of(server, OURS)
        server.clear()
    print(f"  the same facts: {same_facts}; the same things in the same turns: {same_things}")
    once = ("extracted_entities", "edges")
    wasted = sum(own.asked.requests[kind] for kind in once) - len(once) * len(episodes)
    held = [
        at_most("of add_episode's prompt tokens", own.tokens / upstream.tokens, TOKENS),
        at_least("times as fast", upstream.seconds / own.seconds, SPEED),
        at_most("extractions more than needed", wasted, 0),
    ]
    sys.exit(not (all(held) and same_facts and same_things))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=60)
    parser.add_argument("--pace", type=float, default=1.0)
    default = real.ARCHIVES / PROJECT if real.HERE else real.SAMPLES
    parser.add_argument("--archives", type=Path, default=default)
    given = parser.parse_args()
    asyncio.run(main(given.turns, given.pace, given.archives))
