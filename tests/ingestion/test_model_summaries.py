"""Summaries of a group that a model extracts, on both stores: gated, recorded, paid once."""

import re
from collections.abc import Sequence
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
from typing_extensions import override

from tests import builders
from tests.builders import GROUP, START
from tests.extraction.canned_model import CannedModel
from tests.extraction.fixed_prompt import fixed_prompt
from tests.extraction.long_sample_turns import TickingClock
from tests.graph.statements import run_statement
from tests.ingestion import redo_runs
from tests.ingestion.model_summaries import (
    Unbudgeted,
    answering,
    connected,
    decisions,
    described,
    ingest,
    open_journal,
    rules,
    summaries,
    turn_about,
    turns,
    without_refreshes,
)
from tests.ingestion.redo_runs import carry_out, opened, plan_redo_of, write_lake
from tests.ingestion.undo_runs import ingest_run, plan, undo
from tests.servers.summary_responses import summary_of
from tests.servers.toy_embedder import ToyEmbedder
from turnetl.base.errors import ModelBusy, RunStopped
from turnetl.base.model import Vector
from turnetl.extraction.hybrid import HybridExtractor
from turnetl.extraction.llm import LlmExtractor
from turnetl.extraction.structural import StructuralExtractor
from turnetl.graph.open import open_graph
from turnetl.graph.port import GraphStore
from turnetl.ingestion.undo_plan import UndoSelection
from turnetl.llm.chat import ChatModel, ChatRequest
from turnetl.llm.journal import JournaledModel
from turnetl.summaries.model_summariser import PROMPT
from turnetl.summaries.reasons import GateReason
from turnetl.summaries.records import replay


@pytest.mark.parametrize("name", ["llm", "hybrid"])
async def test_the_summaries_of_a_model_are_recorded_and_are_part_of_the_cost_of_their_turn(
    store: GraphStore, tmp_path: Path, name: str
) -> None:
    model = CannedModel()
    llm = LlmExtractor(model, ToyEmbedder(), prompts=fixed_prompt(None))
    extractor = llm if name == "llm" else HybridExtractor(StructuralExtractor(), llm)
    done = await ingest_run(store, turns(6), tmp_path, extractor, "run-a", summaries=rules(model))
    contents = await store.load(GROUP)
    recorded = replay(contents.summaries.values())
    for entity in contents.entities:
        is_connected = entity.uuid in connected(contents)
        shown = recorded[entity.uuid].shown if is_connected else ""
        assert entity.summary == shown
        assert bool(entity.summary) == is_connected
    assert done.summaries[GateReason.FLUSHED] > 0
    # Six turns about the file and far fewer requests.
    asked = [shown for request in model.prompts(PROMPT) for shown in described(request)]
    assert 1 < sum(text.startswith("cart.py ") for text in asked) < 6
    assert sum(receipt.usage.calls for receipt in contents.receipts) == len(model.requests)


@pytest.mark.full
async def test_ten_runs_decide_and_ask_as_one_run_does(store: GraphStore, tmp_path: Path) -> None:
    # The name of the entity that has bursts is like those of new ones: prompts show its summary.
    episodes = [turn_about(number, f"`store2` uses `store{number + 3}`.") for number in range(10)]
    one = CannedModel()
    await ingest(store, tmp_path, episodes, one, clock=TickingClock())
    expected = await store.load(GROUP)
    await undo(store, await plan(store, GROUP, UndoSelection(run="run-a")))
    many, clock = CannedModel(), TickingClock()
    for number, turn in enumerate(episodes):
        await ingest(store, tmp_path, [turn], many, f"run-{number}", clock=clock)
    contents = await store.load(GROUP)
    assert decisions(contents) == decisions(expected)
    assert summaries(contents) == summaries(expected)
    # The end of a run writes summaries, and no prompt of a later run shows them.
    assert without_refreshes(many) == without_refreshes(one)
    assert any('"summary": "store2 (' in text for text in without_refreshes(one))
    assert len(many.prompts(PROMPT)) > len(one.prompts(PROMPT))


@pytest.mark.parametrize("failing", range(1, 7))
async def test_a_run_that_dies_at_a_request_for_summaries_resumes_and_pays_nothing_twice(
    store: GraphStore, tmp_path: Path, failing: int
) -> None:
    undisturbed = CannedModel()
    await ingest(store, tmp_path / "a", turns(6), undisturbed)
    expected = await store.load(GROUP)
    await undo(store, await plan(store, GROUP, UndoSelection(run="run-a")))
    asked = 0

    def dies_once(request: ChatRequest) -> None:
        nonlocal asked
        asked += request.prompt_name == PROMPT
        if asked == failing:
            asked += 1
            raise ModelBusy("the connection was lost")

    base = CannedModel(dies_once)
    with closing(open_journal(tmp_path)) as journal:
        with pytest.raises(ModelBusy):
            await ingest(store, tmp_path / "b", turns(6), JournaledModel(base, journal))
        committed = {receipt.turn_id for receipt in await store.receipts(GROUP)}
        left = [turn for turn in turns(6) if turn.turn_id not in committed]
        await ingest(store, tmp_path / "b", left, JournaledModel(base, journal), "run-b")
    contents = await store.load(GROUP)
    assert contents.entities == expected.entities
    assert [*contents.summaries.values()] == [*expected.summaries.values()]
    assert len(base.requests) == len(undisturbed.requests) + 1


async def test_an_empty_summary_keeps_the_old_one_and_is_asked_for_again(
    store: GraphStore, tmp_path: Path
) -> None:
    await ingest(store, tmp_path, turns(2), CannedModel())
    before = summaries(await store.load(GROUP))
    empty = answering(lambda *_: " ")
    done = await ingest(store, tmp_path, turns(2, first=12), empty, "run-b")
    assert (done.committed, done.quarantined) == (2, 0)
    assert done.summaries[GateReason.NO_TEXT] > 0
    after = summaries(await store.load(GROUP))
    assert {name: after[name] for name in before} == before
    assert after["store12"] == ""
    # The next run writes what is due, though no turn is about it.
    later = turns(1, first=40, text="`other.py` uses `redis`.")
    await ingest(store, tmp_path, later, CannedModel(), "run-c")
    assert summaries(await store.load(GROUP))["store12"].startswith("store12 (")


async def test_a_model_that_never_answers_is_not_asked_by_every_later_turn(
    store: GraphStore, tmp_path: Path
) -> None:
    empty = answering(lambda _, shown: "" if shown.startswith("cart.py") else summary_of(shown))
    await ingest(store, tmp_path, turns(1), empty)
    others = [
        turn
        for number in range(20, 80, 10)
        for turn in turns(1, first=number, text=f"`other.py` uses `part{number}`.")
    ]
    await ingest(store, tmp_path, others, empty, "run-b")
    about = [text for one in empty.prompts(PROMPT) for text in described(one)]
    assert sum(text.startswith("cart.py") for text in about) == 2


@pytest.mark.full
async def test_a_budget_that_does_not_cover_the_flush_commits_the_last_turn(
    store: GraphStore, tmp_path: Path
) -> None:
    undisturbed = CannedModel()
    await ingest(store, tmp_path / "a", turns(3), undisturbed)
    expected = await store.load(GROUP)
    await undo(store, await plan(store, GROUP, UndoSelection(run="run-a")))
    allowed = len(undisturbed.prompts(PROMPT)) - 1
    with pytest.raises(RunStopped):
        await ingest(store, tmp_path / "b", turns(3), Unbudgeted(allowed))
    contents = await store.load(GROUP)
    assert len(contents.receipts) == 3
    assert decisions(contents) == decisions(expected)
    assert contents.entities != expected.entities


@pytest.mark.full
async def test_a_summary_of_a_model_that_somebody_edited_stays(
    graph_url: str, tmp_path: Path
) -> None:
    store = await open_graph(graph_url, user="", password="", write=True)
    await store.prepare()
    await ingest(store, tmp_path, turns(2), CannedModel())
    await store.close()
    await run_statement(graph_url, "MATCH (n:Entity {name: 'cart.py'}) SET n.summary = 'by hand'")
    store = await open_graph(graph_url, user="", password="", write=True)
    done = await ingest(store, tmp_path, turns(3, first=20), CannedModel(), "run-b")
    assert summaries(await store.load(GROUP))["cart.py"] == "by hand"
    assert done.summaries[GateReason.EDITED] == 3
    await store.close()


async def test_turns_that_arrive_late_are_summarised_too(store: GraphStore, tmp_path: Path) -> None:
    ordered = turns(6)
    late = [*ordered[3:], *ordered[:3]]
    done = await ingest(store, tmp_path, late, CannedModel())
    assert done.committed == 6
    contents = await store.load(GROUP)
    texts = {entity.uuid: entity.summary for entity in contents.entities}
    assert all(texts[uuid] for uuid in connected(contents))


async def test_a_turn_that_states_a_fact_and_denies_it_is_committed_with_its_summaries(
    store: GraphStore, tmp_path: Path
) -> None:
    model = CannedModel()
    text = "`cart.py` uses `sqlite`. `cart.py` no longer uses `sqlite`. `cart.py` uses `sqlite`."
    done = await ingest(
        store, tmp_path, [turn_about(0, text), *turns(1, first=20, text=text)], model
    )
    assert (done.committed, done.quarantined) == (2, 0)
    assert summaries(await store.load(GROUP))["cart.py"]


class CountingEmbedder(ToyEmbedder):
    """Counts how often each text is embedded."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    @override
    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        self.texts += texts
        return await super().embed(texts)


async def test_no_fact_is_embedded_a_second_time_for_its_summary(
    store: GraphStore, tmp_path: Path
) -> None:
    texts = []
    for run, given in (("run-a", None), ("run-b", rules(CannedModel()))):
        embedder = CountingEmbedder()
        extractor = LlmExtractor(CannedModel(), embedder, prompts=fixed_prompt(None))
        await ingest_run(store, turns(3), tmp_path, extractor, run, summaries=given)
        await undo(store, await plan(store, GROUP, UndoSelection(run=run)))
        texts.append(embedder.texts)
    without, with_summaries = texts
    assert with_summaries == without
    facts = [text for text in without if re.search(r" uses store\d", text)]
    assert len(facts) == len(set(facts)) == 3


@pytest.mark.full
async def test_a_redo_sends_all_requests_for_summaries_before_it_undoes_anything(
    graph_url: str, tmp_path: Path
) -> None:
    texts = [f"Look: `cart.py` uses `store{number}`." for number in range(5)]
    lake = write_lake(
        tmp_path,
        [
            builders.turn(
                f"p{number}",
                user_text=text,
                ordinal=number,
                started_at=START + timedelta(minutes=5 * number),
            )
            for number, text in enumerate(texts)
        ],
    )

    def llm(model: ChatModel, instructions: str) -> LlmExtractor:
        return LlmExtractor(model, ToyEmbedder(), prompts=fixed_prompt(instructions))

    first = CannedModel()
    async with opened(graph_url, lake, llm(first, "Look."), rules(first)) as resources:
        await redo_runs.ingest(resources)
    base, sent = CannedModel(), {}

    def progress(stage: str, done: int, total: int) -> None:
        sent[stage, done, total] = len(base.requests)

    with closing(open_journal(tmp_path)) as journal:
        model = JournaledModel(base, journal)
        async with opened(graph_url, lake, llm(model, "Look again."), rules(model)) as resources:
            planned = await plan_redo_of(resources)
            assert planned is not None
            await carry_out(resources, planned, progress=progress)
            contents = await resources.store.load(GROUP)
    undone = [count for (stage, *_), count in sent.items() if stage == "undo"]
    assert undone
    assert base.prompts(PROMPT)
    assert set(undone) == {len(base.requests)}
    assert summaries(contents)["cart.py"].startswith("cart.py (")
