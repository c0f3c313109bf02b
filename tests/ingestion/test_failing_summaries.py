"""Summaries for which a model returns no text, or which the budget does not cover."""

import re
from contextlib import closing
from pathlib import Path

import pytest

from tests.builders import GROUP
from tests.extraction.canned_model import CannedModel
from tests.extraction.fixed_prompt import fixed_prompt
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
)
from tests.ingestion.undo_runs import LEASE, NOW, plan, undo
from tests.servers.summary_responses import summary_of
from tests.servers.toy_embedder import ToyEmbedder
from turnetl.base.errors import RunStopped
from turnetl.base.model import Usage
from turnetl.extraction.llm import LlmExtractor
from turnetl.graph.port import GraphStore
from turnetl.ingestion.ingest_run import IngestRun
from turnetl.ingestion.quarantine import Quarantine
from turnetl.ingestion.turn_pipeline import TurnPipeline
from turnetl.ingestion.undo_plan import UndoSelection
from turnetl.lake import LocalFiles
from turnetl.llm.journal import JournaledModel
from turnetl.summaries.model_summariser import PER_REQUEST, PROMPT
from turnetl.summaries.reasons import OF_RUN_ENDS, GateReason, reason_counts


def without_text_for(name: str) -> CannedModel:
    """Return a model that answers about all entities but one."""
    return answering(lambda _, shown: "" if shown.startswith(name) else summary_of(shown))


def asked_about(model: CannedModel, name: str) -> list[str]:
    """Return what the requests for summaries say about an entity."""
    shown = [text for request in model.prompts(PROMPT) for text in described(request)]
    return [text for text in shown if text.startswith(f"{name} ")]


@pytest.mark.full
async def test_a_model_that_never_returns_a_text_is_asked_rarely_in_one_run_and_in_ten(
    store: GraphStore, tmp_path: Path
) -> None:
    # An hour apart: there is no burst that would defer them.
    episodes = [turn_about(12 * number, turn.text) for number, turn in enumerate(turns(20))]
    one = without_text_for("cart.py")
    await ingest(store, tmp_path, episodes, one)
    expected = await store.load(GROUP)
    # The attempts of turns 1, 2, 4, 8 and 16.
    assert len(asked_about(one, "cart.py")) == 5
    counts = reason_counts(text for each in expected.receipts for text in each.summary_reasons)
    assert counts[GateReason.BACKOFF] == 15
    await undo(store, await plan(store, GROUP, UndoSelection(run="run-a")))
    many = without_text_for("cart.py")
    for number in range(10):
        await ingest(store, tmp_path, episodes[2 * number : 2 * number + 2], many, f"r{number}")
    contents = await store.load(GROUP)
    assert decisions(contents) == decisions(expected)
    # The ends of runs ask too, as long as they may.
    assert len(asked_about(many, "cart.py")) < 12


async def test_an_invalidated_fact_is_no_reason_to_wait_for_more_turns_but_the_next_one_is(
    store: GraphStore, tmp_path: Path
) -> None:
    verbs = ("uses", "reads", "no longer uses", "no longer reads")
    episodes = [
        turn_about(12 * number, f"`cart.py` {verb} `sqlite`.") for number, verb in enumerate(verbs)
    ]
    silent = without_text_for("cart.py")
    asked, waited = [], []
    for number, episode in enumerate(episodes):
        done = await ingest(store, tmp_path, [episode], silent, f"r{number}", flushes=False)
        asked.append(len(asked_about(silent, "cart.py")))
        waited.append(done.summaries.get(GateReason.BACKOFF, 0))
    assert (asked, waited) == ([1, 2, 3, 3], [0, 0, 0, 1])
    assert "Facts that no longer hold:" in asked_about(silent, "cart.py")[-1]


async def test_the_next_attempt_is_shown_what_ended_before_it(
    store: GraphStore, tmp_path: Path
) -> None:
    await ingest(store, tmp_path, [turn_about(0, "`cart.py` uses `sqlite`.")], CannedModel())
    [before] = [one for one in (await store.load(GROUP)).entities if one.name == "cart.py"]
    failing = without_text_for("cart.py")
    ending = [turn_about(20, "`cart.py` no longer uses `sqlite`.")]
    done = await ingest(store, tmp_path, ending, failing, "run-b")
    assert done.summaries[GateReason.NO_TEXT] == 1
    ended = "Facts that no longer hold:"
    assert ended in asked_about(failing, "cart.py")[0]
    healthy = CannedModel()
    later = [turn_about(40, "`cart.py` reads `toml`.")]
    await ingest(store, tmp_path, later, healthy, "run-c")
    [shown] = asked_about(healthy, "cart.py")
    assert re.search(f"Summary so far: {re.escape(before.summary)}", shown)
    assert re.search(rf"{ended}\n- [^\n]*uses[^\n]*sqlite", shown)
    # With a text they are forgotten.
    last = CannedModel()
    await ingest(store, tmp_path, [turn_about(60, "`cart.py` writes `rows`.")], last, "run-d")
    assert ended not in asked_about(last, "cart.py")[0]


async def test_an_ended_burst_without_a_text_is_asked_for_again_at_the_end_of_the_run(
    store: GraphStore, tmp_path: Path
) -> None:
    other = "`other.py` uses `redis`."
    episodes = [*turns(3), turn_about(40, other), turn_about(60, other)]
    asked = 0

    def fails_once(_: int, shown: str) -> str:
        nonlocal asked
        asked += shown.startswith("cart.py") and " uses store2" in shown
        return "" if asked == 1 and shown.startswith("cart.py") else summary_of(shown)

    model = answering(fails_once)
    with closing(open_journal(tmp_path)) as journal:
        done = await ingest(store, tmp_path, episodes, JournaledModel(model, journal))
    assert done.summaries[GateReason.NO_TEXT] == 1
    first, second = asked_about(model, "cart.py")[-2:]
    # Another request: the journal has a response to the first.
    assert second == first.replace(")\n", ")\nAttempt 2\n", 1)
    contents = await store.load(GROUP)
    assert summaries(contents)["cart.py"] == summary_of(second)


def usage_of(model: CannedModel) -> tuple[int, int]:
    """Return the calls and the tokens of the prompts that the model was sent."""
    return len(model.requests), 100 * len(model.requests)


async def recorded_usage(store: GraphStore) -> tuple[int, int]:
    used = sum((one.usage for one in await store.receipts(GROUP)), Usage())
    return used.calls, used.prompt_tokens


async def test_a_flush_after_the_last_commit_is_part_of_the_usage_in_the_graph(
    store: GraphStore, tmp_path: Path
) -> None:
    model = CannedModel()
    broken = [*turns(3), turn_about(3, "`cart.py` fails.")]
    with closing(open_journal(tmp_path)):
        await ingest(store, tmp_path, broken[:3], model, flushes=False)
    before = await recorded_usage(store)
    assert before == usage_of(model)
    # Another run committed the last turn meanwhile: the flush has a transaction of its own.
    done = await ingest(store, tmp_path, broken[:3], model, "run-b")
    assert done.summaries[GateReason.FLUSHED] > 0
    assert await recorded_usage(store) == usage_of(model) > before
    totals = await store.run_totals()
    assert totals["run-a"].usage.calls == len(model.requests)


@pytest.mark.full
@pytest.mark.parametrize("allowed", [0, 1, 2])
async def test_what_a_budget_leaves_of_a_flush_is_written_and_the_next_run_pays_for_the_rest_only(
    store: GraphStore, tmp_path: Path, allowed: int
) -> None:
    episodes = [
        turn_about(number, " ".join(f"`cart.py` {verb} `part{n}`." for n in range(2 * PER_REQUEST)))
        for number, verb in enumerate(("uses", "reads"))
    ]
    undisturbed = CannedModel()
    await ingest(store, tmp_path / "a", episodes, undisturbed)
    expected = await store.load(GROUP)
    await undo(store, await plan(store, GROUP, UndoSelection(run="run-a")))
    before_flush = CannedModel()
    await ingest(store, tmp_path / "b", episodes, before_flush, flushes=False)
    await undo(store, await plan(store, GROUP, UndoSelection(run="run-a")))
    decided = len(before_flush.prompts(PROMPT))
    base = Unbudgeted(decided + allowed)
    with closing(open_journal(tmp_path)) as journal:
        model = JournaledModel(base, journal)
        with pytest.raises(RunStopped):
            await ingest(store, tmp_path / "c", episodes, model)
        stopped = await store.load(GROUP)
        assert decisions(stopped) == decisions(expected)
        refused = len(base.prompts(PROMPT)) - decided - allowed
        paid = len(base.requests) - refused
        assert (await recorded_usage(store))[0] == paid
        base.allow()
        done = await ingest(store, tmp_path / "c", episodes, model, "run-b")
    assert done.already_committed == 2
    contents = await store.load(GROUP)
    assert all(one.summary for one in contents.entities if one.uuid in connected(contents))
    assert (await recorded_usage(store))[0] == len(base.requests) - refused


async def test_a_flush_without_a_text_is_counted_in_the_run_and_with_no_turn(
    store: GraphStore, tmp_path: Path
) -> None:
    # The second turn begins a burst: its summaries are left to the end of the run.
    await ingest(store, tmp_path, turns(1), CannedModel())
    silent = answering(lambda *_: " ")
    done = await ingest(store, tmp_path, turns(1, first=1), silent, "run-b")
    asked = {text.splitlines()[0] for one in silent.prompts(PROMPT) for text in described(one)}
    assert "cart.py (File)" in asked
    flushes = done.summaries[GateReason.FLUSH_NO_TEXT]
    assert flushes > 0
    assert flushes + done.summaries.get(GateReason.NO_TEXT, 0) == len(asked)
    assert GateReason.FLUSHED not in done.summaries
    recorded = reason_counts(
        text for one in await store.receipts(GROUP) for text in one.summary_reasons
    )
    assert not OF_RUN_ENDS & recorded.keys()


@pytest.mark.full
async def test_a_flush_that_is_stopped_is_counted_by_its_reason(
    store: GraphStore, tmp_path: Path
) -> None:
    undisturbed = CannedModel()
    done = await ingest(store, tmp_path / "a", turns(3), undisturbed, flushes=False)
    decided = len(undisturbed.prompts(PROMPT))
    await undo(store, await plan(store, GROUP, UndoSelection(run="run-a")))
    extractor = LlmExtractor(CannedModel(), ToyEmbedder(), prompts=fixed_prompt(None))
    run = IngestRun("run-b", "here:1:run-b", lambda: NOW, LEASE, prefetch=2)
    pipeline = TurnPipeline(
        store,
        extractor,
        ToyEmbedder(),
        Quarantine(LocalFiles(tmp_path / "b"), GROUP),
        run,
        summaries=rules(Unbudgeted(decided)),
    )
    episodes = turns(3)
    with pytest.raises(RunStopped):
        await pipeline.ingest(
            GROUP, episodes, {one.turn_id: () for one in episodes}, lambda _: None
        )
    assert pipeline.done.committed == done.committed == 3
    counts = dict(pipeline.done.summaries)
    assert counts.pop(GateReason.FLUSH_STOPPED) > 0
    assert counts == done.summaries
