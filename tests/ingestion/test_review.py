"""Held invalidations: as if they had never been found, and once accepted as if never held."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from tests.builders import GROUP, START
from tests.crashes.results import canonical_graph, renumbered
from tests.graph.committing import acquire, commit_all, opened
from tests.graph.sample_changes import NOW, TTL, change, entity, fact, receipt, turn_id
from tests.ingestion.undo_runs import plan, undo
from turnetl.base.errors import GraphUnusable
from turnetl.base.graph_model import Review
from turnetl.base.model import Change, Fact, HeldInvalidation, TurnId
from turnetl.graph.port import GraphStore
from turnetl.ingestion.review import Answer, review_of
from turnetl.ingestion.undo_plan import UndoSelection

TURNS = tuple(turn_id(f"p{number}") for number in range(4))
CART, TOTAL = entity("cart.py"), entity("total", "Concept")
ROUNDS = fact(TURNS[0], CART, TOTAL, "cart.py rounds the total")
ADDS = fact(TURNS[0], CART, TOTAL, "cart.py adds the tax to the total")
SHOWS = fact(TURNS[0], CART, TOTAL, "cart.py shows the total")
NOTHING = fact(TURNS[1], CART, TOTAL, "cart.py does nothing", valid_at=START + timedelta(hours=1))
ENDS: dict[str, Any] = {"invalid_at": START + timedelta(hours=1), "expired_at": NOW}
HELD = tuple(
    HeldInvalidation(one.uuid, START + timedelta(hours=1), NOW, NOTHING.uuid)
    for one in sorted((ROUNDS, ADDS, SHOWS), key=lambda one: one.uuid)
)


def turns(*, held: bool) -> list[Change]:
    """Return four turns: the second ends three facts of the first, or holds that.

    It states one of them again, and so does the third turn another one. The fourth changes none.
    """
    end = {} if held else ENDS
    said = replace(ROUNDS, turns=TURNS[:2])
    changed = [said] if held else [replace(one, **end) for one in (said, ADDS, SHOWS)]
    before = [ROUNDS] if held else [ROUNDS, ADDS, SHOWS]
    adds = replace(ADDS, **end)
    at = [START + timedelta(hours=number) for number in range(4)]
    mentions = tuple(sorted((CART.uuid, TOTAL.uuid)))
    return [
        change("p0", [CART, TOTAL], [ROUNDS, ADDS, SHOWS]),
        change(
            "p1",
            [],
            [NOTHING, *_in_order(changed)],
            facts_before=tuple(_in_order(before)),
            mentions=mentions,
            held=HELD if held else (),
            previous_turn=TURNS[0],
            started_at=at[1],
            ordinal=1,
        ),
        change(
            "p2",
            [],
            [replace(adds, turns=(TURNS[0], TURNS[2]))],
            facts_before=(adds,),
            mentions=mentions,
            previous_turn=TURNS[1],
            started_at=at[2],
            ordinal=2,
        ),
        change(
            "p3", [], [], mentions=mentions, previous_turn=TURNS[2], started_at=at[3], ordinal=3
        ),
    ]


def _in_order(facts: Sequence[Fact]) -> list[Fact]:
    return sorted(facts, key=lambda one: one.uuid)


async def answer(
    store: GraphStore, answer: Answer, facts: Collection[str], *, times: int = 1
) -> int:
    """Answer what the second turn holds of these facts, and return how many are answered."""
    lease = await acquire(store, "host:2")
    records = await store.commit_records(GROUP)
    found = await store.facts(GROUP, facts)
    change, count = review_of(records, {TURNS[1]: facts}, found, answer)
    for _ in range(times if change is not None else 0):
        assert change is not None
        await store.write_review(lease, change, now=NOW, ttl=TTL)
    await store.release(lease)
    return count


async def fill(store: GraphStore, *, held: bool) -> None:
    lease = await acquire(store)
    for one in turns(held=held):
        counts = {"facts_held": len(one.held), "facts_invalidated": 0}
        if one.episode.turn_id == TURNS[1] and not held:
            counts["facts_invalidated"] = 3
        assert await store.commit(lease, one, receipt(one, **counts), now=NOW, ttl=TTL)
    await store.release(lease)


ALL = [one.fact for one in HELD]


async def test_a_held_invalidation_is_recorded_and_its_fact_is_valid(store: GraphStore) -> None:
    await fill(store, held=True)
    assert [one.held for one in await store.commit_records(GROUP)] == [(), HELD, (), ()]
    assert [one.facts_held for one in await store.receipts(GROUP)] == [0, 3, 0, 0]
    assert all(one.invalid_at is None for one in await store.facts(GROUP, ALL))


@pytest.mark.parametrize("times", [1, 2])
async def test_accepted_invalidations_leave_the_graph_as_if_none_had_been_held(
    graph_url: str, times: int
) -> None:
    async with opened(graph_url) as store:
        await fill(store, held=False)
        records = await store.commit_records(GROUP)
    expected = renumbered({"graph": await canonical_graph(graph_url)})
    async with opened(graph_url) as store:
        await undo(store, await plan(store, GROUP, UndoSelection(groups=(GROUP,))))
        await fill(store, held=True)
        for uuid in ALL:
            assert await answer(store, Answer.ACCEPT, [uuid], times=times) == 1
        assert await answer(store, Answer.ACCEPT, ALL) == 0
        found = await store.commit_records(GROUP)
        commits = await store.commits(GROUP, 0, 9)
        version = (await store.versions())[GROUP]
    assert renumbered({"graph": await canonical_graph(graph_url)}) == expected
    assert [replace(one, sequence=0) for one in found] == [
        replace(one, sequence=0) for one in records
    ]
    assert tuple(one.receipt.turn_id for one in commits) == TURNS
    assert commits[-1].sequence == version.sequence


async def test_an_index_reads_an_accepted_fact_and_all_later_turns_again(store: GraphStore) -> None:
    await fill(store, held=True)
    last = (await store.versions())[GROUP].sequence
    await answer(store, Answer.ACCEPT, ALL)
    again = await store.commits(GROUP, last, 9)
    assert tuple(one.receipt.turn_id for one in again) == TURNS[1:]
    assert {*ALL} <= {*again[0].facts}


async def test_a_rejected_invalidation_is_held_no_more_and_its_fact_stays_valid(
    store: GraphStore,
) -> None:
    await fill(store, held=True)
    before = await store.load(GROUP)
    assert await answer(store, Answer.REJECT, ALL[:1], times=2) == 1
    after = await store.load(GROUP)
    assert (after.facts, after.entities) == (before.facts, before.entities)
    assert [one.held for one in await store.commit_records(GROUP)] == [(), HELD[1:], (), ()]
    assert (await store.receipts(GROUP))[1].facts_held == 2


async def test_undoing_the_turn_restores_what_was_accepted_and_drops_what_is_held(
    store: GraphStore,
) -> None:
    lease = await commit_all(store, turns(held=True)[:1])
    before = await store.load(GROUP)
    await store.release(lease)
    lease = await commit_all(store, turns(held=True)[1:])
    await store.release(lease)
    await answer(store, Answer.ACCEPT, ALL[:2])
    selection = UndoSelection(turn=TURNS[1])
    assert (await plan(store, GROUP, selection)).is_refused is (ADDS.uuid in ALL[:2])
    await undo(store, await plan(store, GROUP, UndoSelection(turn=TURNS[3])))
    await undo(store, await plan(store, GROUP, selection, cascade=True))
    left = await store.load(GROUP)
    by_uuid = {one.uuid: one for one in before.facts}
    assert all(one.invalid_at is None for one in left.facts)
    assert {one.uuid for one in left.facts} == by_uuid.keys()
    assert not any(one.held for one in await store.commit_records(GROUP))


async def test_what_ended_meanwhile_is_dropped_by_any_answer(store: GraphStore) -> None:
    await fill(store, held=True)
    ended = replace(SHOWS, invalid_at=NOW, expired_at=NOW)
    late = change("p9", [], [ended], facts_before=(SHOWS,), previous_turn=TURNS[3], ordinal=4)
    await store.release(await commit_all(store, [late]))
    assert await answer(store, Answer.ACCEPT, ALL) == 2
    [found] = await store.facts(GROUP, [SHOWS.uuid])
    assert found.invalid_at == NOW
    assert (await store.receipts(GROUP))[1].facts_held == 0


@pytest.mark.parametrize("wrong", ["lease", "turn", "fact"])
async def test_a_review_of_what_is_gone_writes_nothing(store: GraphStore, wrong: str) -> None:
    await fill(store, held=True)
    change, _ = review_of(
        await store.commit_records(GROUP),
        {TURNS[1]: ALL},
        await store.facts(GROUP, ALL),
        Answer.ACCEPT,
    )
    assert change is not None
    lease = await acquire(store, "host:2")
    if wrong == "lease":
        await store.release(lease)
        await acquire(store, "host:3")
    if wrong == "turn":
        first, *others = change.records
        unknown = replace(first, receipt=replace(first.receipt, turn_id=TurnId("unknown")))
        change = Review((*others, unknown), change.facts)
    if wrong == "fact":
        change = replace(change, facts=(*change.facts, replace(SHOWS, uuid="unknown")))
    before = await store.load(GROUP), await store.commit_records(GROUP)
    with pytest.raises(GraphUnusable):
        await store.write_review(lease, change, now=NOW, ttl=TTL)
    assert (await store.load(GROUP), await store.commit_records(GROUP)) == before
