"""A turn in chunks: each chunk is an episode of the turn; all are committed together or none is."""

import asyncio
import signal
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from typing import Any

import msgspec
import pytest
from graphiti_core.driver.driver import GraphDriver
from graphiti_core.edges import EpisodicEdge, HasEpisodeEdge, NextEpisodeEdge
from graphiti_core.nodes import EpisodicNode, SagaNode

from tests.builders import GROUP
from tests.graph.crash_program import crashing_store
from tests.graph.crashes import Countdown, Crash, fail
from tests.graph.sample_changes import (
    NOW,
    PROFILE,
    TTL,
    long_history,
    receipt,
    split_into_chunks,
    turn_id,
)
from tests.graph.test_graphiti_reads import graphiti, write
from turnetl.base import ids
from turnetl.base.graph_model import Lease
from turnetl.base.model import Change
from turnetl.graph import to_rows as rows
from turnetl.graph.mirror.group import MirrorGroup
from turnetl.graph.open import open_graph
from turnetl.graph.port import GraphStore


def chunk_ids(change: Change) -> list[str]:
    return [ids.chunk_id(change.episode.turn_id, n) for n in range(len(change.episode.chunks))]


ALL_CHUNKS = [uuid for change in long_history() for uuid in chunk_ids(change)]
"""The episodes of the long history, in order."""


@pytest.fixture
async def reader(graph_url: str) -> AsyncIterator[Any]:
    await write(graph_url, long_history())
    driver = await graphiti(graph_url)
    yield driver
    await driver.close()


async def test_each_chunk_is_an_episode_with_its_own_text_in_time_order(
    reader: GraphDriver,
) -> None:
    second = long_history()[1]
    episodes = await EpisodicNode.get_by_uuids(reader, chunk_ids(second))
    in_order = sorted(episodes, key=lambda one: one.valid_at)
    assert [episode.uuid for episode in in_order] == chunk_ids(second)
    assert [episode.content for episode in in_order] == list(second.episode.chunks)
    assert [episode.name for episode in in_order] == [
        "s1 1 (1 of 3)",
        "s1 1 (2 of 3)",
        "s1 1 (3 of 3)",
    ]
    started = second.episode.turn.started_at
    assert started is not None
    assert [episode.valid_at for episode in in_order] == [
        started + timedelta(microseconds=number) for number in range(3)
    ]


async def test_the_first_chunk_has_the_uuid_and_the_facts_of_the_turn(reader: GraphDriver) -> None:
    second = long_history()[1]
    assert chunk_ids(second)[0] == second.episode.turn_id
    episodes = await EpisodicNode.get_by_uuids(reader, chunk_ids(second))
    facts = {episode.uuid: episode.entity_edges for episode in episodes}
    assert facts == {
        uuid: [fact.uuid for fact in second.facts] if uuid == second.episode.turn_id else []
        for uuid in chunk_ids(second)
    }


async def test_a_chunk_mentions_its_own_entities(reader: GraphDriver) -> None:
    edges = await EpisodicEdge.get_by_group_ids(reader, [GROUP])
    mentions = {(edge.source_node_uuid, edge.target_node_uuid) for edge in edges}
    _, second, third = long_history()
    (failed,) = second.facts
    chunk = chunk_ids(second)
    assert {(uuid, entity) for uuid, entity in mentions if uuid in chunk} == {
        (chunk[1], failed.source),
        (chunk[2], failed.source),
        (chunk[0], failed.target),
    }
    # By default the first chunk mentions an entity.
    assert {uuid for uuid, _ in mentions if uuid in chunk_ids(third)} == {third.episode.turn_id}
    assert len(edges) == len(mentions)


async def test_the_saga_links_chunk_to_chunk(reader: GraphDriver) -> None:
    assert await chain(reader) == list(pairwise(ALL_CHUNKS))
    saga = await saga_of(reader)
    assert (saga.first_episode_uuid, saga.last_episode_uuid) == (ALL_CHUNKS[0], ALL_CHUNKS[-1])
    has = await HasEpisodeEdge.get_by_group_ids(reader, [GROUP])
    assert sorted(edge.target_node_uuid for edge in has) == sorted(ALL_CHUNKS)


async def test_a_turn_in_chunks_that_arrives_late_is_linked_between_its_neighbours(
    graph_url: str,
) -> None:
    first, second, third = long_history()
    in_two = split_into_chunks(first, "user: a", "user: b")
    late = replace(second, next_turn=third.episode.turn_id, previous_chunks=2)
    ahead = replace(third, previous_turn=first.episode.turn_id, previous_chunks=2)
    await write(graph_url, [in_two, ahead, late])
    driver = await graphiti(graph_url)
    all_chunks = [uuid for changed in (in_two, late, ahead) for uuid in chunk_ids(changed)]
    assert await chain(driver) == list(pairwise(all_chunks))
    saga = await saga_of(driver)
    assert (saga.first_episode_uuid, saga.last_episode_uuid) == (all_chunks[0], all_chunks[-1])
    await driver.close()


async def test_the_group_knows_the_number_of_chunks_of_each_turn(store: GraphStore) -> None:
    await commit_all(store, long_history())
    loaded = MirrorGroup(await store.load(GROUP))
    live = MirrorGroup(await empty(store))
    for change in long_history():
        live.apply(change, receipt(change))
    for group in (loaded, live):
        assert [group.chunks_of(turn_id(name)) for name in ("p0", "p1", "p2")] == [1, 3, 2]


async def test_the_text_of_a_turn_joins_its_chunks(store: GraphStore) -> None:
    await commit_all(store, long_history())
    texts = (await store.load(GROUP)).texts
    assert texts[turn_id("p1")] == "user: chunk alpha\n\nuser: chunk beta\n\nuser: chunk gamma"
    assert len(texts) == 3


async def test_each_chunk_of_a_committed_turn_is_one_episode(store: GraphStore) -> None:
    await commit_all(store, long_history())
    receipts = await store.receipts(GROUP)
    assert [receipt.chunks for receipt in receipts] == [1, 3, 2]
    assert (
        (await store.counts(GROUP))[0]
        == sum(receipt.chunks for receipt in receipts)
        == len(ALL_CHUNKS)
    )


async def test_a_turn_in_chunks_is_committed_once(store: GraphStore) -> None:
    lease = await commit_all(store, long_history())
    before = await store.load(GROUP)
    second = long_history()[1]
    assert not await store.commit(lease, second, receipt(second), now=NOW, ttl=TTL)
    assert await store.load(GROUP) == before
    assert (await store.counts(GROUP))[0] == len(ALL_CHUNKS)


def test_the_before_images_list_all_chunks() -> None:
    second = long_history()[1]
    assert msgspec.json.decode(rows.before_images(second))["episodes_new"] == chunk_ids(second)


@pytest.mark.full
async def test_a_crash_at_any_statement_writes_nothing_of_a_turn_in_chunks(graph_url: str) -> None:
    first, second, third = long_history()
    store = await open_graph(graph_url, user="", password="")
    await store.prepare()
    lease = await commit_all(store, [first])
    before, counts = await store.load(GROUP), await store.counts(GROUP)
    await store.close()
    statement = 1
    while not await completes(graph_url, statement, lease, second):
        store = await open_graph(graph_url, user="", password="")
        assert await store.load(GROUP) == before
        assert await store.counts(GROUP) == counts
        await store.close()
        statement += 1
    assert statement > 6
    store = await open_graph(graph_url, user="", password="")
    assert await store.commit(lease, third, receipt(third), now=NOW, ttl=TTL)
    await store.close()
    driver = await graphiti(graph_url)
    assert await chain(driver) == list(pairwise(ALL_CHUNKS))
    await driver.close()


@pytest.mark.full
async def test_a_process_killed_during_the_commit_writes_nothing_of_a_turn_in_chunks(
    graph_url: str,
) -> None:
    for statement in (3, 5, 7):
        program = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "tests.graph.crash_program", graph_url, str(statement), "long"
        )
        assert await program.wait() == -signal.SIGKILL
        store = await open_graph(graph_url, user="", password="")
        assert await store.counts(GROUP) == (1, 2, 1)
        assert len(await store.receipts(GROUP)) == 1
        await store.close()


async def completes(url: str, statement: int, lease: Lease, change: Change) -> bool:
    store = crashing_store(url, Countdown(statement, fail))
    try:
        return await store.commit(lease, change, receipt(change), now=NOW, ttl=TTL)
    except Crash:
        return False
    finally:
        await store.close()


async def commit_all(store: GraphStore, changes: list[Change]) -> Lease:
    lease = await store.acquire(
        GROUP, PROFILE, owner="host:1", now=NOW, ttl=TTL, is_dead=lambda _: False
    )
    for change in changes:
        assert await store.commit(lease, change, receipt(change), now=NOW, ttl=TTL)
    return lease


async def empty(store: GraphStore) -> Any:
    return replace(await store.load(GROUP), entities=(), facts=(), receipts=(), texts={})


async def saga_of(driver: GraphDriver) -> SagaNode:
    uuid = ids.saga_id(GROUP, long_history()[0].episode.turn.session_id)
    saga: SagaNode = await SagaNode.get_by_uuid(driver, uuid)
    return saga


async def chain(driver: GraphDriver) -> list[tuple[str, str]]:
    """Return the NEXT_EPISODE links in the order of the episodes."""
    edges = await NextEpisodeEdge.get_by_group_ids(driver, [GROUP])
    after = {edge.source_node_uuid: edge.target_node_uuid for edge in edges}
    assert len(after) == len(edges)
    (here,) = after.keys() - set(after.values())
    links = []
    while here in after:
        links.append((here, after[here]))
        here = after[here]
    assert len(links) == len(edges)
    return links
