"""Runs in a graph, on both stores: what is written is read back, and receipts are summed by run."""

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.builders import GROUP
from tests.graph.committing import acquire
from tests.graph.reversals import reversal_of
from tests.graph.sample_changes import NOW, PROFILE, TTL, history, receipt
from turnetl.base.graph_model import RunOutcome, RunTotals, TurnRun
from turnetl.base.model import Usage
from turnetl.graph.port import GraphStore

DAY = timedelta(days=1)
RUN = TurnRun(
    run_id="run-1",
    owner="here:1:run-1",
    user="kim",
    host="here",
    command=("turnetl", "backfill", "a.jsonl"),
    archives=("a.jsonl",),
    groups=(GROUP,),
    extractor="llm",
    model="openai/gpt-4.1-mini",
    recipes=("recipe-1",),
    started_at=NOW,
)
ENDED = replace(
    RUN,
    ended_at=NOW + timedelta(minutes=5),
    outcome=RunOutcome.STOPPED,
    error="the budget is used up",
    committed=3,
    quarantined=1,
    discarded=2,
    entities_new=7,
    facts_new=9,
    facts_invalidated=1,
    summary_reasons=("2 first", "5 unchanged"),
    usage=Usage(3, 500, 70, 0.25, cached_tokens=2, seconds=1.5),
)


async def test_a_run_is_read_back_as_it_was_written_and_replaced_by_its_end(
    store: GraphStore,
) -> None:
    assert await store.runs() == []
    await store.save_run(RUN)
    assert await store.runs() == [RUN]
    await store.save_run(ENDED)
    assert await store.runs() == [ENDED]


async def test_an_unknown_cost_and_empty_lists_are_kept(store: GraphStore) -> None:
    unpriced = replace(
        ENDED, model=None, command=(), archives=(), recipes=(), usage=Usage(1, cost=None)
    )
    await store.save_run(unpriced)
    assert await store.runs() == [unpriced]


async def test_runs_are_sorted_newest_first(store: GraphStore) -> None:
    runs = [
        replace(RUN, run_id=f"run-{number}", started_at=NOW + timedelta(minutes=minute))
        for number, minute in ((1, 5), (2, 9), (3, 5))
    ]
    for run in runs:
        await store.save_run(run)
    assert [run.run_id for run in await store.runs()] == ["run-2", "run-3", "run-1"]


async def test_the_reversal_that_takes_the_last_turn_of_a_run_marks_it_as_undone(
    store: GraphStore,
) -> None:
    await store.save_run(ENDED)
    lease = await acquire(store)
    changes = history()
    for change in changes:
        of_run = replace(receipt(change), run_id="run-1")
        assert await store.commit(lease, change, of_run, now=NOW, ttl=TTL)
    for change, ends_run, is_undone in (
        (changes[2], True, False),  # of a plan that takes no more turns of the run
        (changes[1], False, False),
        (changes[0], True, True),
    ):
        reversal = reversal_of(change)
        of_run = replace(reversal.receipt, run_id="run-1")
        reversal = replace(reversal, receipt=of_run, ends_run=ends_run)
        assert await store.revert(lease, reversal, now=NOW + DAY, ttl=TTL)
        expected = replace(ENDED, undone_at=NOW + DAY) if is_undone else ENDED
        assert await store.runs() == [expected]


@pytest.mark.parametrize("cost", [0.25, None])
async def test_the_totals_of_a_run_are_the_sums_of_its_receipts(
    store: GraphStore, cost: float | None
) -> None:
    assert await store.run_totals() == {}
    lease = await store.acquire(
        GROUP, PROFILE, owner="here:1", now=NOW, ttl=TTL, is_dead=lambda _: False
    )
    first, second, third = history()[:3]
    of_runs = {
        "run-1": ((first, Usage(2, 100, 10, 0.5, 1, 0.5)), (second, Usage(1, 50, 5, cost, 0, 1))),
        "run-2": ((third, Usage()),),
    }
    for run_id, turns in of_runs.items():
        for change, usage in turns:
            counted = replace(
                receipt(change),
                run_id=run_id,
                usage=usage,
                entities_new=2,
                facts_new=3,
                facts_invalidated=1,
            )
            assert await store.commit(lease, change, counted, now=NOW, ttl=TTL)
    total = None if cost is None else 0.75
    totals = (await store.run_totals())["run-1"]
    assert {type(totals.committed), type(totals.facts_new), type(totals.usage.calls)} == {int}
    assert await store.run_totals() == {
        "run-1": RunTotals(2, 4, 6, 2, Usage(3, 150, 15, total, 1, 1.5)),
        "run-2": RunTotals(1, 2, 3, 1, Usage()),
    }
