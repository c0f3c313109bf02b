"""Shared limits in a Neo4j that cannot be used, and what the graph holds of them."""

import json
import socket

import pytest

from tests.llm.shared_limits.test_store_contract import add
from tests.servers.neo4j_server import Neo4jServer
from turnetl.base.errors import ModelBusy, ModelUnusable
from turnetl.graph.open import open_graph, server_limits
from turnetl.llm.shared_limits.store import LimitsStore


def limits(url: str, **values: str) -> LimitsStore:
    given = {"user": "", "password": ""} | values
    store = server_limits(url, user=given["user"], password=given["password"], timeout_seconds=2)
    assert store is not None
    return store


@pytest.mark.full
async def test_a_server_that_does_not_answer_is_named() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        store = limits(f"bolt://127.0.0.1:{free.getsockname()[1]}")
        with pytest.raises(ModelBusy, match="shared limits of the model are not available: Neo4j"):
            await add(store, "name")


async def test_a_wrong_password_ends_the_run_and_says_what_to_do(neo4j: Neo4jServer) -> None:
    store = limits(neo4j.address, user="neo4j", password="wrong")
    with pytest.raises(ModelUnusable, match=r"llm\.shared_limits to none"):
        await add(store, "name")


async def test_an_embedded_graph_has_no_server() -> None:
    assert server_limits("ladybug:///graph.lbug", user="", password="") is None


async def test_no_reader_of_the_graph_sees_the_state(neo4j: Neo4jServer) -> None:
    store = limits(neo4j.url)
    await add(store, "name")
    await store.close()
    graph = await open_graph(neo4j.url, user="", password="")
    try:
        assert await graph.groups() == []
        assert await graph.versions() == {}
        assert await graph.runs() == []
    finally:
        await graph.close()
    (row,) = neo4j.run("MATCH (n) RETURN labels(n) AS labels, properties(n) AS properties")
    assert row["labels"] == ["TurnLimits"]
    assert json.loads(json.dumps(row["properties"])) == {"name": "name", "state": "1"}
