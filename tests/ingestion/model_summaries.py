"""Runs over turns of a model that extracts and summarises, and what they leave in the graph."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests import builders
from tests.builders import START
from tests.extraction.canned_model import CannedModel, request_text
from tests.extraction.fixed_prompt import fixed_prompt
from tests.ingestion.undo_runs import ingest_run
from tests.servers.summary_responses import described_entities
from tests.servers.toy_embedder import ToyEmbedder
from turnetl.base.errors import RunStopped
from turnetl.base.graph_model import GroupContents
from turnetl.base.model import Episode
from turnetl.extraction.llm import LlmExtractor
from turnetl.graph.port import GraphStore
from turnetl.ingestion.ingest_run import IngestProgress
from turnetl.ingestion.turn_summaries import SummaryRules
from turnetl.llm.chat import ChatModel, ChatRequest
from turnetl.llm.journal import Journal
from turnetl.summaries.gate import GateLimits
from turnetl.summaries.model_summariser import PROMPT, ModelSummariser
from turnetl.summaries.records import EntityRecord, decode

LIMITS = GateLimits(min_similarity=2, burst_turns=2, burst_cap=4)


def turns(count: int, *, first: int = 0, text: str = "") -> list[Episode]:
    """Return turns five minutes apart, about one file and something new each."""
    return [
        turn_about(number, text or f"`cart.py` uses `store{number}`. `pytest -q` found `cart py`.")
        for number in range(first, first + count)
    ]


def turn_about(number: int, text: str) -> Episode:
    episode = builders.episode(
        f"p{number}", ordinal=number, started_at=START + timedelta(minutes=5 * number)
    )
    return replace(episode, text=f"user: {text}", chunks=(f"user: {text}",))


def rules(model: ChatModel, *, flushes: bool = True) -> SummaryRules:
    """Return rules with which every summary needs a request."""
    return SummaryRules(ModelSummariser(model, max_unasked=0), LIMITS, flushes=flushes)


async def ingest(
    store: GraphStore,
    lake: Path,
    episodes: Sequence[Episode],
    model: ChatModel,
    run: str = "run-a",
    *,
    clock: Callable[[], datetime] | None = None,
    flushes: bool = True,
) -> IngestProgress:
    extractor = LlmExtractor(model, ToyEmbedder(), prompts=fixed_prompt(None))
    given = rules(model, flushes=flushes)
    return await ingest_run(store, episodes, lake, extractor, run, summaries=given, clock=clock)


def answering(answer: Callable[[int, str], str]) -> CannedModel:
    """Return a model that answers about each entity from what a request says about it."""

    def respond(request: ChatRequest) -> str | None:
        if request.prompt_name != PROMPT:
            return None
        shown = described_entities(request.messages[-1].text)
        texts = [{"number": number, "summary": answer(number, of)} for number, of in shown.items()]
        return json.dumps({"entity_summaries": texts})

    return CannedModel(respond)


def decisions(contents: GroupContents) -> list[list[EntityRecord]]:
    """Return what each turn recorded, without what ends of runs wrote."""
    records = map(decode, contents.summaries.values())
    return [[one for one in of_turn if one.flushed is None] for of_turn in records]


def summaries(contents: GroupContents) -> dict[str, str]:
    return {entity.name: entity.summary for entity in contents.entities}


def connected(contents: GroupContents) -> set[str]:
    return {uuid for fact in contents.facts for uuid in (fact.source, fact.target)}


def described(request: ChatRequest) -> list[str]:
    return [*described_entities(request.messages[-1].text).values()]


def without_refreshes(model: CannedModel) -> list[str]:
    requests = [one for one in model.requests if one.prompt_name != PROMPT]
    return sorted(f"{one.prompt_name} {request_text(one)}" for one in requests)


def open_journal(folder: Path) -> Journal:
    return Journal(folder / "journal.sqlite", clock=lambda: datetime(2026, 1, 1, tzinfo=UTC))


class Unbudgeted(CannedModel):
    """Refuses a request for summaries from the n-th on, as a budget that is used up."""

    def __init__(self, allowed: int) -> None:
        super().__init__(self._refuse)
        self._allowed = allowed

    def allow(self) -> None:
        """Refuse nothing any more."""
        self._allowed = 1_000

    def _refuse(self, request: ChatRequest) -> None:
        if request.prompt_name == PROMPT:
            self._allowed -= 1
            if self._allowed < 0:
                raise RunStopped("the budget is used up")
