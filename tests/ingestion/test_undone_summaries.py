"""Summaries of a model and undo: restored, taken back, and of groups that recorded none."""

from pathlib import Path

import pytest

from tests.builders import GROUP
from tests.extraction.canned_model import CannedModel
from tests.extraction.fixed_prompt import fixed_prompt
from tests.graph.statements import run_statement
from tests.ingestion.model_summaries import (
    answering,
    described,
    ingest,
    summaries,
    turn_about,
    turns,
)
from tests.ingestion.undo_runs import ingest_run, plan, undo
from tests.servers.toy_embedder import ToyEmbedder
from turnetl.extraction.llm import LlmExtractor
from turnetl.graph.open import open_graph
from turnetl.graph.port import GraphStore
from turnetl.ingestion.forget import holds
from turnetl.ingestion.undo_plan import UndoSelection
from turnetl.summaries.model_summariser import PROMPT


async def test_the_undo_of_a_run_restores_the_summaries_and_their_state(
    store: GraphStore, tmp_path: Path
) -> None:
    await ingest(store, tmp_path, turns(3), CannedModel())
    before = await store.load(GROUP)
    await ingest(store, tmp_path, turns(4, first=3), CannedModel(), "run-b")
    assert summaries(await store.load(GROUP)) != summaries(before)
    await undo(store, await plan(store, GROUP, UndoSelection(run="run-b")))
    after = await store.load(GROUP)
    assert after.entities == before.entities
    assert after.summaries == before.summaries


@pytest.mark.parametrize("place", range(1, 4))
async def test_no_summary_of_a_model_quotes_a_turn_that_was_undone(
    store: GraphStore, tmp_path: Path, place: int
) -> None:
    quoting = answering(lambda _, shown: " ".join(shown.split())[:900])
    episodes = turns(5)
    episodes[place] = turn_about(place, "`cart.py` uses `zanzibar canary`.")
    await ingest(store, tmp_path, episodes, quoting)
    contents = await store.load(GROUP)
    assert [text for text in contents.summaries.values() if "zanzibar canary" in text]
    selection = UndoSelection(turn=episodes[place].turn_id)
    await undo(store, await plan(store, GROUP, selection, cascade=True))
    left = await store.load(GROUP)
    assert left.receipts
    assert not holds((left, await store.commit_records(GROUP)), ["zanzibar canary"])


LEGACY = "As an earlier version wrote it."


@pytest.fixture
async def legacy(graph_url: str, tmp_path: Path) -> GraphStore:
    """Return a group whose turns record no summaries, and whose entities have some."""
    store = await open_graph(graph_url, user="", password="", write=True)
    await store.prepare()
    extractor = LlmExtractor(CannedModel(), ToyEmbedder(), prompts=fixed_prompt(None))
    await ingest_run(store, turns(2), tmp_path, extractor, "old")
    await store.close()
    await run_statement(graph_url, f"MATCH (n:Entity) SET n.summary = '{LEGACY}'")
    return await open_graph(graph_url, user="", password="", write=True)


@pytest.mark.full
async def test_a_summary_that_no_turn_recorded_is_refreshed_when_a_turn_changes_its_facts(
    legacy: GraphStore, tmp_path: Path
) -> None:
    before = await legacy.load(GROUP)
    model = CannedModel()
    await ingest(legacy, tmp_path, turns(1, first=20), model, "new")
    contents = await legacy.load(GROUP)
    texts = summaries(contents)
    assert texts["cart.py"].startswith("cart.py (")
    assert texts["store0"] == LEGACY
    shown = [text for one in model.prompts(PROMPT) for text in described(one)]
    assert any(f"Summary so far: {LEGACY}" in text for text in shown)
    await undo(legacy, await plan(legacy, GROUP, UndoSelection(run="new")))
    assert (await legacy.load(GROUP)).entities == before.entities
    await legacy.close()


@pytest.mark.full
async def test_the_undo_of_a_turn_without_records_takes_back_what_later_turns_wrote(
    legacy: GraphStore, tmp_path: Path
) -> None:
    quoting = answering(lambda _, shown: " ".join(shown.split())[:900])
    await ingest(legacy, tmp_path, turns(2, first=20), quoting, "new")
    [first, *_] = turns(1)
    assert holds(await legacy.load(GROUP), ["store0"])
    await undo(legacy, await plan(legacy, GROUP, UndoSelection(turn=first.turn_id), cascade=True))
    left = await legacy.load(GROUP)
    assert not holds((left.entities, left.facts, left.summaries), ["store0"])
    await legacy.close()
