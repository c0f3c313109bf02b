"""Every error that a graph can have is found, and nothing else; what is safe is repaired."""

from dataclasses import replace

import pytest

from tests.builders import GROUP
from tests.graph.committing import acquire, opened
from tests.graph.graph_dump import dump_graph
from tests.graph.sample_changes import NOW, TTL, change, entity, history
from tests.verification.planted_errors import ERRORS
from tests.verification.verifying import (
    PlantedError,
    fill,
    found,
    plant,
    repair_store,
    verify_store,
    verify_url,
)
from turnetl.base import ids
from turnetl.base.errors import GraphUnusable
from turnetl.base.model import SessionId
from turnetl.verification.check import Check

NOW_USED = ids.entity_id(GROUP, "File", "unused.py")


def wrong(findings: dict[Check, int]) -> dict[Check, int]:
    return {check: count for check, count in findings.items() if check.is_wrong}


async def test_a_graph_that_turnetl_wrote_has_no_findings(graph_url: str) -> None:
    await fill(graph_url)
    verification = await verify_url(graph_url)
    assert (verification.turns, found(verification), verification.repairs) == (4, {}, ())


async def test_an_empty_group_has_no_findings(graph_url: str) -> None:
    assert found(await verify_url(graph_url)) == {}


@pytest.mark.full
@pytest.mark.parametrize("error", ERRORS, ids=lambda error: error.name)
async def test_a_planted_error_is_found_and_nothing_else(
    graph_url: str, error: PlantedError
) -> None:
    if error.only == "neo4j" and graph_url.startswith("ladybug"):
        pytest.skip("this store cannot hold it")
    await fill(graph_url)
    before = await dump_graph(graph_url) if error.is_repaired else []
    await plant(graph_url, *error.statements(graph_url))
    async with opened(graph_url) as store:
        verification = await verify_store(store)
        assert wrong(found(verification)) == error.findings(graph_url)
        assert verification.wrong == sum(error.findings(graph_url).values())
        if error.is_repaired:
            assert await repair_store(store) == 1
            assert wrong(found(await verify_store(store))) == {}
    if error.is_repaired:
        assert _lines(await dump_graph(graph_url)) == _lines(before)


async def test_a_turn_that_is_committed_a_second_time_under_another_id_is_found(
    graph_url: str,
) -> None:
    first = change("p0", [entity("a.py")])
    second = change("p9", [entity("b.py")], ordinal=1, previous_turn=first.episode.turn_id)
    assert first.episode.text_hash == second.episode.text_hash
    in_order = sorted((first, second), key=lambda each: each.episode.turn_id)
    chained = replace(in_order[1], previous_turn=in_order[0].episode.turn_id)
    await fill(graph_url, [replace(in_order[0], previous_turn=None), chained])
    assert found(await verify_url(graph_url)) == {Check.DUPLICATE_EPISODES: 1}


async def test_turns_of_a_session_that_arrived_late_are_one_chain(graph_url: str) -> None:
    first, second, third = history()
    late = replace(second, previous_turn=first.episode.turn_id, next_turn=third.episode.turn_id)
    skipping = replace(third, previous_turn=first.episode.turn_id)
    await fill(graph_url, [first, skipping, late])
    assert found(await verify_url(graph_url)) == {}


async def test_the_data_of_another_program_are_counted_and_not_repaired(graph_url: str) -> None:
    await fill(graph_url)
    await plant(
        graph_url,
        "CREATE (:Episodic {uuid: 'foreign', group_id: 'shop', source_description: 'a mail'})",
        "CREATE (:Entity {uuid: 'theirs', group_id: 'shop', name: 'theirs'})",
        """
        MATCH (e:Episodic {uuid: 'foreign'}), (n:Entity {uuid: 'theirs'})
        CREATE (e)-[:MENTIONS {uuid: 'one', group_id: 'shop'}]->(n)
        """,
        """
        MATCH (e:Episodic {uuid: 'foreign'}), (n:Entity {uuid: 'theirs'})
        CREATE (e)-[:MENTIONS {uuid: 'two', group_id: 'shop'}]->(n)
        """,
    )
    before = await dump_graph(graph_url)
    verification = await verify_url(graph_url)
    assert await dump_graph(graph_url) == before
    # A vector that another program did not write is missing in a search all the same.
    assert found(verification) == {Check.FOREIGN: 2, Check.MISSING_VECTORS: 1}
    assert verification.repairs == ()


@pytest.mark.full
async def test_an_entity_that_is_used_by_now_is_not_removed(graph_url: str) -> None:
    await fill(graph_url, [change("q0", [entity("unused.py")], mentions=())])
    [repair] = (await verify_url(graph_url)).repairs
    user = change("q1", session_id=SessionId("s2"), mentions=(NOW_USED,))
    await fill(graph_url, [user])
    async with opened(graph_url) as store:
        await store.repair(await acquire(store), repair, now=NOW, ttl=TTL)
    assert found(await verify_url(graph_url)) == {}


async def test_an_unused_entity_is_removed_and_its_turn_no_longer_claims_it(graph_url: str) -> None:
    without = replace(change("q0"), mentions=())
    unused = replace(change("q0", [entity("unused.py")]), mentions=())
    await fill(graph_url, [unused])
    async with opened(graph_url) as store:
        assert found(await verify_store(store)) == {Check.UNUSED_ENTITIES: 1}
        assert await repair_store(store) == 1
        assert found(await verify_store(store)) == {}
        assert await store.entities(GROUP, [NOW_USED]) == []
        [record] = await store.commit_records(GROUP)
    assert (record.entities_new, record.entities_before) == ((), without.entities_before)


async def test_only_the_holder_of_the_lease_repairs(graph_url: str) -> None:
    await fill(graph_url, [change("q0", [entity("unused.py")], mentions=())])
    [repair] = (await verify_url(graph_url)).repairs
    async with opened(graph_url) as store:
        old = await acquire(store)
        await acquire(store, "host:2", now=NOW + TTL)
        with pytest.raises(GraphUnusable, match=r"`host:2` took it over"):
            await store.repair(old, repair, now=NOW, ttl=TTL)
    assert found(await verify_url(graph_url)) == {Check.UNUSED_ENTITIES: 1}


def _lines(lines: list[str]) -> list[str]:
    """Return the lines of a dump without sagas, whose time of creation may be new.

    In Neo4j, a fact without entities has nodes at its ends that are not part of the graph.
    """
    return [line for line in lines if not line.startswith(('[["Saga"]', '["Saga"', '[["Gone"]'))]
