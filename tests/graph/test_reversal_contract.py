"""The contract of undoing turns: the same for the embedded graph and for a server."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from typing import TypeVar

import pytest

from tests.builders import GROUP, START
from tests.graph.committing import acquire, commit, commit_history, fill, opened
from tests.graph.graph_dump import dump_graph
from tests.graph.reversals import reversal_of, revert
from tests.graph.sample_changes import (
    NOW,
    TTL,
    change,
    entity,
    fact,
    history,
    long_history,
    receipt,
    turn_id,
)
from tests.graph.statements import run_statement
from turnetl.base.errors import GraphBusy, GraphUnusable
from turnetl.base.graph_model import Reverted
from turnetl.base.model import Change, Entity, Fact, GroupId, SessionId
from turnetl.graph.port import GraphStore

V = TypeVar("V", Entity, Fact)


async def dump_after(url: str, changes: Sequence[Change]) -> list[str]:
    """Commit the changes, and return the content of the graph."""
    await fill(url, changes)
    return await dump_graph(url)


async def dump_after_reverts(url: str, changes: Sequence[Change]) -> list[str]:
    """Undo the changes, and return the content of the graph."""
    async with opened(url) as store:
        lease = await acquire(store)
        for each in changes:
            assert await revert(store, lease, each) == Reverted(())
        await store.release(lease)
    return await dump_graph(url)


@pytest.mark.parametrize("turns", [history(), long_history()], ids=["short", "in chunks"])
async def test_undoing_the_latest_turns_restores_the_graph_before_each_of_them(
    graph_url: str, turns: list[Change]
) -> None:
    states = [await dump_after(graph_url, turns[:1])]
    states += [await dump_after(graph_url, [each]) for each in turns[1:]]
    assert all(earlier != later for earlier, later in pairwise(states))
    for each, before in zip(reversed(turns[1:]), reversed(states[:-1]), strict=True):
        assert await dump_after_reverts(graph_url, [each]) == before
    assert await dump_after_reverts(graph_url, turns[:1]) == []


async def test_undoing_a_late_turn_connects_its_neighbours_again(graph_url: str) -> None:
    turns = [turn_id(f"p{number}") for number in range(3)]
    late = change(
        "p1",
        [entity("late.py")],
        previous_turn=turns[0],
        next_turn=turns[2],
        started_at=START + timedelta(hours=1),
    )
    first = change("p0", [entity("a.py")], next_turn=None)
    last = change(
        "p2", [entity("b.py")], previous_turn=turns[0], started_at=START + timedelta(hours=2)
    )
    earliest = change("p9", next_turn=turns[0], started_at=START - timedelta(hours=1))
    before = await dump_after(graph_url, [first, last])
    await dump_after(graph_url, [late, earliest])
    assert await dump_after_reverts(graph_url, [earliest, late]) == before


async def test_undoing_a_turn_leaves_other_sessions_and_groups(graph_url: str) -> None:
    other_group, session = GroupId("shop_b"), SessionId("s2")
    other = change("q0", [entity("q.py", group=other_group)], group_id=other_group)
    async with opened(graph_url) as store:
        await commit(store, await acquire(store, group=other_group), other)
    kept = change("r0", [entity("r.py")], session_id=session)
    before = await dump_after(graph_url, [kept])
    await dump_after(graph_url, history())
    assert await dump_after_reverts(graph_url, [*reversed(history())]) == before


async def test_undoing_a_turn_twice_changes_nothing(store: GraphStore) -> None:
    lease = await commit_history(store)
    last = history()[-1]
    assert await revert(store, lease, last) == Reverted(())
    before = await store.load(GROUP)
    assert await revert(store, lease, last) is None
    assert await store.load(GROUP) == before


async def test_an_undone_turn_can_be_committed_again_with_the_next_number(
    store: GraphStore,
) -> None:
    lease = await commit_history(store)
    before = await store.load(GROUP)
    await revert(store, lease, history()[-1])
    version = (await store.versions())[GROUP]
    assert (version.sequence, version.turns) == (3, 2)
    assert await commit(store, lease, history()[-1])
    assert await store.load(GROUP) == before
    assert [record.sequence for record in await store.commit_records(GROUP)] == [1, 2, 4]


async def test_a_writer_that_lost_the_group_undoes_nothing(store: GraphStore) -> None:
    old = await commit_history(store)
    before = await store.load(GROUP)
    await acquire(store, "host:2", now=NOW + TTL)
    with pytest.raises(GraphUnusable, match=r"`host:2` took it over"):
        await revert(store, old, history()[-1])
    assert await store.load(GROUP) == before


async def test_undoing_a_turn_extends_the_lease(store: GraphStore) -> None:
    lease = await commit_history(store)
    later = NOW + timedelta(minutes=1)
    await store.revert(lease, reversal_of(history()[-1]), now=later, ttl=TTL)
    with pytest.raises(GraphBusy, match=r"until 2026-04-01 12:03"):
        await acquire(store, "host:2", now=NOW + TTL)


async def test_a_reversal_whose_fact_is_gone_changes_nothing(store: GraphStore) -> None:
    lease = await commit_history(store)
    before = await store.load(GROUP)
    cart, total = history()[0].entities
    missing = fact(turn_id("p0"), cart, total, "nobody wrote this")
    broken = replace(reversal_of(history()[-1]), facts_restored=(missing,))
    with pytest.raises(GraphUnusable, match="does not hold an entity, fact or episode"):
        await store.revert(lease, broken, now=NOW, ttl=TTL)
    assert await store.load(GROUP) == before


FOREIGN_EPISODE = """
CREATE (e:Episodic {uuid: 'foreign', group_id: 'shop', name: 'by another program'})
"""
FOREIGN_MENTION = """
MATCH (e:Episodic {uuid: 'foreign'}), (n:Entity {name: 'cart.py'})
CREATE (e)-[:MENTIONS {uuid: 'foreign-mention', group_id: 'shop'}]->(n)
"""


async def test_an_entity_that_another_program_uses_is_kept_and_reported(graph_url: str) -> None:
    first = history()[0]
    await dump_after(graph_url, [first])
    await run_statement(graph_url, FOREIGN_EPISODE)
    await run_statement(graph_url, FOREIGN_MENTION)
    async with opened(graph_url) as store:
        reverted = await revert(store, await acquire(store), first)
        contents = await store.load(GROUP)
    assert [entity.name for entity in contents.entities] == ["cart.py"]
    assert reverted == Reverted((contents.entities[0].uuid,))
    assert any("foreign-mention" in line for line in await dump_graph(graph_url))


async def test_the_records_of_a_group_say_what_each_turn_found_and_created(
    store: GraphStore,
) -> None:
    assert await store.commit_records(GROUP) == []
    await commit_history(store)
    records = await store.commit_records(GROUP)
    assert [record.receipt for record in records] == [receipt(each) for each in history()]
    assert [record.sequence for record in records] == [1, 2, 3]
    for record, each in zip(records, history(), strict=True):
        reversal = reversal_of(each)
        assert set(record.entities_new) == set(reversal.entities_removed)
        assert set(record.facts_new) == set(reversal.facts_removed)
        assert record.entities_before == without_vectors(each.entities_before)
        assert record.facts_before == without_vectors(each.facts_before)
        assert record.mentions == each.mentions
        new = [fact for fact in each.facts if fact.uuid in reversal.facts_removed]
        ends = {end for fact in new for end in (fact.source, fact.target)}
        assert record.endpoints == tuple(sorted(ends))


def without_vectors(values: tuple[V, ...]) -> tuple[V, ...]:
    return tuple(replace(value, embedding=None) for value in values)


async def test_the_records_of_some_turns_are_returned_alone(store: GraphStore) -> None:
    await commit_history(store)
    every = await store.commit_records(GROUP)
    second = every[1].receipt.turn_id
    assert await store.commit_records(GROUP, [second, turn_id("unknown")]) == [every[1]]
    assert await store.commit_records(GroupId("other"), [second]) == []
