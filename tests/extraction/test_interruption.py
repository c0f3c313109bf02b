"""Turns that break off where a model is asked: nothing leaks, and done again they are the same."""

import asyncio
from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from pathlib import Path

import pytest

from tests.extraction import sample_turns
from tests.extraction.canned_model import Canned
from tests.servers.toy_embedder import ToyEmbedder
from turnetl.errors import BadTurn
from turnetl.extraction.llm import LlmExtractor
from turnetl.extraction.prompt_config import fixed_prompt
from turnetl.graph.open import open_graph
from turnetl.graph.port import GraphStore
from turnetl.ingest.quarantine import Quarantine
from turnetl.ingest.turn_pipeline import IngestProgress, IngestRun, TurnPipeline
from turnetl.llm.chat import ChatRequest
from turnetl.model import GroupContents

NODES, EDGES = "extract_nodes.extract_message", "extract_edges.edge"
DEDUPE, RESOLVE = "dedupe_nodes.nodes", "dedupe_edges.resolve_edge"
SUMMARIES = "extract_nodes.extract_summaries_batch"
ALL = (NODES, EDGES, DEDUPE, RESOLVE, SUMMARIES)
TURNS = sample_turns.episodes(
    (*sample_turns.SAID[:5], "`checkout flow` is. `pytest-q` uses `sqlite`.")
)
GROUP = TURNS[0].turn.group_id


@pytest.fixture
async def graph(tmp_path: Path) -> AsyncIterator[GraphStore]:
    opened = await open_graph(f"ladybug://{tmp_path / 'g.lbug'}", user="", password="")
    await opened.prepare()
    yield opened
    await opened.close()


async def ingested(graph: GraphStore, lake: Path, model: Canned) -> IngestProgress:
    asks = LlmExtractor(model, ToyEmbedder(), prompts=fixed_prompt("Look for what broke."))
    run = IngestRun("run-1", "here:1", lambda: sample_turns.NOW, timedelta(seconds=60), prefetch=3)
    pipeline = TurnPipeline(graph, asks, ToyEmbedder(), Quarantine(lake, GROUP), run)
    there = {receipt.turn_id for receipt in await graph.receipts(GROUP)}
    context = {turn.turn_id: () for turn in TURNS if turn.turn_id not in there}
    try:
        return await pipeline.ingest(GROUP, TURNS, context, lambda _: None)
    finally:
        await asks.close()


def things(held: GroupContents) -> tuple[object, ...]:
    return held.entities, held.facts, [receipt.turn_id for receipt in held.receipts]


async def whole(tmp_path: Path) -> tuple[object, ...]:
    """Return what the turns make of a graph when nothing breaks off."""
    graph = await open_graph(f"ladybug://{tmp_path / 'whole.lbug'}", user="", password="")
    await graph.prepare()
    await ingested(graph, tmp_path / "lake", Canned())
    held = await graph.load(GROUP)
    await graph.close()
    return things(held)


@pytest.mark.parametrize("prompt", ALL)
async def test_a_run_that_is_cancelled_while_a_model_thinks_leaves_nothing_and_goes_on_the_same(
    graph: GraphStore, tmp_path: Path, prompt: str
) -> None:
    model = Canned()
    model.holds[prompt] = asyncio.Event()
    asked = model.arrived.setdefault(prompt, asyncio.Event())
    others = asyncio.all_tasks()
    running = asyncio.create_task(ingested(graph, tmp_path, model))
    await asyncio.wait_for(asked.wait(), 10)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert asyncio.all_tasks() == others
    await ingested(graph, tmp_path, Canned())
    assert things(await graph.load(GROUP)) == await whole(tmp_path)
    assert Quarantine(tmp_path, GROUP).entries() == ()


def fails(*prompts: str, about: str) -> Callable[[ChatRequest], None]:
    def say(question: ChatRequest) -> None:
        if question.prompt_name in prompts and about in question.messages[-1].text:
            raise BadTurn(f"no answer to {question.prompt_name}")

    return say


@pytest.mark.parametrize("prompts", [(NODES,), (EDGES,), (DEDUPE, EDGES)])
async def test_a_turn_that_cannot_be_read_is_the_one_that_is_set_aside_and_no_other_differs(
    graph: GraphStore, tmp_path: Path, prompts: tuple[str, ...]
) -> None:
    others = asyncio.all_tasks()
    model = Canned(fails(*prompts, about="pytest-q"))
    done = await ingested(graph, tmp_path, model)
    assert (done.committed, done.quarantined) == (5, 1)
    (aside,) = Quarantine(tmp_path, GROUP).entries()
    assert aside.turn_id == TURNS[5].turn_id
    assert aside.reason in {f"no answer to {prompt}" for prompt in prompts}
    assert asyncio.all_tasks() == others
    await ingested(graph, tmp_path, Canned())
    assert things(await graph.load(GROUP)) == await whole(tmp_path)
