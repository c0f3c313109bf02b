"""Runs with turns that are resolved ahead of their commit, and models that respond in any order."""

import asyncio
import json
import random
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any

from tests import builders
from tests.builders import GROUP, START
from tests.extraction.canned_model import CannedModel, request_text
from tests.extraction.fixed_prompt import fixed_prompt
from tests.extraction.long_sample_turns import TickingClock
from tests.ingestion.model_summaries import LIMITS, open_journal
from tests.servers import order_sensitive_responses, summary_responses
from tests.servers.fact_questions import with_fact_questions
from tests.servers.toy_embedder import ToyEmbedder
from turnetl.base.errors import BadTurn, ModelBusy, RunStopped
from turnetl.base.graph_model import GroupContents
from turnetl.base.model import Episode, GroupId
from turnetl.extraction.hybrid import HybridExtractor
from turnetl.extraction.llm import LlmExtractor
from turnetl.extraction.llm.guesses import ResolutionGuesses
from turnetl.extraction.port import Extractor
from turnetl.extraction.structural import StructuralExtractor
from turnetl.graph.open import open_graph
from turnetl.graph.port import GraphStore
from turnetl.ingestion.ingest_run import IngestProgress, IngestRun
from turnetl.ingestion.quarantine import Quarantine
from turnetl.ingestion.turn_pipeline import TurnPipeline
from turnetl.ingestion.turn_summaries import SummaryRules
from turnetl.lake import LocalFiles
from turnetl.llm.ahead import AheadModel
from turnetl.llm.chat import ChatModel, ChatRequest, ChatResponse
from turnetl.llm.limiter import Limiter, Slots
from turnetl.llm.retry import RetryPolicy
from turnetl.llm.stack import ModelStack, wrap
from turnetl.summaries.model_summariser import ModelSummariser

NAMES = ("cart.py", "CartStore", "tax_table", "billing/invoice.py", "CartView", "Tax Rules")
TURNS = 8
EXTRACTORS = ("llm", "instructed llm", "hybrid")
"""With instructions, several facts share a request."""


def turns(seed: int, count: int = TURNS, group_id: GroupId = GROUP) -> list[Episode]:
    """Return turns about few names, so that each turn is about entities of those before."""
    chance = random.Random(seed)
    texts = [" ".join(_sentence(chance) for _ in range(3)) for _ in range(count)]
    return [_turn(number, text, group_id) for number, text in enumerate(texts)]


def _sentence(chance: random.Random) -> str:
    one, other = chance.sample(NAMES, 2)
    verb = chance.choice(("uses", "no longer uses", "replaces", "was split from"))
    return f"`{one}` {verb} `{other}{chance.choice(('', ' 2'))}`."


def _turn(number: int, text: str, group_id: GroupId) -> Episode:
    episode = builders.episode(
        f"p{number}",
        group_id=group_id,
        ordinal=number,
        started_at=START + timedelta(minutes=5 * number),
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
        chance = random.Random(f"{self.seed} {request.prompt_name} {text}")
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
    known, prompt = with_fact_questions(responders), request_text(request)
    found = (answer(prompt) for name, answer in known.items() if name in schema)
    return json.dumps(next(found, {}))


@dataclass
class Reordered(UnevenModel):
    """The same responses in another order."""

    order: int = 0

    async def complete(self, request: ChatRequest) -> ChatResponse:
        chance = random.Random(f"{self.order} {request_text(request)}")
        for _ in range(chance.randrange(40)):
            await asyncio.sleep(0)
        return await super().complete(request)


@dataclass(frozen=True)
class Run:
    """A run over groups of one store, whose model is under a journal and has slots."""

    ahead: AheadModel
    extractor: Extractor[Any]
    folder: Path
    clock: TickingClock

    async def ingest(
        self,
        store: GraphStore,
        episodes: Sequence[Episode],
        depth: int,
        progress: Callable[[IngestProgress], None] = lambda _: None,
    ) -> IngestProgress:
        """Ingest the turns of one group."""
        group_id = episodes[0].turn.group_id
        pipeline = TurnPipeline(
            store,
            self.extractor,
            ToyEmbedder(),
            Quarantine(LocalFiles(self.folder), group_id),
            ingest_run(depth, self.clock),
            summaries=SummaryRules(ModelSummariser(self.ahead, max_unasked=0), LIMITS),
            ahead=self.ahead,
        )
        context = {turn.turn_id: () for turn in episodes}
        return await pipeline.ingest(group_id, episodes, context, progress)


@asynccontextmanager
async def started(
    folder: Path,
    model: ChatModel,
    *,
    name: str = "llm",
    clock: TickingClock | None = None,
    slots: int = 16,
) -> AsyncIterator[Run]:
    """Start a run with its journal in the folder, and close its model afterwards."""
    with closing(open_journal(folder)) as journal:
        limiter = Limiter(Slots(slots))
        shared = ModelStack(journal, None, RetryPolicy(first_wait=0), limiter, None)
        ahead = AheadModel(wrap(model, shared), ResolutionGuesses(), is_sent=limiter.has_sent)
        instructions = "Look for what changed." if name == "instructed llm" else None
        llm = LlmExtractor(ahead, ToyEmbedder(), prompts=fixed_prompt(instructions))
        extractor: Extractor[Any] = (
            HybridExtractor(StructuralExtractor(), llm) if name == "hybrid" else llm
        )
        try:
            yield Run(ahead, extractor, folder, clock or TickingClock())
        finally:
            await extractor.close()


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
    """Ingest the turns of one group in a run of their own."""
    async with started(folder, model, name=name, clock=clock, slots=slots) as run:
        done = await run.ingest(store, episodes, depth)
    return done, run.ahead


@asynccontextmanager
async def opened_store(folder: Path) -> AsyncIterator[GraphStore]:
    """Open an embedded graph in the folder, and close it afterwards."""
    store = await open_graph(f"ladybug://{folder}/graph.lbug", user="", password="")
    await store.prepare()
    try:
        yield store
    finally:
        await store.close()


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
        model = UnevenModel(seed=seed, bad=bad)
        async with opened_store(Path(folder)) as store:
            done, _ = await run(store, turns(seed), Path(folder), model, 0, name=name)
            return comparable(await store.load(GROUP)), done


@cache
def expected(seed: int, name: str, bad: float) -> tuple[Mapping[str, object], IngestProgress]:
    return asyncio.run(one_after_the_other(seed, name, bad))
