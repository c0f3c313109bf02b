"""A derived index can follow a graph: by its versions, its commits, and what each one changed."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest

from tests.builders import GROUP, START, tool
from tests.graph.sample_changes import (
    NOW,
    PROFILE,
    TTL,
    change,
    entity,
    fact,
    history,
    late_turn,
    long_history,
    receipt,
    turn_id,
)
from tests.graph.statements import DELETE_ALL, run_statement
from turnetl.base.errors import GraphUnusable
from turnetl.base.graph_model import CommittedTurn, Lease
from turnetl.base.model import Change, GroupId, SessionId
from turnetl.graph.open import open_graph
from turnetl.graph.port import GraphStore

OTHER = GroupId("shop_b")
ALL = 1000


async def acquire(store: GraphStore, owner: str = "host:1", group: GroupId = GROUP) -> Lease:
    return await store.acquire(
        group, PROFILE, owner=owner, now=NOW, ttl=TTL, is_dead=lambda owner: owner == "host:1"
    )


async def commit(store: GraphStore, lease: Lease, *changes: Change) -> None:
    for one in changes:
        assert await store.commit(lease, one, receipt(one), now=NOW, ttl=TTL)


def numbered(changes: Sequence[Change]) -> list[tuple[str, int]]:
    return [(one.episode.turn_id, number) for number, one in enumerate(changes, start=1)]


async def numbers(store: GraphStore) -> list[tuple[str, int]]:
    commits = await store.commits(GROUP, 0, ALL)
    return [(turn.receipt.turn_id, turn.sequence) for turn in commits]


async def versions(store: GraphStore) -> dict[GroupId, tuple[int, int]]:
    """Return the number of the latest commit and of the turns of each group."""
    return {group: (one.sequence, one.turns) for group, one in (await store.versions()).items()}


async def creation_id(store: GraphStore, group: GroupId = GROUP) -> str:
    return (await store.versions())[group].creation_id


async def test_an_empty_graph_has_no_versions(store: GraphStore) -> None:
    assert await versions(store) == {}
    assert list(await store.commits(GROUP, 0, ALL)) == []
    assert await store.turn_ids(GROUP) == frozenset()
    assert list(await store.entities(GROUP, ["none"])) == []
    assert list(await store.facts(GROUP, ["none"])) == []
    assert await store.profile(GROUP) is None


async def test_a_group_without_turns_has_a_version_and_a_profile(store: GraphStore) -> None:
    await acquire(store)
    assert await versions(store) == {GROUP: (0, 0)}
    assert await store.profile(GROUP) == PROFILE


async def test_every_commit_has_the_next_number_of_its_group(store: GraphStore) -> None:
    await commit(store, await acquire(store), *history(), late_turn())
    other = [change("q0", group_id=OTHER), change("q1", group_id=OTHER, ordinal=1)]
    await commit(store, await acquire(store, group=OTHER), *other)
    assert await numbers(store) == numbered([*history(), late_turn()])
    assert [turn.sequence for turn in await store.commits(OTHER, 0, ALL)] == [1, 2]
    assert await versions(store) == {GROUP: (4, 4), OTHER: (2, 2)}


async def test_a_group_has_a_creation_id_of_its_own_that_stays(store: GraphStore) -> None:
    first, second, _ = history()
    lease = await acquire(store)
    created = await creation_id(store)
    await commit(store, lease, first)
    await store.renew(lease, now=NOW, ttl=TTL)
    await store.release(lease)
    await commit(store, await acquire(store, "host:2"), second)
    await acquire(store, group=OTHER)
    assert await creation_id(store) == created != ""
    assert await creation_id(store, OTHER) not in (created, "")


@pytest.mark.full
async def test_a_group_that_was_deleted_and_filled_again_has_another_creation_id(
    graph_url: str,
) -> None:
    created = []
    for _ in range(2):
        store = await open_graph(graph_url, user="", password="")
        await store.prepare()
        await commit(store, await acquire(store), *history())
        assert await versions(store) == {GROUP: (3, 3)}
        created.append(await creation_id(store))
        await store.close()
        await run_statement(graph_url, DELETE_ALL)
    assert len(set(created)) == 2


async def test_the_numbers_continue_under_another_lease(store: GraphStore) -> None:
    first, second, third = history()
    lease = await acquire(store, "host:1")
    await commit(store, lease, first)
    await store.renew(lease, now=NOW, ttl=TTL)
    await store.release(lease)
    taken = await acquire(store, "host:1")
    await commit(store, taken, second)
    await commit(store, await acquire(store, "host:2"), third)
    assert await numbers(store) == numbered(history())


async def test_concurrent_commits_under_one_lease_have_different_numbers(
    store: GraphStore,
) -> None:
    lease = await acquire(store)
    turns = [change(f"p{number}", session_id=SessionId(f"s{number}")) for number in range(8)]
    await asyncio.gather(*(commit(store, lease, turn) for turn in turns))
    assert [number for _, number in await numbers(store)] == [*range(1, 9)]
    assert await versions(store) == {GROUP: (8, 8)}


async def test_a_commit_that_writes_nothing_uses_no_number(store: GraphStore) -> None:
    first, second, third = history()
    old = await acquire(store, "host:1")
    await commit(store, old, first)
    new = await acquire(store, "host:2")
    with pytest.raises(GraphUnusable, match="took it over"):
        await commit(store, old, second)
    with pytest.raises(GraphUnusable, match="does not hold"):
        await commit(store, new, replace(second, mentions=("missing",)))
    assert not await store.commit(new, first, receipt(first), now=NOW, ttl=TTL)
    assert await versions(store) == {GROUP: (1, 1)}
    await commit(store, new, second, third)
    assert await numbers(store) == numbered(history())


async def test_commits_after_a_number_are_returned_in_order_and_no_more_than_asked_for(
    store: GraphStore,
) -> None:
    await commit(store, await acquire(store), *history(), late_turn())
    complete = await store.commits(GROUP, 0, ALL)
    assert [turn.sequence for turn in complete] == [1, 2, 3, 4]
    assert list(await store.commits(GROUP, 1, 2)) == list(complete)[1:3]
    assert list(await store.commits(GROUP, 3, ALL)) == list(complete)[3:]
    assert list(await store.commits(GROUP, 4, ALL)) == []
    assert list(await store.commits(OTHER, 0, ALL)) == []


async def test_a_commit_has_its_receipt_its_text_and_what_it_created_or_changed(
    store: GraphStore,
) -> None:
    changes = [*long_history(), late_turn()]
    await commit(store, await acquire(store), *changes)
    contents = await store.load(GROUP)
    assert list(await store.commits(GROUP, 0, ALL)) == [
        CommittedTurn(
            receipt=receipt(one),
            sequence=number,
            text=contents.texts[one.episode.turn_id],
            entities=tuple(sorted(entity.uuid for entity in one.entities)),
            facts=tuple(sorted(fact.uuid for fact in one.facts)),
        )
        for number, one in enumerate(changes, start=1)
    ]
    _, second, third, _ = await store.commits(GROUP, 0, ALL)
    assert len(second.entities) == 2, "one is new and one is changed"
    assert len(third.facts) == 2, "one is new and one is invalidated"


async def test_a_receipt_has_the_origin_and_the_tools_of_its_turn(store: GraphStore) -> None:
    calls = (tool("Read", "a.py"), tool("Bash", "pytest"), tool("Read", "b.py"))
    plain = change("p0")
    turn = replace(
        plain.episode.turn,
        parent_session_id="s0",
        agent_id="a1",
        cwd=None,
        git_branch=None,
        tool_calls=calls,
    )
    used = replace(plain, episode=replace(plain.episode, turn=turn))
    await commit(store, await acquire(store), used, change("p1", ordinal=1))
    first, second = await store.receipts(GROUP)
    assert {first, second} == {receipt(used), receipt(change("p1", ordinal=1))}
    assert {one.tools for one in (first, second)} == {("Read", "Bash"), ()}
    assert {one.format for one in (first, second)} == {"claude_code"}


async def test_the_ids_of_all_turns_are_those_of_the_receipts(store: GraphStore) -> None:
    await commit(store, await acquire(store), *history(), late_turn())
    await commit(store, await acquire(store, group=OTHER), change("q0", group_id=OTHER))
    receipts = (await store.load(GROUP)).receipts
    assert await store.turn_ids(GROUP) == {receipt.turn_id for receipt in receipts}


@pytest.mark.parametrize("size", [3, 60], ids=["few", "many"])
async def test_entities_and_facts_are_read_by_their_uuids_in_their_present_state(
    store: GraphStore, size: int
) -> None:
    """A store may read few and many in different ways."""
    hub, leaves = entity("hub.py"), [entity(f"leaf_{number}.py") for number in range(size)]
    texts = [f"hub.py imports {leaf.name}" for leaf in leaves]
    links = [
        fact(turn_id("q0"), *ends, text, created_at=START + timedelta(microseconds=-number % 3))
        for number, (leaf, text) in enumerate(zip(leaves, texts, strict=True))
        for ends in [(hub, leaf) if number % 2 else (leaf, hub)]
    ]
    wide = change("q0", [hub, *leaves], links, session_id=SessionId("s2"))
    await commit(store, await acquire(store), *history(), wide)
    foreign = entity("cart.py", group=OTHER)
    in_other = change("r0", [foreign], group_id=OTHER)
    await commit(store, await acquire(store, group=OTHER), in_other)
    contents = await store.load(GROUP)
    entities = [hub.uuid, *(leaf.uuid for leaf in leaves), history()[0].entities[0].uuid]
    facts = [*(link.uuid for link in links), history()[0].facts[0].uuid]
    asked = [*reversed(entities), *entities, foreign.uuid, "unknown"]
    assert list(await store.entities(GROUP, asked)) == [
        entity for entity in contents.entities if entity.uuid in entities
    ]
    assert list(await store.facts(GROUP, [*reversed(facts), *facts, "unknown"])) == [
        fact for fact in contents.facts if fact.uuid in facts
    ]
    assert list(await store.entities(GROUP, ())) == []
    assert list(await store.facts(GROUP, ())) == []
    assert list(await store.facts(OTHER, facts)) == []


async def test_a_graph_that_is_opened_again_has_the_same_versions(graph_url: str) -> None:
    store = await open_graph(graph_url, user="", password="")
    await store.prepare()
    await commit(store, await acquire(store), *history())
    written = await store.commits(GROUP, 0, ALL)
    await store.close()
    again = await open_graph(graph_url, user="", password="", write=False)
    await again.prepare()
    assert await versions(again) == {GROUP: (3, 3)}
    assert list(await again.commits(GROUP, 0, ALL)) == list(written)
    await again.close()
