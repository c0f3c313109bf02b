"""Turns that are resolved ahead of their commit: the graph is that of one turn after the other."""

import asyncio
import json
import random
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import builders
from tests.builders import GROUP, START
from tests.extraction.canned_model import CannedModel, request_text
from tests.extraction.fixed_prompt import fixed_prompt
from tests.extraction.long_sample_turns import TickingClock
from tests.ingestion import redo_runs
from tests.ingestion.model_summaries import LIMITS, open_journal
from tests.servers import order_sensitive_responses, summary_responses
from tests.servers.toy_embedder import ToyEmbedder
from turnetl.errors import BadTurn, ModelBusy, RunStopped
from turnetl.extraction.hybrid import HybridExtractor
from turnetl.extraction.llm import LlmExtractor
from turnetl.extraction.llm.guesses import ResolutionGuesses
from turnetl.extraction.port import Extractor
from turnetl.extraction.structural import StructuralExtractor
from turnetl.graph.open import open_graph
from turnetl.graph.port import GraphStore
from turnetl.graph_model import GroupContents
from turnetl.ingestion.group import IngestResources
from turnetl.ingestion.ingest_run import IngestProgress, IngestRun
from turnetl.ingestion.quarantine import Quarantine
from turnetl.ingestion.turn_pipeline import TurnPipeline
from turnetl.ingestion.turn_summaries import SummaryRules
from turnetl.lake import LocalFiles
from turnetl.llm.ahead import AheadModel
from turnetl.llm.chat import ChatModel, ChatRequest, ChatResponse
from turnetl.llm.journal import JournaledModel
from turnetl.llm.limiter import Limiter
from turnetl.llm.rate_limits import OwnLimits, ProviderLimits
from turnetl.llm.retry import RetryPolicy
from turnetl.llm.stack import ModelStack, wrap
from turnetl.model import Episode
from turnetl.summaries.model_summariser import ModelSummariser

NAMES = ("cart.py", "CartStore", "tax_table", "billing/invoice.py", "CartView", "Tax Rules")
TURNS = 8


def turns(seed: int, count: int = TURNS) -> list[Episode]:
    """Return turns about few names, so that each turn is about entities of those before."""
    chance = random.Random(seed)  # noqa: S311 - no secret
    return [_turn(number, " ".join(_sentence(chance) for _ in range(3))) for number in range(count)]


def _sentence(chance: random.Random) -> str:
    one, other = chance.sample(NAMES, 2)
    verb = chance.choice(("uses", "no longer uses", "replaces", "was split from"))
    return f"`{one}` {verb} `{other}{chance.choice(('', ' 2'))}`."


def _turn(number: int, text: str) -> Episode:
    episode = builders.episode(
        f"p{number}", ordinal=number, started_at=START + timedelta(minutes=5 * number)
    )
    chunks = (text,) if number % 4 else (text, f"{text} `{NAMES[number % 5]}` uses `sqlite`.")
    return replace(episode, text="\n\n".join(chunks), chunks=chunks)


@dataclass
class UnevenModel(CannedModel):
    """Responds after a number of rounds of the event loop that depends on the request, and fails as
    often as the seed says. Equal requests get equal responses."""

    seed: int = 0
    busy: float = 0.0
    """Share of the requests that are refused the first time."""
    bad: float = 0.0
    """Share of the requests that always fail."""
    rounds: int = 12
    answered: int = 0
    stop_after: int | None = None
    """Responses after which the budget is used up."""
    on_answer: dict[int, Callable[[], object]] = field(default_factory=dict)
    """By number of responses: called after that many."""
    _refused: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        super().__init__(order_sensitive)

    async def complete(self, request: ChatRequest) -> ChatResponse:
        if self.stop_after is not None and self.answered >= self.stop_after:
            raise RunStopped("the budget is used up")
        text = request_text(request)
        chance = random.Random(f"{self.seed} {request.prompt_name} {text}")  # noqa: S311 - no secret
        for _ in range(chance.randrange(self.rounds)):
            await asyncio.sleep(0)
        if chance.random() < self.bad:
            raise BadTurn("the model declines")
        if chance.random() < self.busy and text not in self._refused:
            self._refused.add(text)
            raise ModelBusy("too many requests")
        self.answered += 1
        self.on_answer.pop(self.answered, lambda: None)()
        return await super().complete(request)


def order_sensitive(request: ChatRequest) -> str | None:
    responders = {**summary_responses.RESPONDERS, **order_sensitive_responses.RESPONDERS}
    if request.prompt_name == "dedupe_nodes.nodes" and "billing" in request_text(request):
        responders["entity_resolutions"] = summary_responses.RESPONDERS["entity_resolutions"]
    schema = request.schema.json["properties"] if request.schema is not None else {}
    prompt = request.messages[-1].text
    found = (answer(prompt) for name, answer in responders.items() if name in schema)
    return json.dumps(next(found, {}))


async def run(
    store: GraphStore,
    episodes: Sequence[Episode],
    folder: Path,
    model: ChatModel,
    depth: int,
    *,
    name: str = "llm",
    clock: TickingClock | None = None,
    slots: int = 16,
) -> tuple[IngestProgress, AheadModel]:
    """Ingest the turns; the model is under a journal in the folder, and has slots."""
    with closing(open_journal(folder)) as journal:
        limiter = Limiter(OwnLimits(ProviderLimits(None, None, slots)))
        shared = ModelStack(journal, None, RetryPolicy(first_wait=0), limiter, None)
        ahead = AheadModel(wrap(model, shared), ResolutionGuesses(), is_sent=limiter.has_sent)
        llm = LlmExtractor(ahead, ToyEmbedder(), prompts=fixed_prompt(None))
        extractor: Extractor[Any] = (
            llm if name == "llm" else HybridExtractor(StructuralExtractor(), llm)
        )
        pipeline = TurnPipeline(
            store,
            extractor,
            ToyEmbedder(),
            Quarantine(LocalFiles(folder), GROUP),
            ingest_run(depth, clock or TickingClock()),
            summaries=SummaryRules(ModelSummariser(ahead, max_unasked=0), LIMITS),
            ahead=ahead,
        )
        context = {turn.turn_id: () for turn in episodes}
        try:
            done = await pipeline.ingest(GROUP, episodes, context, lambda _: None)
        finally:
            await extractor.close()
        return done, ahead


def ingest_run(depth: int, clock: TickingClock) -> IngestRun:
    return IngestRun("run", "here:1:run", clock, timedelta(minutes=5), 6, run_ahead=depth)


def comparable(contents: GroupContents) -> Mapping[str, object]:
    """Return all that a group holds, in its order, without times and names of runs."""
    receipts = [
        (one.turn_id, one.chunks, one.entities_new, one.facts_new, one.summary_reasons)
        for one in contents.receipts
    ]
    entities = [(e.uuid, e.name, e.labels, e.summary, e.attributes) for e in contents.entities]
    facts = [
        (f.uuid, f.source, f.target, f.relation, f.text, f.turns, f.valid_at, f.invalid_at)
        for f in contents.facts
    ]
    recorded = contents.summaries
    return {"turns": receipts, "entities": entities, "facts": facts, "summaries": recorded}


async def one_after_the_other(
    seed: int, name: str, bad: float
) -> tuple[Mapping[str, object], IngestProgress]:
    with tempfile.TemporaryDirectory() as folder:
        store = await open_graph(f"ladybug://{folder}/graph.lbug", user="", password="")
        await store.prepare()
        model = UnevenModel(seed=seed, bad=bad)
        done, _ = await run(store, turns(seed), Path(folder), model, 0, name=name)
        contents = await store.load(GROUP)
        await store.close()
        return comparable(contents), done


@cache
def expected(seed: int, name: str, bad: float) -> tuple[Mapping[str, object], IngestProgress]:
    return asyncio.run(one_after_the_other(seed, name, bad))


@pytest.mark.parametrize("name", ["llm", "hybrid"])
async def test_the_graph_is_that_of_one_turn_after_the_other(
    store: GraphStore, tmp_path: Path, name: str
) -> None:
    graph, alone = await asyncio.to_thread(expected, 1, name, 0.0)
    done, _ = await run(store, turns(1), tmp_path, Reordered(seed=1), 4, name=name)
    assert alone.committed == TURNS
    assert (comparable(await store.load(GROUP)), done) == (graph, alone)


@pytest.mark.parametrize("order", range(4))
async def test_nothing_is_sent_in_vain_if_every_guess_is_right(tmp_path: Path, order: int) -> None:
    store = await open_graph(f"ladybug://{tmp_path}/graph.lbug", user="", password="")
    await store.prepare()
    _, ahead = await run(store, turns(1), tmp_path, AsGuessed(order=order), 4)
    await store.close()
    assert ahead.used.calls
    assert ahead.unused.calls == 0


@settings(max_examples=10)
@given(
    st.sampled_from([1, 2, 3]),
    st.sampled_from(["llm", "hybrid"]),
    st.sampled_from([(1, 16), (2, 2), (4, 16), (4, 1), (8, 16)]),
    st.integers(0, 1_000),
    st.sampled_from([(0.0, 0.0), (0.3, 0.0), (0.3, 0.04)]),
)
def test_whatever_arrives_first_or_fails_the_graph_is_that_of_one_turn_after_the_other(
    seed: int, name: str, limits: tuple[int, int], order: int, failures: tuple[float, float]
) -> None:
    (depth, slots), (busy, bad) = limits, failures
    graph, done = expected(seed, name, bad)

    async def run_ahead(folder: Path) -> tuple[Mapping[str, object], IngestProgress]:
        store = await open_graph(f"ladybug://{folder}/graph.lbug", user="", password="")
        await store.prepare()
        model = Reordered(seed=seed, bad=bad, busy=busy, order=order)
        progress, _ = await run(store, turns(seed), folder, model, depth, name=name, slots=slots)
        contents = await store.load(GROUP)
        await store.close()
        assert max(Counter(map(request_text, model.requests)).values()) == 1
        return comparable(contents), progress

    with tempfile.TemporaryDirectory() as folder:
        assert asyncio.run(run_ahead(Path(folder))) == (graph, done)


@settings(max_examples=6)
@given(st.sampled_from([1, 2, 3]), st.integers(1, 8), st.integers(1, 60), st.booleans())
def test_a_run_that_ends_anywhere_is_continued_to_the_same_graph_and_pays_for_nothing_twice(
    seed: int, depth: int, after: int, is_cancelled: bool
) -> None:
    async def interrupted(folder: Path) -> Mapping[str, object]:
        store = await open_graph(f"ladybug://{folder}/graph.lbug", user="", password="")
        await store.prepare()
        model = UnevenModel(seed=seed, stop_after=None if is_cancelled else after)
        clock = TickingClock()
        first = asyncio.create_task(run(store, turns(seed), folder, model, depth, clock=clock))
        if is_cancelled:
            model.on_answer[after] = first.cancel
        with suppress(asyncio.CancelledError, RunStopped):
            await first
        model.stop_after = None
        await run(store, turns(seed), folder, model, depth, clock=clock)
        contents = await store.load(GROUP)
        await store.close()
        assert max(Counter(map(request_text, model.requests)).values()) == 1
        return comparable(contents)

    with tempfile.TemporaryDirectory() as folder:
        assert asyncio.run(interrupted(Path(folder))) == expected(seed, "llm", 0.0)[0]


async def test_a_redo_sends_nothing_after_it_began_to_undo(
    store: GraphStore, tmp_path: Path
) -> None:
    episodes = [
        replace(one.turn, user_text=one.text, first_line=number + 1)
        for number, one in enumerate(turns(1))
    ]
    lake, model = redo_runs.write_lake(tmp_path / "lake", episodes), UnevenModel(seed=1)
    requests: dict[str, int] = {}

    def count(stage: str, done: int, total: int) -> None:
        if done == total:
            requests[stage] = len(model.requests)

    before = IngestResources(lake, store, StructuralExtractor(), ToyEmbedder())
    await redo_runs.ingest(before)
    with closing(open_journal(tmp_path)) as journal:
        ahead = AheadModel(Late(JournaledModel(model, journal)), ResolutionGuesses())
        extractor = LlmExtractor(ahead, ToyEmbedder(), prompts=fixed_prompt(None))
        resources = replace(before, extractor=extractor, ahead=ahead)
        planned = await redo_runs.plan_redo_of(resources)
        assert planned is not None
        done = await redo_runs.carry_out(resources, planned, progress=count, run_ahead=4)
        await extractor.close()
    assert done.ingested is not None
    assert done.ingested.committed == TURNS
    assert requests["extract"] == len(model.requests)


@dataclass
class Reordered(UnevenModel):
    """The same responses in another order."""

    order: int = 0

    async def complete(self, request: ChatRequest) -> ChatResponse:
        chance = random.Random(f"{self.order} {request_text(request)}")  # noqa: S311 - no secret
        for _ in range(chance.randrange(40)):
            await asyncio.sleep(0)
        return await super().complete(request)


@dataclass
class AsGuessed(Reordered):
    """Every response is the guess, if there is one."""

    async def complete(self, request: ChatRequest) -> ChatResponse:
        response = await super().complete(request)
        guess = ResolutionGuesses().guess(request)
        return response if guess is None else replace(response, text=guess)


@dataclass
class Late:
    """A model whose responses arrive after every guess."""

    model: ChatModel

    @property
    def name(self) -> str:
        return self.model.name

    async def complete(self, request: ChatRequest) -> ChatResponse:
        for _ in range(50):
            await asyncio.sleep(0)
        return await self.model.complete(request)

    async def close(self) -> None:
        await self.model.close()
