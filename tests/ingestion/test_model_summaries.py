"""Summaries of a group that a model extracts, on both stores: gated, recorded, paid once."""

import json
import re
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from typing_extensions import override

from tests import builders
from tests.builders import GROUP, START
from tests.extraction.canned_model import CannedModel, request_text
from tests.extraction.fixed_prompt import fixed_prompt
from tests.extraction.long_sample_turns import TickingClock
from tests.graph.statements import run_statement
from tests.ingestion import redo_runs
from tests.ingestion.redo_runs import carry_out, opened, plan_redo_of, write_lake
from tests.ingestion.undo_runs import ingest_run, plan, undo
from tests.servers.summary_responses import described_entities, summary_of
from tests.servers.toy_embedder import ToyEmbedder
from turnetl.errors import ModelBusy, RunStopped
from turnetl.extraction.hybrid import HybridExtractor
from turnetl.extraction.llm import LlmExtractor
from turnetl.extraction.structural import StructuralExtractor
from turnetl.graph.open import open_graph
from turnetl.graph.port import GraphStore
from turnetl.graph_model import GroupContents
from turnetl.ingestion.forget_text import holds
from turnetl.ingestion.ingest_run import IngestProgress
from turnetl.ingestion.turn_summaries import SummaryRules
from turnetl.ingestion.undo_plan import UndoSelection
from turnetl.llm.chat import ChatModel, ChatRequest
from turnetl.llm.journal import Journal, JournaledModel
from turnetl.model import Episode, Vector
from turnetl.summaries.gate import GateLimits
from turnetl.summaries.model_summariser import ModelSummariser
from turnetl.summaries.reasons import GateReason
from turnetl.summaries.records import EntityRecord, decode, replay
from turnetl.summaries.refresh_prompt import PROMPT

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


def described(request: ChatRequest) -> list[str]:
    return [*described_entities(request.messages[-1].text).values()]


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


def without_refreshes(model: CannedModel) -> list[str]:
    requests = [one for one in model.requests if one.prompt_name != PROMPT]
    return sorted(f"{one.prompt_name} {request_text(one)}" for one in requests)


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


def open_journal(folder: Path) -> Journal:
    return Journal(folder / "journal.sqlite", clock=lambda: datetime(2026, 1, 1, tzinfo=UTC))


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
