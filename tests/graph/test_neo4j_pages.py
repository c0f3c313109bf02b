"""Reading a Neo4j graph in pages of rows."""

from typing import LiteralString

import pytest

from tests.servers.neo4j_server import Neo4jServer
from turnetl.graph.neo4j.client import Neo4jClient
from turnetl.graph.neo4j.cypher import LINK, in_pages

pytestmark = pytest.mark.neo4j

NUMBERS = 20_000
"""Nodes: more than the pages that are read ahead."""
FIRST_DELETED = 15_000
NODES = in_pages("MATCH (item:Number {group_id: $group})", "[item.number, labels(item)]")
LINKS = in_pages(
    "MATCH (:Number {group_id: $group})-[item:TWICE]->()",
    "[startNode(item).number]",
    is_there=LINK,
)


@pytest.mark.parametrize(
    ("query", "deletion"),
    [(NODES, "DETACH DELETE n"), (LINKS, "DETACH DELETE n"), (LINKS, "DELETE link")],
    ids=["nodes", "links with their nodes", "links alone"],
)
async def test_what_is_deleted_while_pages_are_read_is_read_completely_or_left_out(
    neo4j: Neo4jServer, query: LiteralString, deletion: str
) -> None:
    neo4j.run(
        "UNWIND range(0, $last) AS number "
        "CREATE (:Number {group_id: 'g', number: number})-[:TWICE]->(:Double)",
        last=NUMBERS - 1,
    )
    async with neo4j.async_driver() as driver:
        client = Neo4jClient(driver, address=neo4j.address, user=neo4j.user, timeout_seconds=60)
        pages = client.pages(query, group="g")
        rows = await anext(pages)
        late = f"MATCH (n:Number)-[link]->() WHERE n.number >= {FIRST_DELETED}"
        neo4j.run(f"{late} {deletion}")
        async for page in pages:
            rows += page
    # In what order the server reads them is its own choice.
    numbers = {row[0] for row in rows}
    assert set(range(FIRST_DELETED)) <= numbers < set(range(NUMBERS))
    assert len(rows) == len(numbers)


async def test_a_query_that_matches_nothing_has_no_rows(neo4j: Neo4jServer) -> None:
    async with neo4j.async_driver() as driver:
        client = Neo4jClient(driver, address=neo4j.address, user=neo4j.user, timeout_seconds=60)
        assert [row async for page in client.pages(NODES, group="g") for row in page] == []
