"""Communities are read as they were written, removed and replaced: by both stores."""

from dataclasses import replace

import pytest
from graphiti_core.edges import CommunityEdge
from graphiti_core.nodes import CommunityNode

from tests.builders import GROUP
from tests.graph.committing import acquire, commit_history, opened
from tests.graph.reversals import reversal_of, revert
from tests.graph.sample_changes import NOW, PROFILE, TTL, history
from tests.graph.test_graphiti_reads import graphiti
from turnetl.base import ids
from turnetl.base.errors import GraphUnusable
from turnetl.base.graph_model import Community, CommunityBatch, Lease
from turnetl.base.model import GroupId
from turnetl.graph.port import GraphStore
from turnetl.llm.vectors import pack

MEMBERS = tuple(sorted(entity.uuid for one in history() for entity in one.entities))[:2]
VECTOR = pack([0.5] * PROFILE.dimensions)


def community(name: str, members: tuple[str, ...] = MEMBERS, group: GroupId = GROUP) -> Community:
    uuid = ids.community_id(group, (name,))
    return Community(uuid, group, name, f"about {name}", NOW, VECTOR, tuple(sorted(set(members))))


async def write(
    store: GraphStore, lease: Lease, *written: Community, removed: tuple[str, ...] = ()
) -> None:
    await store.write_communities(lease, CommunityBatch(removed, written), now=NOW, ttl=TTL)


def loaded(*communities: Community) -> list[Community]:
    """Return the communities as they are read: the embedding is not."""
    without_vector = (replace(one, embedding=None) for one in communities)
    return sorted(without_vector, key=lambda one: (one.created_at, one.uuid))


async def test_communities_are_read_with_their_members_as_they_were_written(
    store: GraphStore,
) -> None:
    lease = await commit_history(store)
    await write(store, lease, community("a"), community("b", MEMBERS[:1]))
    expected = loaded(community("a"), community("b", MEMBERS[:1]))
    assert list(await store.communities(GROUP)) == expected
    assert list((await store.load_subgraphs(GROUP)).communities) == expected
    assert list(await store.communities(GroupId("other"))) == []


async def test_a_community_that_is_written_again_is_replaced_with_its_members(
    store: GraphStore,
) -> None:
    lease = await commit_history(store)
    await write(store, lease, community("a"))
    changed = replace(community("a", MEMBERS[1:]), summary="another summary")
    await write(store, lease, changed)
    assert list(await store.communities(GROUP)) == loaded(changed)


async def test_communities_are_removed_and_written_in_one_transaction(store: GraphStore) -> None:
    lease = await commit_history(store)
    await write(store, lease, community("a"))
    unknown = replace(community("b"), members=("unknown",))
    with pytest.raises(GraphUnusable, match="does not hold an entity of a community"):
        await write(store, lease, unknown, removed=(community("a").uuid,))
    assert list(await store.communities(GROUP)) == loaded(community("a"))
    await write(store, lease, community("b"), removed=(community("a").uuid, "unknown"))
    assert list(await store.communities(GROUP)) == loaded(community("b"))
    assert len((await store.load(GROUP)).entities) == 3


async def test_a_batch_touches_no_other_group(store: GraphStore) -> None:
    lease = await commit_history(store)
    await write(store, lease, community("a"))
    other = await acquire(store, group=GroupId("other"))
    await write(store, other, removed=(community("a").uuid,))
    with pytest.raises(GraphUnusable, match="does not hold an entity of a community"):
        await write(store, other, community("b", group=GroupId("other")))
    assert list(await store.communities(GROUP)) == loaded(community("a"))


async def test_a_writer_whose_group_was_taken_writes_no_community(store: GraphStore) -> None:
    lease = await commit_history(store)
    await store.release(lease)
    taken = await acquire(store, "host:2")
    with pytest.raises(GraphUnusable):
        await write(store, lease, community("a"))
    assert list(await store.communities(GROUP)) == []
    await write(store, taken, community("a"))


async def test_a_community_without_an_embedding_is_not_written(store: GraphStore) -> None:
    lease = await commit_history(store)
    with pytest.raises(ValueError, match="no embedding"):
        await write(store, lease, replace(community("a"), embedding=None))
    assert list(await store.communities(GROUP)) == []


async def test_communities_survive_the_end_of_the_process(graph_url: str) -> None:
    async with opened(graph_url) as store:
        await write(store, await commit_history(store), community("a"))
    async with opened(graph_url) as store:
        assert list(await store.communities(GROUP)) == loaded(community("a"))


async def test_an_undone_entity_takes_its_memberships_along(store: GraphStore) -> None:
    lease = await commit_history(store)
    *_, last = [one for one in history() if one.entities]
    removed = reversal_of(last).entities_removed
    others = [entity.uuid for entity in (await store.load(GROUP)).entities]
    await write(store, lease, community("a", tuple(others)))
    for one in reversed(history()):
        await revert(store, lease, one)
        if one == last:
            break
    (left,) = await store.communities(GROUP)
    assert removed
    assert set(left.members) == set(others) - set(removed)


async def test_a_community_whose_last_member_is_undone_is_removed(store: GraphStore) -> None:
    lease = await commit_history(store)
    entities = [entity.uuid for entity in (await store.load(GROUP)).entities]
    await write(
        store,
        lease,
        *(community(f"of {number}", (uuid,)) for number, uuid in enumerate(entities)),
        community("of all", tuple(entities)),
    )
    for one in reversed(history()):
        await revert(store, lease, one)
        left = {entity.uuid for entity in (await store.load(GROUP)).entities}
        members = [found.members for found in await store.communities(GROUP)]
        of_one = [(uuid,) for uuid in entities if uuid in left]
        assert sorted(members) == sorted([*of_one, *([tuple(sorted(left))] if left else [])])
    assert list(await store.communities(GROUP)) == []


async def test_graphiti_reads_communities_and_their_edges(graph_url: str) -> None:
    async with opened(graph_url) as store:
        await write(store, await commit_history(store), community("a"))
    driver = await graphiti(graph_url)
    [node] = await CommunityNode.get_by_group_ids(driver, [GROUP])
    edges = await CommunityEdge.get_by_group_ids(driver, [GROUP])
    await driver.close()
    written = community("a")
    assert (node.uuid, node.name, node.summary) == (written.uuid, "a", "about a")
    assert (node.group_id, node.created_at) == (GROUP, NOW)
    assert node.name_embedding == [0.5] * PROFILE.dimensions
    expected = {
        (ids.edge_id("HAS_MEMBER", written.uuid, member), written.uuid, member, GROUP, NOW)
        for member in written.members
    }
    assert expected == {
        (edge.uuid, edge.source_node_uuid, edge.target_node_uuid, edge.group_id, edge.created_at)
        for edge in edges
    }
