"""Exported Cypher in a real Neo4j: what is read back is what was exported, and nothing else ran."""

from collections.abc import Iterator

import pytest

from tests.servers.neo4j_server import Neo4jServer
from tests.transfer.contents import HOSTILE, content
from turnetl.transfer.content import ExportContent
from turnetl.transfer.file_formats import to_cypher


@pytest.fixture
def server(neo4j: Neo4jServer) -> Iterator[Neo4jServer]:
    """Return a server with a node that no export may touch; its indexes are dropped afterwards."""
    neo4j.run("CREATE (:Witness {name: 'untouched'})")
    yield neo4j
    for label in ("episodic", "entity"):
        neo4j.run(f"DROP INDEX turnetl_export_{label} IF EXISTS")


def execute(server: Neo4jServer, exported: ExportContent) -> None:
    """Run the file statement by statement, as cypher-shell does."""
    with server.driver() as driver, driver.session() as session:
        for line in to_cypher(exported).decode().splitlines():
            if not line.startswith("//"):
                session.run(line.removesuffix(";")).consume()


@pytest.mark.neo4j
def test_every_text_is_read_back_and_a_second_run_changes_nothing(server: Neo4jServer) -> None:
    for number, text in enumerate(HOSTILE):
        exported = content(text)
        server.run("MATCH (n) WHERE NOT n:Witness DETACH DELETE n")
        execute(server, exported)
        first = everything(server)
        execute(server, exported)
        assert everything(server) == first, number
        names = [str(row["name"]) for row in server.run("MATCH (n:Entity) RETURN n.name AS name")]
        assert sorted(names) == sorted(entity.name for entity in exported.entities)
        (stated,) = server.run(
            "MATCH (:Entity)-[r:RELATES_TO]->(:Entity) RETURN r.fact AS fact, r.name AS name, "
            "r.episodes AS turns, toString(r.valid_at) AS since"
        )
        (fact,) = exported.facts
        assert (stated["fact"], stated["name"]) == (fact.text, fact.relation)
        assert stated["turns"] == list(fact.turns)
        assert str(stated["since"]).startswith("2026-03-02T09:00")
        (mentions,) = server.run("MATCH ()-[r:MENTIONS]->() RETURN count(r) AS number")
        assert mentions["number"] == 4
        assert server.run("MATCH (n:Witness) RETURN n.name AS name") == [{"name": "untouched"}]


@pytest.mark.neo4j
def test_the_labels_of_entities_are_labels(server: Neo4jServer) -> None:
    execute(server, content("File"))
    rows = server.run("MATCH (n:Entity) UNWIND labels(n) AS label RETURN DISTINCT label")
    assert {row["label"] for row in rows} == {"Entity", "File", "Person"}


def everything(server: Neo4jServer) -> list[dict[str, object]]:
    return server.run(
        "MATCH (n) OPTIONAL MATCH (n)-[r]->(m) RETURN labels(n) AS labels, properties(n) AS node, "
        "type(r) AS kind, properties(r) AS edge, properties(m) AS other "
        "ORDER BY n.uuid, kind, r.uuid, m.uuid"
    )
