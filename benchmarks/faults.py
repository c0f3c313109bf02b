"""Five hundred turns through the whole pipeline while a provider fails: nothing may be lost.

    python -m benchmarks.faults [--turns 500] [--rate 0.05] [--seed 1]

A local provider answers 429, answers 500, drops the connection, says what is no JSON, says JSON of
another form, each at the same rate, by a die that falls the same way in every run. The turns go
into an embedded graph, once without faults and once with them: all must be committed, and both
graphs be equal to the last vector.
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
from benchmarks.provider import Counts, Running
from tests import builders
from turnetl import clock
from turnetl.extraction.config import ExtractionConfig
from turnetl.extraction.llm import LlmExtractor
from turnetl.extraction.ontology import CODING
from turnetl.extraction.prompt_config import PromptConfigs
from turnetl.extraction.templates import TemplateResolver, built_in_folder
from turnetl.graph.open import open_graph
from turnetl.ingest.quarantine import Quarantine
from turnetl.ingest.turn_pipeline import IngestProgress, IngestRun, TurnPipeline
from turnetl.llm.embedders import WordLlamaEmbedder
from turnetl.llm.journal import Journal
from turnetl.llm.limiter import Limiter
from turnetl.llm.meter import Meter
from turnetl.llm.prices import Prices
from turnetl.llm.providers.registry import open_model
from turnetl.llm.retry import RetryPolicy
from turnetl.llm.stack import ModelStack, wrap
from turnetl.model import Entity, Episode, Fact, SessionId, TurnId, Usage

NOW = builders.START + timedelta(days=400)
AT_ONCE = 16
AHEAD = 16
SESSION = 20
"""Turns."""
_VERBS = ("uses", "uses", "no longer uses", "failed with", "depends on")


@dataclass(frozen=True)
class Came:
    """What came of a run."""

    done: IngestProgress
    entities: Sequence[Entity]
    facts: Sequence[Fact]
    used: Usage
    counts: Counts
    seconds: float


def turns(number: int, seed: int) -> Iterator[Episode]:
    """Yield turns that name things again, end facts and say some twice."""
    dice = random.Random(seed)  # noqa: S311 - nothing is kept secret by it
    things = [f"module_{n}.py" for n in range(number // 2)] + [f"Broken{n}Error" for n in range(40)]
    pairs = [dice.sample(things, 2) for _ in range(number)]
    for at in range(number):
        said = " ".join(_fact(dice, pairs) for _ in range(3))
        whole = builders.episode(
            f"p{at}",
            ordinal=at % SESSION,
            session_id=SessionId(f"s{at // SESSION}"),
            started_at=builders.START + timedelta(minutes=at),
        )
        text = f"user: {said}"
        yield replace(whole, text=text, parts=(text,))


async def carried(episodes: Sequence[Episode], running: Running, folder: Path) -> Came:
    """Put the turns into a graph of their own."""
    store = await open_graph(f"ladybug://{folder / 'graph'}", user="", password="", write=True)
    await store.prepare()
    meter = Meter(Prices())
    embedder = WordLlamaEmbedder()
    started = time.perf_counter()
    with closing(Journal(folder / "journal.sqlite", clock=clock.now)) as journal:
        limiter = Limiter(None, None, AT_ONCE)
        # The provider answers at once, so that no long wait is of any use.
        retry_policy = RetryPolicy(first_wait=0.05)
        base = open_model("openai-compatible", model="canned", base_url=running.base_url())
        model = wrap(base, ModelStack(journal, None, retry_policy, limiter, meter))
        steering = PromptConfigs(ExtractionConfig(), TemplateResolver((built_in_folder(),)))
        extractor = LlmExtractor(model, embedder, prompts=steering, ontology=CODING)
        run = IngestRun("bench", "bench:0", lambda: NOW, timedelta(minutes=5), AHEAD)
        quarantine = Quarantine(folder, builders.GROUP)
        pipeline = TurnPipeline(store, extractor, embedder, quarantine, run)
        done = await pipeline.ingest(builders.GROUP, episodes, _context(episodes), lambda _: None)
        await extractor.close()
    seconds = time.perf_counter() - started
    holds = await store.load(builders.GROUP)
    await store.close()
    for entry in quarantine.entries():
        print(f"  set aside: {entry.reason}")
    return Came(done, holds.entities, holds.facts, meter.total, running.counts(), seconds)


def told(name: str, came: Came) -> None:
    used, done = came.used, came.done
    retired = sum(fact.invalid_at is not None for fact in came.facts)
    print(
        f"{name}: {done.committed} committed, {done.quarantined} set aside, "
        f"{len(came.entities):,} entities, {len(came.facts):,} facts ({retired:,} retired); "
        f"{came.counts.total:,} requests, {used.prompt_tokens:,} prompt tokens, "
        f"{came.seconds:.0f} s"
    )
    if came.counts.faults:
        faults = sorted(came.counts.faults.items())
        print("  faults: " + ", ".join(f"{kind} {number:,}" for kind, number in faults))


async def measure(number: int, rate: float, seed: int) -> bool:
    episodes = list(turns(number, seed))
    halves = dict.fromkeys(("prose", "half-json"), rate / 2)
    faults = dict.fromkeys(("429", "500", "dropped", "violation"), rate) | halves
    calm = await _run(episodes, {}, seed)
    told("without faults", calm)
    wild = await _run(episodes, faults, seed)
    told("with faults", wild)
    lost = at_most("turns not committed", number - wild.done.committed, 0)
    differ = _differ(calm.entities, wild.entities) + _differ(calm.facts, wild.facts)
    return at_most("entities and facts that differ", differ, 0) and lost


async def _run(episodes: Sequence[Episode], faults: Mapping[str, float], seed: int) -> Came:
    with provider.running(faults=faults, seed=seed) as running, tempfile.TemporaryDirectory() as at:
        return await carried(episodes, running, Path(at))


def _fact(dice: random.Random, pairs: Sequence[Sequence[str]]) -> str:
    source, target = dice.choice(pairs)
    return f"`{source}` {dice.choice(_VERBS)} `{target}`."


def _differ(ones: Sequence[Entity | Fact], others: Sequence[Entity | Fact]) -> int:
    """Return how many things are only in one of them, or not the same in both."""
    left, right = {one.uuid: one for one in ones}, {one.uuid: one for one in others}
    return sum(left.get(uuid) != right.get(uuid) for uuid in left.keys() | right.keys())


def _context(episodes: Sequence[Episode]) -> dict[TurnId, tuple[TurnId, ...]]:
    """Each turn is shown the three before it in its session."""
    ids = [one.turn_id for one in episodes]
    return {
        turn_id: tuple(ids[max(at - at % SESSION, at - 3) : at]) for at, turn_id in enumerate(ids)
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=500)
    parser.add_argument("--rate", type=float, default=0.05)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    sys.exit(not asyncio.run(measure(given.turns, given.rate, given.seed)))
