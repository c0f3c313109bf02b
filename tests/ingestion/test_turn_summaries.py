"""Summaries that the turns of a group write, on both stores, without a model."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from tests import builders
from tests.builders import GROUP, START, tool
from tests.graph.statements import run_statement
from tests.ingestion.undo_runs import ingest_run, plan, undo
from turnetl.base.graph_model import GroupContents
from turnetl.base.model import Episode
from turnetl.extraction.structural import StructuralExtractor
from turnetl.graph.open import open_graph
from turnetl.graph.port import GraphStore
from turnetl.ingestion.forget import holds
from turnetl.ingestion.turn_summaries import SummaryRules
from turnetl.ingestion.undo_plan import UndoSelection
from turnetl.summaries.gate import GateLimits
from turnetl.summaries.reasons import SKIPPED, GateReason
from turnetl.summaries.records import EntityRecord, decode, replay
from turnetl.summaries.rule_summary import RuleSummariser

LIMITS = GateLimits(min_similarity=0.95, burst_turns=2, burst_cap=4)
RULES = SummaryRules(RuleSummariser(), LIMITS)


def turns(count: int, *, first: int = 0) -> list[Episode]:
    """Return turns five minutes apart, which edit one file and state something new each."""
    return [
        builders.episode(
            f"p{number}",
            ordinal=number,
            started_at=START + timedelta(minutes=5 * number),
            user_text=f"Show the total of shelf {number} in the cart.",
            tool_calls=(tool("Edit", f"/home/dev/shop/src/cart.py :: + total {number}", "ok"),),
        )
        for number in range(first, first + count)
    ]


async def ingest(
    store: GraphStore,
    lake: Path,
    episodes: Sequence[Episode],
    run: str = "run-a",
    rules: SummaryRules = RULES,
) -> GroupContents:
    await ingest_run(store, episodes, lake, StructuralExtractor(), run, summaries=rules)
    return await store.load(GROUP)


def decisions(contents: GroupContents) -> list[list[EntityRecord]]:
    """Return what each turn recorded, without what ends of runs wrote."""
    records = map(decode, contents.summaries.values())
    return [[one for one in of_turn if one.flushed is None] for of_turn in records]


async def test_every_entity_with_a_fact_has_the_summary_that_is_recorded(
    store: GraphStore, tmp_path: Path
) -> None:
    contents = await ingest(store, tmp_path, turns(6))
    recorded = replay(contents.summaries.values())
    connected = {uuid for fact in contents.facts for uuid in (fact.source, fact.target)}
    assert connected
    for entity in contents.entities:
        if entity.uuid in connected:
            assert entity.summary == recorded[entity.uuid].shown != ""
    [cart] = [entity for entity in contents.entities if entity.name.endswith("cart.py")]
    assert cart.summary.startswith("Change, ")
    # Six turns about the file, and far fewer summaries of it.
    written = [one for of_turn in decisions(contents) for one in of_turn if one.entity == cart.uuid]
    assert sum(one.refresh is not None for one in written) < len(written) == 6


async def test_a_run_counts_each_decision_by_its_reason(store: GraphStore, tmp_path: Path) -> None:
    structural = StructuralExtractor()
    done = await ingest_run(store, turns(5), tmp_path, structural, "run-a", summaries=RULES)
    contents = await store.load(GROUP)
    decided = sum(len(of_turn) for of_turn in decisions(contents))
    written = [one for text in contents.summaries.values() for one in decode(text)]
    flushed = sum(one.flushed is not None for one in written)
    refreshed = sum(one.refresh is not None for one in written)
    counted = dict(done.summaries)
    assert counted.pop(GateReason.FLUSHED) == flushed > 0
    assert sum(counted.values()) == decided
    assert sum(count for reason, count in counted.items() if reason not in SKIPPED) == refreshed


@pytest.mark.full
async def test_runs_of_a_turn_each_decide_as_one_run_does(
    store: GraphStore, tmp_path: Path
) -> None:
    one = await ingest(store, tmp_path, turns(10))
    await undo(store, await plan(store, GROUP, UndoSelection(run="run-a")))
    for number, turn in enumerate(turns(10)):
        many = await ingest(store, tmp_path, [turn], f"run-{number}")
    assert decisions(many) == decisions(one)
    assert [turn.summary_reasons for turn in many.receipts] == [
        turn.summary_reasons for turn in one.receipts
    ]
    assert many.entities == one.entities


@pytest.mark.full
async def test_a_run_without_a_flush_decides_alike_and_the_next_run_flushes(
    store: GraphStore, tmp_path: Path
) -> None:
    one = await ingest(store, tmp_path, turns(5))
    await undo(store, await plan(store, GROUP, UndoSelection(run="run-a")))
    unflushed = replace(RULES, flushes=False)
    deferred = await ingest(store, tmp_path, turns(4), "run-b", unflushed)
    assert any(summary.state.deferred for summary in replay(deferred.summaries.values()).values())
    assert not any(one.flushed for text in deferred.summaries.values() for one in decode(text))
    flushed = await ingest(store, tmp_path, turns(1, first=4), "run-c")
    assert flushed.entities == one.entities
    assert [*flushed.summaries.values()] == [*one.summaries.values()]


async def test_summaries_are_flushed_after_a_last_turn_that_is_committed_already(
    store: GraphStore, tmp_path: Path
) -> None:
    before = await ingest(store, tmp_path, turns(4), rules=replace(RULES, flushes=False))
    again = await ingest(store, tmp_path, turns(4), "run-b")
    assert again.entities != before.entities
    assert [*again.summaries.values()][:-1] == [*before.summaries.values()][:-1]
    recorded = replay(again.summaries.values())
    assert all(one.summary == recorded[one.uuid].shown for one in again.entities if one.summary)
    assert (await ingest(store, tmp_path, turns(4), "run-c")) == again
    assert (await store.versions())[GROUP].sequence == 5


@pytest.mark.full
async def test_an_edited_summary_is_kept_by_later_turns_and_by_an_undo(
    graph_url: str, tmp_path: Path
) -> None:
    store = await open_graph(graph_url, user="", password="", write=True)
    await store.prepare()
    await ingest(store, tmp_path, turns(2))
    await store.close()
    edit = "MATCH (n:Entity) WHERE n.name ENDS WITH 'cart.py' SET n.summary = 'by hand'"
    await run_statement(graph_url, edit)
    store = await open_graph(graph_url, user="", password="", write=True)
    later = await ingest(store, tmp_path, turns(3, first=2), "run-b")
    await undo(store, await plan(store, GROUP, UndoSelection(run="run-b")))
    undone = await store.load(GROUP)
    await store.close()
    for contents in (later, undone):
        summaries = {entity.name: entity.summary for entity in contents.entities}
        assert [text for name, text in summaries.items() if name.endswith("cart.py")] == ["by hand"]


@pytest.mark.full
@pytest.mark.parametrize("place", range(1, 5))
async def test_no_summary_and_no_record_quotes_a_turn_that_was_undone(
    store: GraphStore, tmp_path: Path, place: int
) -> None:
    canary = "zanzibar canary"
    episodes = turns(6)
    turn = replace(episodes[place].turn, user_text=f"We decided to use the {canary} library.")
    episodes[place] = replace(episodes[place], turn=turn)
    contents = await ingest(store, tmp_path, episodes)
    quoting = [one for one in contents.summaries.values() if canary in one]
    assert quoting
    await undo(store, await plan(store, GROUP, UndoSelection(turn=turn.turn_id), cascade=True))
    left = await store.load(GROUP)
    assert left.receipts
    assert not holds((left, await store.commit_records(GROUP)), [canary])
    # What was taken back is due: the next run writes it.
    after = await ingest(store, tmp_path, turns(1, first=20), "run-b")
    recorded = replay(after.summaries.values())
    connected = {uuid for fact in after.facts for uuid in (fact.source, fact.target)}
    assert all(
        entity.summary == recorded[entity.uuid].shown != ""
        for entity in after.entities
        if entity.uuid in connected
    )
