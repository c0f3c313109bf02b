"""The contract of summaries: written with a turn, after it, and when a turn is undone."""

from dataclasses import replace

import pytest

from tests.builders import GROUP
from tests.graph.committing import acquire, commit, commit_history
from tests.graph.reversals import reversal_of
from tests.graph.sample_changes import NOW, TTL, change, entity, history, turn_id
from turnetl.base.errors import GraphUnusable
from turnetl.base.model import SummaryWrites, Usage
from turnetl.graph.port import GraphStore

RECORD = '[{"entity":"a"}]'
LATER = '[{"entity":"a"},{"entity":"b","flushed":"zoë \\"x\\""}]'
CART, LOG = entity("cart.py", summary="before"), entity("log.py", summary="before")


async def summaries(store: GraphStore) -> dict[str, str]:
    return {entity.name: entity.summary for entity in (await store.load(GROUP)).entities}


async def test_a_turn_writes_its_record_and_the_summaries_of_other_entities(
    store: GraphStore,
) -> None:
    lease = await acquire(store)
    await commit(store, lease, change("p0", [CART, LOG], summaries=RECORD))
    written = change("p1", ordinal=1, summaries=LATER, summary_texts={LOG.uuid: "after"})
    await commit(store, lease, written)
    contents = await store.load(GROUP)
    assert {entity.uuid: entity for entity in contents.entities} == {
        CART.uuid: CART,
        LOG.uuid: replace(LOG, summary="after"),
    }
    assert [*contents.summaries.items()] == [(turn_id("p0"), RECORD), (turn_id("p1"), LATER)]
    assert [one.summaries for one in await store.commit_records(GROUP)] == [RECORD, LATER]
    assert [one.entities for one in await store.commits(GROUP, 0, 2)] == [
        tuple(sorted((CART.uuid, LOG.uuid, "a"))),
        ("a", "b"),
    ]


async def test_a_turn_that_summarises_a_missing_entity_is_rejected_completely(
    store: GraphStore,
) -> None:
    lease = await acquire(store)
    with pytest.raises(GraphUnusable, match="does not hold an entity"):
        await commit(store, lease, change("p0", [CART], summary_texts={"missing": "text"}))
    assert await store.counts(GROUP) == (0, 0, 0)


async def test_the_before_images_of_a_turn_that_records_summaries_hold_none(
    store: GraphStore,
) -> None:
    lease = await acquire(store)
    await commit(store, lease, change("p0", [CART], summaries=RECORD))
    changed = change("p1", [CART], entities_before=(CART,), summaries=RECORD)
    await commit(store, lease, changed)
    await commit(store, lease, change("p2", [CART], entities_before=(CART,)))
    records = await store.commit_records(GROUP)
    found = [[entity.summary for entity in record.entities_before] for record in records]
    assert found == [[], [""], ["before"]]


async def test_summaries_after_the_last_turn_number_its_commit_again(store: GraphStore) -> None:
    lease = await commit_history(store)
    turns = [change.episode.turn_id for change in history()]
    name, uuid = "total", history()[0].entities[1].uuid
    writes = SummaryWrites({uuid: "flushed", "gone": "x"}, {turns[0]: RECORD, turns[2]: LATER})
    await store.write_summaries(lease, writes, now=NOW, ttl=TTL)
    assert (await summaries(store))[name] == "flushed"
    recorded = (await store.load(GROUP)).summaries
    assert [*recorded.items()] == [(turns[0], RECORD), (turns[1], ""), (turns[2], LATER)]
    assert (await store.versions())[GROUP].sequence == 4
    assert [commit.sequence for commit in await store.commits(GROUP, 0, 9)] == [1, 2, 4]
    assert await commit(store, lease, change("p9", ordinal=9))
    assert [*(await store.load(GROUP)).summaries][-1] == turn_id("p9")


async def test_summaries_of_a_turn_that_is_gone_are_not_written(store: GraphStore) -> None:
    lease = await commit_history(store)
    before = await store.load(GROUP)
    writes = SummaryWrites({before.entities[0].uuid: "x"}, {turn_id("unknown"): RECORD})
    with pytest.raises(GraphUnusable, match="no longer in the graph"):
        await store.write_summaries(lease, writes, now=NOW, ttl=TTL)
    assert await store.load(GROUP) == before
    assert (await store.versions())[GROUP].sequence == 3


async def test_a_run_that_lost_its_lease_writes_no_summaries(store: GraphStore) -> None:
    lost = await commit_history(store)
    await store.release(lost)
    await acquire(store, "host:2")
    before = await store.load(GROUP)
    writes = SummaryWrites({before.entities[0].uuid: "x"}, {history()[2].episode.turn_id: RECORD})
    with pytest.raises(GraphUnusable, match="lost the lease"):
        await store.write_summaries(lost, writes, now=NOW, ttl=TTL)
    assert await store.load(GROUP) == before


async def test_an_undo_writes_summaries_and_records_of_turns_that_stay(store: GraphStore) -> None:
    lease = await commit_history(store)
    first, _, third = history()
    uuid, turn = first.entities[1].uuid, first.episode.turn_id
    reversal = reversal_of(third)
    writes = SummaryWrites({uuid: "restored", "gone": ""}, {turn: RECORD})
    assert await store.revert(lease, replace(reversal, summaries=writes), now=NOW, ttl=TTL)
    assert (await summaries(store))["total"] == "restored"
    assert [*(await store.load(GROUP)).summaries.values()] == [RECORD, ""]


@pytest.mark.parametrize("cost", [0.25, None])
async def test_summaries_after_the_last_turn_set_what_its_responses_used(
    store: GraphStore, cost: float | None
) -> None:
    lease = await commit_history(store)
    turns = [change.episode.turn_id for change in history()]
    before = {one.turn_id: one for one in await store.receipts(GROUP)}
    used = Usage(3, 1_000, 200, cost, 40, 1.5)
    writes = SummaryWrites({}, {turns[2]: RECORD}, {turns[2]: used})
    # A store that did not respond may be asked again.
    for _ in range(2):
        await store.write_summaries(lease, writes, now=NOW, ttl=TTL)
    after = {one.turn_id: one for one in await store.receipts(GROUP)}
    assert after == {**before, turns[2]: replace(before[turns[2]], usage=used)}
    others = sum((before[turn].usage for turn in turns[:2]), Usage())
    totals = await store.run_totals()
    assert sum((one.usage for one in totals.values()), Usage()) == others + used
