"""A build of communities that ends between any two batches is completed by the next one."""

from collections.abc import Callable, Sequence

import pytest
from graphiti_core.search.search_utils import community_fulltext_search, community_similarity_search

from tests.builders import GROUP
from tests.graph.committing import commit, commit_all, opened
from tests.graph.sample_changes import NOW, TTL, change, entity, fact, turn_id, vector
from tests.graph.test_graphiti_reads import graphiti
from tests.summaries.groups import clique
from turnetl.base.graph_model import Community, Lease
from turnetl.base.model import Change, Vector
from turnetl.graph.port import GraphStore
from turnetl.ingestion.community_build import CommunityBuild, GroupCommunities, write_communities
from turnetl.ingestion.ingest_run import IngestRun
from turnetl.llm.embedders import floats
from turnetl.summaries.communities import CommunityPlan, RuleCommunityWriter, plan_communities

CLIQUES = ("abcd", "efgh", "ijkl", "mnop")


def uuids(letters: str) -> set[str]:
    return {entity(letter).uuid for letter in letters}


def members(communities: Sequence[Community]) -> list[set[str]]:
    return [set(community.members) for community in communities]


class Died(BaseException):
    """The end of a process after a batch."""


def changes() -> list[Change]:
    """Return the changes of two turns for each clique, whose entities facts connect."""
    found = []
    for number, letters in enumerate(CLIQUES):
        entities = {letter: entity(letter) for letter in letters}
        pairs = [*map(tuple, clique(letters))]
        for ordinal, of_turn in ((2 * number, pairs[::2]), (2 * number + 1, pairs[1::2])):
            turn = f"t{ordinal}"
            facts = [
                fact(turn_id(turn), entities[one], entities[other], f"{one} now calls {other}")
                for one, other in of_turn
            ]
            found.append(change(turn, list(entities.values()), facts, ordinal=ordinal))
    return found


async def embed(texts: Sequence[str]) -> Sequence[Vector]:
    return [vector(text) for text in texts]


RUN = IngestRun("run", "here:1:run", lambda: NOW, TTL)


async def plan(store: GraphStore) -> CommunityPlan:
    contents = await store.load(GROUP)
    existing = await store.communities(GROUP)
    return plan_communities(GROUP, contents.entities, contents.facts, existing)


async def build(
    store: GraphStore,
    lease: Lease,
    progress: Callable[[GroupCommunities], None] = lambda _: None,
    is_out_of_time: Callable[[], bool] = lambda: False,
) -> None:
    building = CommunityBuild(store, RuleCommunityWriter(), embed, RUN, is_out_of_time, batch=1)
    await write_communities(building, lease, await plan(store), progress)


async def written(store: GraphStore) -> list[Community]:
    """Return the communities, those of the first letters first."""
    return sorted(await store.communities(GROUP), key=lambda one: min(one.name.split(", ")))


@pytest.mark.parametrize("batches", range(1, len(CLIQUES) + 1))
async def test_a_build_that_dies_after_any_batch_is_completed(
    store: GraphStore, batches: int
) -> None:
    lease = await commit_all(store, changes())
    reports: list[GroupCommunities] = []

    def die(report: GroupCommunities) -> None:
        reports.append(report)
        if len(reports) == batches:
            raise Died

    with pytest.raises(Died):
        await build(store, lease, die)
    found = await written(store)
    assert len(found) == reports[-1].written == batches
    await build(store, lease)
    assert members(await written(store)) == [uuids(letters) for letters in CLIQUES]
    assert [one for one in await written(store) if one in found] == found
    assert (await plan(store)).missing == ()


async def test_a_build_begins_no_batch_after_its_time(store: GraphStore) -> None:
    lease = await commit_all(store, changes())
    times = iter([False, False, True])
    await build(store, lease, is_out_of_time=lambda: next(times))
    assert len(await written(store)) == 2


async def test_only_communities_whose_members_changed_are_written(store: GraphStore) -> None:
    lease = await commit_all(store, changes())
    await build(store, lease)
    before = await written(store)
    turn, a, b, x = turn_id("t19"), entity("a"), entity("b"), entity("x")
    more = change(
        "t19",
        [x],
        [fact(turn, x, a, "x now calls a"), fact(turn, x, b, "x now calls b")],
        ordinal=19,
    )
    assert await commit(store, lease, more)
    reports: list[GroupCommunities] = []
    await build(store, lease, reports.append)
    assert (reports[-1].kept, reports[-1].written, reports[-1].removed) == (3, 1, 1)
    after = await written(store)
    assert after[1:] == before[1:]
    assert members(after) == [uuids("abcdx"), *members(before[1:])]


async def test_graphiti_finds_the_communities_by_their_names(graph_url: str) -> None:
    async with opened(graph_url) as store:
        lease = await commit_all(store, changes())
        await build(store, lease)
        third = (await written(store))[2]
        await store.release(lease)
    driver = await graphiti(graph_url)
    [near] = await embed([third.name])
    nearest = await community_similarity_search(driver, floats(near), [GROUP], min_score=0.99)
    assert [(node.uuid, node.summary) for node in nearest] == [(third.uuid, third.summary)]
    # An embedded database has the index of Graphiti's own search for words only with an extension.
    if graph_url.startswith("bolt"):
        found = await community_fulltext_search(driver, third.name, [GROUP])
        assert [node.uuid for node in found] == [third.uuid]
    await driver.close()
