"""A run that a budget stops is stopped cleanly, and the same command goes on from there."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

import pytest

from tests import frames
from tests.builders import GROUP, START, turn
from tests.extraction.sample_turns import SAID
from tests.ingest.runs import ingest, status
from tests.servers.provider import FakeProvider
from tests.servers.toy_embedder import ToyEmbedder
from turnetl.episodes import episode_table
from turnetl.errors import Exhausted
from turnetl.extraction.llm import LlmExtractor
from turnetl.extraction.prompt_config import fixed_prompt
from turnetl.graph.open import open_graph
from turnetl.graph.port import GraphStore
from turnetl.ingest.group import IngestResources
from turnetl.ingest.plan import Scope
from turnetl.ingest.quarantine import Quarantine
from turnetl.ingest.report import GroupReport
from turnetl.ingest.turn_pipeline import IngestRun
from turnetl.lake import Lake
from turnetl.llm.budget import Budget, BudgetedModel
from turnetl.llm.chat import ChatModel, ChatRequest, ChatResponse
from turnetl.llm.cost_bounds import worst_case
from turnetl.llm.journal import Journal, JournaledModel
from turnetl.llm.meter import Meter, MeteredModel
from turnetl.llm.prices import Price, Prices
from turnetl.llm.providers.registry import open_model
from turnetl.llm.retry import RetryingModel, RetryPolicy
from turnetl.model import Usage

NOW = START + timedelta(days=1)
RUN = IngestRun("run-1", "here:1", lambda: NOW, timedelta(seconds=60), prefetch=3, retry_delay=0.01)
SCOPE = Scope(now=NOW)
PRICES = Prices(({"openai-compatible/canned": Price(1.0, 1.0, 2.0)},))
A_CALL = 110
"""Tokens that the canned provider counts."""


@dataclass
class Watched:
    """Lets requests through, and keeps in mind what must be left for any of them."""

    model: ChatModel
    calls: int | None = None
    """After so many the budget is used up; None: never."""
    most: int = 0

    @property
    def name(self) -> str:
        return self.model.name

    async def complete(self, request: ChatRequest) -> ChatResponse:
        if self.calls == 0:
            raise Exhausted("the budget is used up")
        self.calls = self.calls and self.calls - 1
        shortest = replace(request, max_tokens=2_048)
        self.most = max(self.most, worst_case(shortest, None).tokens)
        return await self.model.complete(request)

    async def close(self) -> None:
        await self.model.close()


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    kept = Lake(tmp_path / "lake")
    turns = [
        turn(f"p{at}", user_text=said, started_at=START + timedelta(hours=at), ordinal=at)
        for at, said in enumerate(SAID)
    ]
    kept.write_episodes(GROUP, [episode_table(frames.turns(*turns))], dict)
    return kept


@asynccontextmanager
async def tools(
    lake: Lake,
    store: GraphStore,
    provider: FakeProvider,
    meter: Meter,
    *,
    tokens: int | None,
    calls: int | None,
) -> AsyncIterator[tuple[IngestResources, Watched]]:
    """Open the stack as a run does: journal, budget, retry, meter."""
    base = open_model("openai-compatible", model="canned", base_url=provider.base_url("openai"))
    watched = Watched(
        RetryingModel(MeteredModel(base, meter), RetryPolicy(attempts=2, first_wait=0)), calls
    )
    budgeted = BudgetedModel(watched, Budget(tokens, None, meter, PRICES))
    embedder = ToyEmbedder()
    with closing(
        Journal(lake.root / "journal.sqlite", clock=lambda: NOW, min_free_bytes=0)
    ) as journal:
        extractor = LlmExtractor(
            JournaledModel(budgeted, journal), embedder, prompts=fixed_prompt(None)
        )
        try:
            yield IngestResources(lake, store, extractor, embedder), watched
        finally:
            await extractor.close()


async def ran(
    lake: Lake,
    store: GraphStore,
    provider: FakeProvider,
    tokens: int | None = None,
    calls: int | None = None,
) -> tuple[GroupReport, Meter, int]:
    """Run once; return the report, the meter, and what must be left for any of the calls."""
    meter = Meter(PRICES)
    async with tools(lake, store, provider, meter, tokens=tokens, calls=calls) as (used, watched):
        report = await ingest(GROUP, used, SCOPE, RUN)
    return report, meter, watched.most


@asynccontextmanager
async def another_graph(folder: Path) -> AsyncIterator[GraphStore]:
    store = await open_graph(f"ladybug://{folder / 'other.lbug'}", user="", password="")
    await store.prepare()
    yield store
    await store.close()


async def told(store: GraphStore) -> list[set[str]]:
    held = await store.load(GROUP)
    return [{one.name for one in held.entities}, {one.text for one in held.facts}]


async def test_a_run_that_is_stopped_again_and_again_ends_as_one_that_was_not(
    store: GraphStore, lake: Lake, provider: FakeProvider, tmp_path: Path
) -> None:
    one_go, most = await _in_one_go(lake, provider, tmp_path)
    calls, budget = len(provider.requests), most + A_CALL
    provider.requests.clear()
    reports: list[GroupReport] = []
    while not reports or reports[-1].exit_code == 4:
        report, meter, _ = await ran(lake, store, provider, budget)
        assert 0 < meter.total.calls <= calls
        assert meter.total.prompt_tokens + meter.total.completion_tokens <= budget
        assert report.in_graph + report.ready == len(SAID)
        assert Quarantine(lake.root, GROUP).entries() == ()
        reports.append(report)
    assert len(reports) > 3
    assert len(provider.requests) == calls
    assert reports[-1].in_graph == len(SAID)
    assert await told(store) == one_go


async def _in_one_go(
    lake: Lake, provider: FakeProvider, tmp_path: Path
) -> tuple[list[set[str]], int]:
    """Return what a run without a budget makes of the same turns, elsewhere."""
    elsewhere = Lake(tmp_path / "elsewhere")
    elsewhere.write_episodes(GROUP, [lake.scan_episodes(GROUP).collect()], dict)
    async with another_graph(tmp_path) as store:
        _, _, most = await ran(elsewhere, store, provider)
        return await told(store), most


async def test_no_turn_is_set_aside_whichever_call_is_the_last_one(
    store: GraphStore, lake: Lake, provider: FakeProvider
) -> None:
    code = 4
    while code == 4:
        before = len(provider.requests)
        report, _, _ = await ran(lake, store, provider, calls=1)
        assert len(provider.requests) - before <= 1
        assert (report.quarantined, report.in_graph + report.ready) == (0, len(SAID))
        code = report.exit_code
    assert (code, report.in_graph) == (0, len(SAID))


async def test_a_budget_that_no_call_fits_stops_before_the_first_and_says_so(
    store: GraphStore, lake: Lake, provider: FakeProvider
) -> None:
    report, meter, _ = await ran(lake, store, provider, 1000)
    assert provider.requests == []
    assert meter.total == Usage()
    assert (report.exit_code, report.retryable, report.ready) == (4, False, len(SAID))
    assert report.error is not None
    assert "0 of 1,000 tokens are used" in report.error


async def test_what_is_in_the_journal_is_told_even_if_nothing_may_be_spent(
    store: GraphStore, lake: Lake, provider: FakeProvider, tmp_path: Path
) -> None:
    await ran(lake, store, provider)
    calls = len(provider.requests)
    async with another_graph(tmp_path) as other:
        report, meter, _ = await ran(lake, other, provider, 0)
        assert await told(other) == await told(store)
    assert (report.committed, report.exit_code) == (len(SAID), 0)
    assert meter.total == Usage()
    assert len(provider.requests) == calls


async def test_receipts_say_what_the_answers_cost_that_a_turn_is_made_of(
    store: GraphStore, lake: Lake, provider: FakeProvider
) -> None:
    _, meter, _ = await ran(lake, store, provider)
    spent = sum((one.usage for one in await store.receipts(GROUP)), Usage())
    assert spent.calls == meter.total.calls == len(provider.requests)
    assert spent.prompt_tokens == meter.total.prompt_tokens
    assert spent.seconds == pytest.approx(meter.total.seconds)
    assert spent.cost == pytest.approx(meter.total.cost)
    stands = await status(GROUP, lake, store, SCOPE, recipe=None)
    assert stands.usage == spent
