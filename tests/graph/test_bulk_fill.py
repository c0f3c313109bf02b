"""The bulk fill of the benchmarks writes what commits write."""

import pytest

from benchmarks.bulk_fill import GROUP, fill
from benchmarks.commit import PROFILE, synthetic
from tests.graph.graph_dump import dump_graph
from tests.graph.sample_changes import NOW, TTL, receipt
from tests.servers.neo4j_server import Neo4jServer
from turnetl.graph.open import open_graph

TURNS, AT_ONCE = 50, 20
"""Sessions of twenty turns."""


@pytest.mark.neo4j
async def test_a_graph_that_is_filled_in_bulk_equals_one_that_is_filled_by_commits(
    neo4j: Neo4jServer,
) -> None:
    store = await open_graph(neo4j.url, user="", password="")
    await store.prepare()
    lease = await store.acquire(
        GROUP, PROFILE, owner="o", now=NOW, ttl=TTL, is_dead=lambda _: False
    )
    for change in synthetic(GROUP, TURNS):
        await store.commit(lease, change, receipt(change), now=NOW, ttl=TTL)
    await store.release(lease)
    await store.close()
    committed = await dump_graph(neo4j.url)
    neo4j.clear()
    await fill(neo4j.url, TURNS, at_once=AT_ONCE)
    assert await dump_graph(neo4j.url) == committed
