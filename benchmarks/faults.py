"""Five hundred turns through the whole pipeline while a provider fails: no turn may be lost.

    python -m benchmarks.faults [--turns 500] [--rate 0.05] [--seed 1]

A local provider returns 429, returns 500, drops the connection, returns prose or truncated JSON, or
returns JSON of another schema, each at the same rate, with the same faults in every run. The turns
are ingested into an embedded graph, once without faults and once with them: all must be committed,
and both graphs must be equal to the last vector.
"""

import argparse
import asyncio
import random
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

from benchmarks import provider
from benchmarks.cost import at_most
from benchmarks.provider import ProviderCounts, ProviderProcess
from tests import builders
from turnetl.base import clock
from turnetl.base.model import Entity, Episode, Fact, SessionId, TurnId, Usage
from turnetl.extraction.config import ExtractionConfig, PromptConfigs
from turnetl.extraction.llm import LlmExtractor
from turnetl.extraction.ontology import CODING
from turnetl.extraction.templates import TemplateResolver, built_in_folder
from turnetl.graph.open import open_graph
from turnetl.ingestion.ingest_run import IngestProgress, IngestRun
from turnetl.ingestion.quarantine import Quarantine
from turnetl.ingestion.turn_pipeline import TurnPipeline
from turnetl.lake import LocalFiles
from turnetl.llm.embedders.static_model import WordLlamaEmbedder
from turnetl.llm.journal import Journal
from turnetl.llm.limiter import Limiter, Slots
from turnetl.llm.meter import Meter
from turnetl.llm.prices import Prices
from turnetl.llm.providers.registry import open_model
from turnetl.llm.retry import RetryPolicy
from turnetl.llm.stack import ModelStack, wrap

NOW = builders.START + timedelta(days=400)
CONCURRENCY = 16
PREFETCH = 16
SESSION = 20
"""Turns."""
CONTEXT = 3
"""Turns."""
_VERBS = ("uses", "uses", "no longer uses", "failed with", "depends on")


@dataclass(frozen=True)
class IngestOutcome:
    """The graph of a run, and what it took."""

    progress: IngestProgress
    entities: Sequence[Entity]
    facts: Sequence[Fact]
    usage: Usage
    counts: ProviderCounts
    seconds: float


def turns(count: int, seed: int) -> Iterator[Episode]:
    """Yield turns that repeat entities, invalidate facts and state some facts twice."""
    random_source = random.Random(seed)
    names = [f"module_{number}.py" for number in range(count // 2)]
    names += [f"Broken{number}Error" for number in range(40)]
    pairs = [random_source.sample(names, 2) for _ in range(count)]
    for index in range(count):
        facts = " ".join(_fact(random_source, pairs) for _ in range(3))
        episode = builders.episode(
            f"p{index}",
            ordinal=index % SESSION,
            session_id=SessionId(f"s{index // SESSION}"),
            started_at=builders.START + timedelta(minutes=index),
        )
        text = f"user: {facts}"
        yield replace(episode, text=text, chunks=(text,))


async def ingest(
    episodes: Sequence[Episode], process: ProviderProcess, folder: Path
) -> IngestOutcome:
    """Ingest the turns into a new graph."""
    store = await open_graph(f"ladybug://{folder / 'graph'}", user="", password="", write=True)
    await store.prepare()
    meter = Meter(Prices())
    embedder = WordLlamaEmbedder()
    started = time.perf_counter()
    with closing(Journal(folder / "journal.sqlite", clock=clock.now)) as journal:
        limiter = Limiter(Slots(CONCURRENCY))
        # The provider recovers immediately: long waits would only cost time.
        retry_policy = RetryPolicy(first_wait=0.05)
        base = open_model("openai-compatible", model="canned", base_url=process.base_url())
        model = wrap(base, ModelStack(journal, None, retry_policy, limiter, meter))
        prompts = PromptConfigs(ExtractionConfig(), TemplateResolver((built_in_folder(),)))
        extractor = LlmExtractor(model, embedder, prompts=prompts, ontology=CODING)
        run = IngestRun("bench", "bench:0", lambda: NOW, timedelta(minutes=5), PREFETCH)
        quarantine = Quarantine(LocalFiles(folder), builders.GROUP)
        pipeline = TurnPipeline(store, extractor, embedder, quarantine, run)
        context = _context(episodes)
        progress = await pipeline.ingest(builders.GROUP, episodes, context, lambda _: None)
        await extractor.close()
    seconds = time.perf_counter() - started
    group = await store.load(builders.GROUP)
    await store.close()
    for entry in quarantine.entries():
        print(f"  quarantined: {entry.error}")
    counts = process.counts()
    return IngestOutcome(progress, group.entities, group.facts, meter.total, counts, seconds)


def print_outcome(name: str, outcome: IngestOutcome) -> None:
    usage, progress = outcome.usage, outcome.progress
    invalidated = sum(fact.invalid_at is not None for fact in outcome.facts)
    print(
        f"{name}: {progress.committed} committed, {progress.quarantined} quarantined, "
        f"{len(outcome.entities):,} entities, {len(outcome.facts):,} facts "
        f"({invalidated:,} invalidated); {outcome.counts.total:,} requests, "
        f"{usage.prompt_tokens:,} prompt tokens, {outcome.seconds:.0f} s"
    )
    if outcome.counts.faults:
        faults = sorted(outcome.counts.faults.items())
        print("  faults: " + ", ".join(f"{kind} {count:,}" for kind, count in faults))


async def measure(count: int, rate: float, seed: int) -> bool:
    episodes = list(turns(count, seed))
    invalid_json = dict.fromkeys(("prose", "half-json"), rate / 2)
    faults = dict.fromkeys(("429", "500", "dropped", "violation"), rate) | invalid_json
    expected = await _run(episodes, {}, seed)
    print_outcome("without faults", expected)
    actual = await _run(episodes, faults, seed)
    print_outcome("with faults", actual)
    all_committed = at_most("turns not committed", count - actual.progress.committed, 0)
    differences = _differences(expected.entities, actual.entities)
    differences += _differences(expected.facts, actual.facts)
    return at_most("entities and facts that differ", differences, 0) and all_committed


async def _run(
    episodes: Sequence[Episode], faults: Mapping[str, float], seed: int
) -> IngestOutcome:
    with (
        provider.running(faults=faults, seed=seed) as process,
        tempfile.TemporaryDirectory() as folder,
    ):
        return await ingest(episodes, process, Path(folder))


def _fact(random_source: random.Random, pairs: Sequence[Sequence[str]]) -> str:
    source, target = random_source.choice(pairs)
    return f"`{source}` {random_source.choice(_VERBS)} `{target}`."


def _differences(expected: Sequence[Entity | Fact], actual: Sequence[Entity | Fact]) -> int:
    """Return how many entities or facts are missing in one graph or differ between them."""
    left, right = {item.uuid: item for item in expected}, {item.uuid: item for item in actual}
    return sum(left.get(uuid) != right.get(uuid) for uuid in left.keys() | right.keys())


def _context(episodes: Sequence[Episode]) -> dict[TurnId, tuple[TurnId, ...]]:
    """Return the turns before each turn in its session, `CONTEXT` at most."""
    ids = [episode.turn_id for episode in episodes]
    return {
        turn_id: tuple(ids[max(index - index % SESSION, index - CONTEXT) : index])
        for index, turn_id in enumerate(ids)
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=500)
    parser.add_argument("--rate", type=float, default=0.05)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    sys.exit(not asyncio.run(measure(options.turns, options.rate, options.seed)))
