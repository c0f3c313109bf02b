"""Neo4j's query plans: no statement of a commit scans, and the fence is read under a lock."""

import asyncio
from datetime import timedelta
from typing import Any, LiteralString

import pytest
from neo4j import AsyncDriver

from tests.builders import GROUP
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
from tests.servers.neo4j_server import Neo4jServer
from turnetl.base.errors import GraphUnusable
from turnetl.graph.neo4j import cypher
from turnetl.graph.neo4j.reads import CONTENT_COUNTS
from turnetl.graph.neo4j.rows import statements
from turnetl.graph.neo4j.store import Neo4jStore
from turnetl.graph.open import open_graph

pytestmark = pytest.mark.neo4j

_PLANNED: LiteralString = "CYPHER replan=force EXPLAIN"
"""Not the cached plan of the same query, which was made for the data of an earlier test."""


async def test_no_statement_of_a_commit_scans_or_traverses_a_node_with_many_links(
    neo4j: Neo4jServer,
) -> None:
    store = await open_graph(neo4j.url, user="", password="")
    await store.prepare()
    lease = await store.acquire(
        GROUP, PROFILE, owner="o", now=NOW, ttl=TTL, is_dead=lambda _: False
    )
    hub = entity("app.py")
    for number in range(40):
        leaf = entity(f"leaf_{number}.py")
        imported = fact(turn_id(f"q{number}"), hub, leaf, f"app.py imports leaf_{number}.py")
        new = change(f"q{number}", [hub, leaf], [imported])
        await store.commit(lease, new, receipt(new), now=NOW, ttl=TTL)
    await store.close()
    for sample in [*history(), *long_history(), late_turn()]:
        _, *others = statements(sample, receipt(sample), NOW)
        (create, of_turn), *_ = statements(sample, receipt(sample), NOW, sequence=1)
        of_lease = {"until": NOW, "fence": lease.fence, "owner": lease.owner}
        first = (cypher.LOCK_AND_CREATE_TURN, of_turn | of_lease)
        for query, parameters in [(create, of_turn), first, *others]:
            with neo4j.driver() as driver:
                plan = driver.execute_query(f"{_PLANNED} {query}", parameters).summary.plan
            assert plan is not None
            forbidden = {
                "AllNodesScan",
                "NodeByLabelScan",
                "DirectedRelationshipTypeScan",
                "Expand(All)",
            }
            assert not forbidden & {_operator(step) for step in _steps(plan)} - _allowed(query), (
                query
            )


def _allowed(query: str) -> set[str]:
    # Between two turns: an episode has one next episode.
    return {"Expand(All)"} if query == cypher.UNLINK_NEXT else set()


def _operator(step: dict[str, Any]) -> str:
    return str(step["operatorType"]).partition("@")[0]


def _steps(plan: dict[str, Any]) -> list[dict[str, Any]]:
    return [plan, *(step for child in plan.get("children", ()) for step in _steps(child))]


FOLLOWING = (
    cypher.VERSIONS,
    cypher.COMMITS_AFTER,
    cypher.SOME_EPISODE_CONTENTS,
    cypher.SOME_ENTITIES,
    cypher.SOME_FACTS,
    cypher.TURN_IDS,
)
"""The queries of an index that follows the graph."""


@pytest.mark.parametrize("query", FOLLOWING)
async def test_a_query_of_an_index_that_follows_the_graph_finds_its_rows_by_an_index(
    neo4j: Neo4jServer, query: LiteralString
) -> None:
    store = await open_graph(neo4j.url, user="", password="")
    await store.prepare()
    await store.close()
    parameters = {"group": GROUP, "after": 5, "limit": 10, "uuids": ["a", "b"]}
    with neo4j.driver() as driver:
        plan = driver.execute_query(f"{_PLANNED} {query}", parameters).summary.plan
    assert plan is not None
    operators = {_operator(step) for step in _steps(plan)}
    assert operators & {
        "NodeIndexSeek",
        "NodeUniqueIndexSeek",
        "DirectedRelationshipIndexSeek",
    }
    if query != cypher.VERSIONS:  # reads every TurnGroup
        assert not operators & {"NodeByLabelScan", "Sort", "Top"}


async def test_a_commit_waits_for_a_concurrent_takeover_and_is_then_rejected(
    neo4j: Neo4jServer,
) -> None:
    driver = neo4j.async_driver()
    store = Neo4jStore(driver, address=neo4j.address, user=neo4j.user)
    await store.prepare()
    lease = await store.acquire(
        GROUP, PROFILE, owner="host:1", now=NOW, ttl=TTL, is_dead=lambda _: False
    )
    async with driver.session() as session, await session.begin_transaction() as takeover:
        await takeover.run("MATCH (g:TurnGroup) SET g.fence = g.fence + 1, g.lease_owner = 'b'")
        first = history()[0]
        commit = asyncio.create_task(
            store.commit(lease, first, receipt(first), now=NOW, ttl=timedelta(minutes=2))
        )
        await _wait_until_blocked(driver, commit)
        await takeover.commit()
        with pytest.raises(GraphUnusable, match="took it over"):
            await commit
    assert await store.counts(GROUP) == (0, 0, 0)
    await store.close()


async def _wait_until_blocked(driver: AsyncDriver, commit: asyncio.Task[bool]) -> None:
    """Return when the server reports that a transaction waits for a lock."""
    while True:
        assert not commit.done(), "the commit did not wait"
        found = await driver.execute_query("SHOW TRANSACTIONS YIELD status")
        if any("Blocked" in record["status"] for record in found.records):
            return
        await asyncio.sleep(0.05)


async def test_whether_other_programs_wrote_is_answered_without_reading_nodes(
    neo4j: Neo4jServer,
) -> None:
    store = await open_graph(neo4j.url, user="", password="")
    await store.prepare()
    hits = []
    for _ in range(2):
        with neo4j.driver() as driver:
            driver.execute_query(
                "UNWIND range(1, 500) AS number "
                "CREATE (e:Episodic)-[:MENTIONS]->(a:Entity)-[:RELATES_TO]->(:Entity)"
            )
            profile = driver.execute_query(f"PROFILE {CONTENT_COUNTS}").summary.profile
        assert profile is not None
        hits.append(sum(step.get("dbHits", 0) for step in _steps(profile)))
    before = await store.content_state()
    await store.close()
    assert before.split() == ["1000", "0", "2000", "1000", "1000"]
    assert hits[0] == hits[1] < 50
