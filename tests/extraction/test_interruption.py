"""Runs that are cancelled or fail during a request: nothing leaks, and a rerun gives the same."""

import asyncio
from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from pathlib import Path

import pytest

from tests.extraction import sample_turns
from tests.extraction.canned_model import CannedModel
from tests.extraction.fixed_prompt import fixed_prompt
from tests.servers.toy_embedder import ToyEmbedder
from turnetl.base.errors import BadTurn
from turnetl.base.graph_model import GroupContents
from turnetl.extraction.llm import LlmExtractor
from turnetl.graph.open import open_graph
from turnetl.graph.port import GraphStore
from turnetl.ingestion.ingest_run import IngestProgress, IngestRun
from turnetl.ingestion.quarantine import Quarantine
from turnetl.ingestion.turn_pipeline import TurnPipeline
from turnetl.ingestion.turn_summaries import SummaryRules
from turnetl.lake import LocalFiles
from turnetl.llm.chat import ChatRequest
from turnetl.summaries.gate import GateLimits
from turnetl.summaries.model_summariser import ModelSummariser

NODES, EDGES = "extract_nodes.extract_message", "extract_edges.edge"
DEDUPE, RESOLVE = "dedupe_nodes.nodes", "dedupe_edges.resolve_edges"
SUMMARIES = "summaries.refresh"
ALL = (NODES, EDGES, DEDUPE, RESOLVE, SUMMARIES)
TURNS = sample_turns.episodes(
    (*sample_turns.TURN_TEXTS[:5], "`checkout flow` is. `pytest-q` uses `sqlite`.")
)
GROUP = TURNS[0].turn.group_id


@pytest.fixture
async def graph(tmp_path: Path) -> AsyncIterator[GraphStore]:
    opened = await open_graph(f"ladybug://{tmp_path / 'g.lbug'}", user="", password="")
    await opened.prepare()
    yield opened
    await opened.close()


async def ingest(graph: GraphStore, lake: Path, model: CannedModel) -> IngestProgress:
    extractor = LlmExtractor(model, ToyEmbedder(), prompts=fixed_prompt("Look for what broke."))
    run = IngestRun("run-1", "here:1", lambda: sample_turns.NOW, timedelta(seconds=60), prefetch=3)
    # A summary needs a request as soon as an entity has facts.
    rules = SummaryRules(ModelSummariser(model, max_unasked=0), GateLimits(burst_turns=2))
    pipeline = TurnPipeline(
        graph, extractor, ToyEmbedder(), Quarantine(LocalFiles(lake), GROUP), run, summaries=rules
    )
    committed = {receipt.turn_id for receipt in await graph.receipts(GROUP)}
    context = {turn.turn_id: () for turn in TURNS if turn.turn_id not in committed}
    try:
        return await pipeline.ingest(GROUP, TURNS, context, lambda _: None)
    finally:
        await extractor.close()


def comparable(contents: GroupContents) -> tuple[object, ...]:
    turns = [receipt.turn_id for receipt in contents.receipts]
    return contents.entities, contents.facts, turns, [*contents.summaries.values()]


async def uninterrupted(tmp_path: Path) -> tuple[object, ...]:
    """Return the contents of a graph after a run without interruption."""
    graph = await open_graph(f"ladybug://{tmp_path / 'uninterrupted.lbug'}", user="", password="")
    await graph.prepare()
    await ingest(graph, tmp_path / "lake", CannedModel())
    contents = await graph.load(GROUP)
    await graph.close()
    return comparable(contents)


@pytest.mark.full
@pytest.mark.parametrize("prompt", ALL)
async def test_a_run_cancelled_during_a_request_leaves_nothing_and_a_rerun_gives_the_same(
    graph: GraphStore, tmp_path: Path, prompt: str
) -> None:
    model = CannedModel()
    model.blocked[prompt] = asyncio.Event()
    received = model.received.setdefault(prompt, asyncio.Event())
    others = asyncio.all_tasks()
    running = asyncio.create_task(ingest(graph, tmp_path, model))
    await asyncio.wait_for(received.wait(), 10)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert asyncio.all_tasks() == others
    await ingest(graph, tmp_path, CannedModel())
    assert comparable(await graph.load(GROUP)) == await uninterrupted(tmp_path)
    assert Quarantine(LocalFiles(tmp_path), GROUP).entries() == ()


def fails(*prompts: str, about: str) -> Callable[[ChatRequest], None]:
    def respond(request: ChatRequest) -> None:
        if request.prompt_name in prompts and about in request.messages[-1].text:
            raise BadTurn(f"no response to {request.prompt_name}")

    return respond


@pytest.mark.full
@pytest.mark.parametrize("prompts", [(NODES,), (EDGES,), (DEDUPE, EDGES)])
async def test_only_the_turn_that_fails_is_quarantined_and_no_other_differs(
    graph: GraphStore, tmp_path: Path, prompts: tuple[str, ...]
) -> None:
    others = asyncio.all_tasks()
    model = CannedModel(fails(*prompts, about="pytest-q"))
    done = await ingest(graph, tmp_path, model)
    assert (done.committed, done.quarantined) == (5, 1)
    (entry,) = Quarantine(LocalFiles(tmp_path), GROUP).entries()
    assert entry.turn_id == TURNS[5].turn_id
    assert entry.error in {f"no response to {prompt}" for prompt in prompts}
    assert asyncio.all_tasks() == others
    await ingest(graph, tmp_path, CannedModel())
    assert comparable(await graph.load(GROUP)) == await uninterrupted(tmp_path)
