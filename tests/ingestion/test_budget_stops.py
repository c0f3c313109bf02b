"""A budget stops a run cleanly, and the same command continues from there."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

import pytest

from tests import frames
from tests.builders import GROUP, START, turn
from tests.extraction.fixed_prompt import fixed_prompt
from tests.extraction.sample_turns import TURN_TEXTS
from tests.ingestion.runs import ingest, status
from tests.servers.provider import FakeProvider
from tests.servers.toy_embedder import ToyEmbedder
from turnetl.base.errors import RunStopped
from turnetl.base.model import Usage
from turnetl.extraction.llm import LlmExtractor
from turnetl.graph.open import open_graph
from turnetl.graph.port import GraphStore
from turnetl.ingestion.admission import TurnAdmission
from turnetl.ingestion.group import IngestResources
from turnetl.ingestion.ingest_report import GroupReport
from turnetl.ingestion.ingest_run import IngestRun
from turnetl.ingestion.plan import Scope
from turnetl.ingestion.quarantine import Quarantine
from turnetl.lake import Lake
from turnetl.llm.budget import Budget, BudgetedModel
from turnetl.llm.chat import ChatModel, ChatRequest, ChatResponse
from turnetl.llm.costs import worst_case
from turnetl.llm.journal import Journal, JournaledModel
from turnetl.llm.meter import Meter, MeteredModel
from turnetl.llm.prices import Price, Prices
from turnetl.llm.providers.registry import open_model
from turnetl.llm.retry import RetryingModel, RetryPolicy

NOW = START + timedelta(days=1)
RUN = IngestRun("run-1", "here:1", lambda: NOW, timedelta(seconds=60), prefetch=3, retry_delay=0.01)
SCOPE = Scope(now=NOW)
PRICES = Prices(({"openai-compatible/canned": Price(1.0, 1.0, 2.0)},))


@dataclass
class LimitedCalls:
    """Passes requests on, and records the largest reservation that any of them needs."""

    model: ChatModel
    calls: int | None = None
    """Requests before the budget is exhausted; None: no limit."""
    largest_reservation: int = 0
    """Tokens."""

    @property
    def name(self) -> str:
        return self.model.name

    async def complete(self, request: ChatRequest) -> ChatResponse:
        if self.calls == 0:
            raise RunStopped("the budget is exhausted")
        self.calls = self.calls and self.calls - 1
        smallest = replace(request, max_tokens=2_048)
        self.largest_reservation = max(
            self.largest_reservation, int(worst_case(smallest, None).amount.tokens)
        )
        return await self.model.complete(request)

    async def close(self) -> None:
        await self.model.close()


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    new = Lake(tmp_path / "lake")
    turns = [
        turn(f"p{at}", user_text=prompt, started_at=START + timedelta(hours=at), ordinal=at)
        for at, prompt in enumerate(TURN_TEXTS)
    ]
    new.write_episodes(GROUP, [frames.episode_table(frames.turns(*turns))], dict)
    return new


@asynccontextmanager
async def resources(
    lake: Lake,
    store: GraphStore,
    provider: FakeProvider,
    meter: Meter,
    *,
    tokens: int | None,
    calls: int | None,
) -> AsyncIterator[tuple[IngestResources, LimitedCalls]]:
    """Open the model stack as a run does: journal, budget, retry, meter."""
    base = open_model("openai-compatible", model="canned", base_url=provider.base_url("openai"))
    limited = LimitedCalls(MeteredModel(base, meter), calls)
    budget = Budget(tokens, None, meter, PRICES) if tokens is not None else None
    budgeted = BudgetedModel(limited, budget) if budget is not None else limited
    retrying = RetryingModel(budgeted, RetryPolicy(attempts=2, first_wait=0))
    embedder = ToyEmbedder()
    with closing(
        Journal(lake.root / "journal.sqlite", clock=lambda: NOW, min_free_bytes=0)
    ) as journal:
        extractor = LlmExtractor(
            JournaledModel(retrying, journal), embedder, prompts=fixed_prompt(None)
        )
        try:
            yield IngestResources(lake, store, extractor, embedder, TurnAdmission(budget)), limited
        finally:
            await extractor.close()


async def run_once(
    lake: Lake,
    store: GraphStore,
    provider: FakeProvider,
    tokens: int | None = None,
    calls: int | None = None,
) -> tuple[GroupReport, Meter, int]:
    """Run once; return the report, the meter, and the largest reservation of a request."""
    meter = Meter(PRICES)
    async with resources(lake, store, provider, meter, tokens=tokens, calls=calls) as (
        opened,
        limited,
    ):
        report = await ingest(GROUP, opened, SCOPE, RUN)
    return report, meter, limited.largest_reservation


@asynccontextmanager
async def another_graph(folder: Path) -> AsyncIterator[GraphStore]:
    store = await open_graph(f"ladybug://{folder / 'other.lbug'}", user="", password="")
    await store.prepare()
    yield store
    await store.close()


async def names_and_texts(store: GraphStore) -> list[set[str]]:
    contents = await store.load(GROUP)
    return [{entity.name for entity in contents.entities}, {fact.text for fact in contents.facts}]


@pytest.mark.full
async def test_a_run_that_is_stopped_repeatedly_makes_the_same_graph_as_an_uninterrupted_one(
    store: GraphStore, lake: Lake, provider: FakeProvider, tmp_path: Path
) -> None:
    provider.prompt_tokens = 2_000
    uninterrupted, reservation = await _without_budget(lake, provider, tmp_path)
    calls, budget = len(provider.requests), reservation + provider.prompt_tokens
    provider.requests.clear()
    reports: list[GroupReport] = []
    while not reports or reports[-1].exit_code == 4:
        report, meter, _ = await run_once(lake, store, provider, budget)
        assert 0 < meter.total.calls <= calls
        assert meter.total.prompt_tokens + meter.total.completion_tokens <= budget
        assert report.in_graph + report.ready == len(TURN_TEXTS)
        assert Quarantine(lake.files, GROUP).entries() == ()
        reports.append(report)
    assert len(reports) > 3
    assert len(provider.requests) == calls
    assert reports[-1].in_graph == len(TURN_TEXTS)
    assert await names_and_texts(store) == uninterrupted


async def _without_budget(
    lake: Lake, provider: FakeProvider, tmp_path: Path
) -> tuple[list[set[str]], int]:
    """Return the graph that a run without a budget makes of the same turns, and its reservation."""
    elsewhere = Lake(tmp_path / "elsewhere")
    elsewhere.write_episodes(GROUP, [lake.scan_episodes(GROUP).collect()], dict)
    async with another_graph(tmp_path) as store:
        _, _, reservation = await run_once(elsewhere, store, provider)
        return await names_and_texts(store), reservation


@pytest.mark.full
async def test_no_turn_is_quarantined_whichever_request_is_the_last_one(
    store: GraphStore, lake: Lake, provider: FakeProvider
) -> None:
    code = 4
    while code == 4:
        before = len(provider.requests)
        report, _, _ = await run_once(lake, store, provider, calls=1)
        assert len(provider.requests) - before <= 1
        assert (report.quarantined, report.in_graph + report.ready) == (0, len(TURN_TEXTS))
        code = report.exit_code
    assert (code, report.in_graph) == (0, len(TURN_TEXTS))


async def test_a_budget_too_small_for_a_single_request_stops_before_the_first_one(
    store: GraphStore, lake: Lake, provider: FakeProvider
) -> None:
    report, meter, _ = await run_once(lake, store, provider, 1000)
    assert provider.requests == []
    assert meter.total == Usage()
    assert (report.exit_code, report.retryable, report.ready) == (4, False, len(TURN_TEXTS))
    assert report.error is not None
    assert "0 of 1,000 tokens are used" in report.error


@pytest.mark.full
async def test_journaled_responses_are_used_even_with_an_empty_budget(
    store: GraphStore, lake: Lake, provider: FakeProvider, tmp_path: Path
) -> None:
    await run_once(lake, store, provider)
    calls = len(provider.requests)
    async with another_graph(tmp_path) as other:
        report, meter, _ = await run_once(lake, other, provider, 0)
        assert await names_and_texts(other) == await names_and_texts(store)
    assert (report.committed, report.exit_code) == (len(TURN_TEXTS), 0)
    assert meter.total == Usage()
    assert len(provider.requests) == calls


@pytest.mark.full
async def test_receipts_record_what_the_responses_for_a_turn_cost(
    store: GraphStore, lake: Lake, provider: FakeProvider
) -> None:
    _, meter, _ = await run_once(lake, store, provider)
    spent = sum((one.usage for one in await store.receipts(GROUP)), Usage())
    assert spent.calls == meter.total.calls == len(provider.requests)
    assert spent.prompt_tokens == meter.total.prompt_tokens
    assert spent.seconds == pytest.approx(meter.total.seconds)
    assert spent.cost == pytest.approx(meter.total.cost)
    current = await status(GROUP, lake, store, SCOPE, recipe=None)
    assert current.usage == spent
