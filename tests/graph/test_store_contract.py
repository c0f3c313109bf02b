"""The contract of every store: the same for the embedded graph and for a server."""

from dataclasses import replace
from datetime import UTC, timedelta

import msgspec
import pytest

from tests.builders import GROUP, START
from tests.graph.committing import acquire, commit, commit_history, no_owner_is_dead
from tests.graph.sample_changes import (
    NOW,
    PROFILE,
    TTL,
    change,
    entity,
    fact,
    history,
    receipt,
    turn_id,
)
from turnetl.base import schema
from turnetl.base.errors import GraphBusy, GraphUnusable
from turnetl.base.graph_model import GroupProfile
from turnetl.base.model import GroupId, Usage
from turnetl.graph import to_rows as rows
from turnetl.graph.open import open_graph
from turnetl.graph.port import GraphStore


async def test_an_empty_graph_holds_nothing(store: GraphStore) -> None:
    contents = await store.load(GROUP)
    assert contents.profile is None
    assert (contents.entities, contents.facts, contents.receipts) == ((), (), ())
    assert await store.groups() == []
    assert await store.counts(GROUP) == (0, 0, 0)


async def test_a_group_is_loaded_bit_for_bit_as_it_was_written(store: GraphStore) -> None:
    await commit_history(store)
    contents = await store.load(GROUP)
    first, second, third = history()
    total = first.entities[1]
    assert {entity.uuid: entity for entity in contents.entities} == {
        entity.uuid: entity for entity in (total, *second.entities)
    }
    assert {fact.uuid: fact for fact in contents.facts} == {
        fact.uuid: fact for fact in (*second.facts, *third.facts)
    }
    assert contents.receipts == tuple(receipt(change) for change in history())
    assert dict(contents.texts) == {
        change.episode.turn_id: change.episode.text for change in history()
    }
    assert contents.profile == PROFILE
    assert contents.receipts[0].committed_at.tzinfo is UTC


async def test_entities_are_loaded_in_order_of_creation(store: GraphStore) -> None:
    lease = await acquire(store)
    names = ["d.py", "a.py", "c.py", "b.py"]
    files = [
        entity(name, created_at=START + timedelta(microseconds=3 - place))
        for place, name in enumerate(names)
    ]
    await commit(store, lease, change("p0", files))
    loaded = (await store.load(GROUP)).entities
    assert [entity.name for entity in loaded] == ["b.py", "c.py", "a.py", "d.py"]


async def test_counts_groups_and_receipts_describe_what_is_committed(store: GraphStore) -> None:
    await commit_history(store)
    assert await store.counts(GROUP) == (3, 3, 3)
    assert await store.groups() == [GROUP]
    assert list(await store.receipts(GROUP)) == [receipt(change) for change in history()]


async def test_groups_are_isolated(store: GraphStore) -> None:
    await commit_history(store)
    other = GroupId("shop_b")
    lease = await acquire(store, group=other)
    await commit(store, lease, change("q0", [entity("cart.py", group=other)], group_id=other))
    assert await store.groups() == [GROUP, other]
    assert await store.counts(other) == (1, 1, 0)
    assert await store.counts(GROUP) == (3, 3, 3)


async def test_a_turn_is_committed_once(store: GraphStore) -> None:
    lease = await commit_history(store)
    before = await store.load(GROUP)
    assert not await commit(store, lease, history()[1])
    assert await store.load(GROUP) == before


async def test_a_turn_without_entities_is_committed_too(store: GraphStore) -> None:
    lease = await acquire(store)
    assert await commit(store, lease, change("p0"))
    assert await store.counts(GROUP) == (1, 0, 0)


async def test_an_attribute_cannot_overwrite_a_property_of_graphitis(store: GraphStore) -> None:
    lease = await acquire(store)
    colliding = entity("cart.py", attributes={"summary": "mine", "uuid": "no", "lines": 3})
    await commit(store, lease, change("p0", [colliding]))
    [loaded] = (await store.load(GROUP)).entities
    assert loaded == replace(colliding, attributes={"lines": 3})


async def test_unusual_texts_are_loaded_unchanged(store: GraphStore) -> None:
    lease = await acquire(store)
    unusual = 'a "b" \\ `c` $d {e} \u2028 \U0001f600 \n\t end'
    one, two = entity(unusual, summary=unusual, attributes={"a": unusual}), entity("two")
    stated = fact(turn_id("p0"), one, two, unusual)
    await commit(store, lease, change("p0", [one, two], [stated]))
    contents = await store.load(GROUP)
    assert one in contents.entities
    assert contents.facts == (stated,)


async def test_a_turn_commit_has_the_columns_of_the_schema(store: GraphStore) -> None:
    assert store is not None
    change = history()[0]
    written = rows.commit_row(change, receipt(change), 1)
    columns = [column.name for column in schema.RECEIPTS.columns]
    assert list(written) == [*columns, "sequence", "before_images", "summaries"]


async def test_a_receipt_records_what_the_turn_cost_even_if_the_cost_is_unknown(
    store: GraphStore,
) -> None:
    lease = await acquire(store)
    costs = [Usage(1, 10, 2, None, cached_tokens=4, seconds=0.25), Usage(cost=1, seconds=2)]
    for number, usage in enumerate(costs):
        assert await commit(store, lease, change(f"p{number}", ordinal=number, usage=usage))
    recorded = [receipt.usage for receipt in await store.receipts(GROUP)]
    assert sorted(recorded, key=lambda usage: usage.seconds) == costs


async def test_before_images_contain_what_a_turn_changes() -> None:
    _, second, third = history()
    images = msgspec.json.decode(rows.before_images(second))
    assert [entity["labels"] for entity in images["entities"]] == [["Entity", "File"]]
    assert "name_embedding" not in images["entities"][0]
    assert images["facts_new"] == [second.facts[0].uuid]
    images = msgspec.json.decode(rows.before_images(third))
    assert [fact["invalid_at"] for fact in images["facts"]] == [None]
    assert images["entities_new"] == []


async def test_a_turn_that_refers_to_something_missing_is_rejected_completely(
    store: GraphStore,
) -> None:
    lease = await acquire(store)
    cart, missing = entity("cart.py"), entity("missing.py")
    for broken in (
        change("p0", [cart], [fact(turn_id("p0"), cart, missing, "to nothing")]),
        change("p0", [cart], mentions=(cart.uuid, missing.uuid)),
        change(
            "p0",
            [cart],
            [fact(turn_id("p0"), cart, cart, "never written")],
            facts_before=(fact(turn_id("p0"), cart, cart, "never written"),),
        ),
    ):
        with pytest.raises(GraphUnusable, match="does not hold an entity, fact or episode"):
            await commit(store, lease, broken)
    assert await store.counts(GROUP) == (0, 0, 0)
    assert await commit(store, lease, change("p0", [cart]))


async def test_the_fence_grows_with_every_owner(store: GraphStore) -> None:
    first = await acquire(store, "host:1")
    await store.release(first)
    second = await acquire(store, "host:2")
    assert (first.fence, second.fence) == (1, 2)
    assert second.until == NOW + TTL


async def test_a_second_writer_is_rejected_with_the_owner_and_the_end_of_the_lease(
    store: GraphStore,
) -> None:
    await acquire(store, "host:1")
    with pytest.raises(GraphBusy, match=r"`host:1` until 2026-04-01 12:02"):
        await acquire(store, "host:2")


async def test_an_expired_lease_is_taken_over_and_the_old_owner_writes_nothing(
    store: GraphStore,
) -> None:
    old = await acquire(store, "host:1")
    new = await acquire(store, "host:2", now=NOW + TTL)
    with pytest.raises(GraphUnusable, match=r"`host:2` took it over"):
        await commit(store, old, history()[0])
    assert await store.counts(GROUP) == (0, 0, 0)
    await store.release(old)
    assert await commit(store, new, history()[0])
    # The fence tells two leases of one owner apart.
    again = await acquire(store, "host:1", now=NOW + 2 * TTL)
    with pytest.raises(GraphUnusable, match=r"`host:1` took it over"):
        await commit(store, old, history()[1])
    assert await commit(store, again, history()[1])


async def test_the_lease_of_a_dead_process_is_taken_over_without_waiting(store: GraphStore) -> None:
    old = await acquire(store, "host:1")
    new = await store.acquire(
        GROUP, PROFILE, owner="host:2", now=NOW, ttl=TTL, is_dead=lambda owner: owner == "host:1"
    )
    assert new.fence == old.fence + 1


async def test_a_released_lease_writes_nothing(store: GraphStore) -> None:
    lease = await acquire(store)
    await store.release(lease)
    with pytest.raises(GraphUnusable, match="the lease was released"):
        await commit(store, lease, history()[0])


async def test_a_commit_and_a_renewal_extend_the_lease(store: GraphStore) -> None:
    lease = await acquire(store)
    later = NOW + timedelta(minutes=1)
    change = history()[0]
    await store.commit(lease, change, receipt(change), now=later, ttl=TTL)
    with pytest.raises(GraphBusy, match=r"until 2026-04-01 12:03"):
        await acquire(store, "host:2", now=NOW + TTL)
    await store.renew(lease, now=NOW + timedelta(minutes=5), ttl=TTL)
    with pytest.raises(GraphBusy, match=r"until 2026-04-01 12:07"):
        await acquire(store, "host:2", now=NOW + timedelta(minutes=6))


async def test_another_embedder_is_rejected_before_anything_is_written(store: GraphStore) -> None:
    await store.release(await commit_history(store))
    for other in (GroupProfile("other", 8, "r"), GroupProfile(PROFILE.embedder, 16, "r")):
        with pytest.raises(GraphUnusable, match="two embedders cannot be compared"):
            await store.acquire(GROUP, other, owner="o", now=NOW, ttl=TTL, is_dead=no_owner_is_dead)
    assert (await store.load(GROUP)).profile == PROFILE


async def test_a_group_without_turns_may_change_its_embedder(store: GraphStore) -> None:
    await store.release(await acquire(store))
    other = GroupProfile("other", 16, "r")
    await store.acquire(GROUP, other, owner="o", now=NOW, ttl=TTL, is_dead=no_owner_is_dead)
    assert (await store.load(GROUP)).profile == other


async def test_another_recipe_is_recorded_and_not_rejected(store: GraphStore) -> None:
    await store.release(await commit_history(store))
    newer = replace(PROFILE, recipe="recipe-2")
    await store.acquire(GROUP, newer, owner="o", now=NOW, ttl=TTL, is_dead=no_owner_is_dead)
    assert (await store.load(GROUP)).profile == newer


async def test_prepare_and_close_are_idempotent(graph_url: str) -> None:
    store = await open_graph(graph_url, user="", password="")
    await store.prepare()
    await store.release(await commit_history(store))
    await store.prepare()
    await store.close()
    await store.close()
    again = await open_graph(graph_url, user="", password="")
    assert [receipt.turn_id for receipt in await again.receipts(GROUP)] == [
        change.episode.turn_id for change in history()
    ]
    await again.close()
