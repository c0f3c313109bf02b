"""Copy everything that a graph server holds, and write it back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from neo4j import Driver, GraphDatabase

_CLEAR = "MATCH (n) DETACH DELETE n"
_NODES = "MATCH (n) RETURN labels(n) AS labels, properties(n) AS properties, elementId(n) AS id"
_EDGES = """
MATCH (a)-[r]->(b)
RETURN type(r) AS type, elementId(a) AS a, elementId(b) AS b, properties(r) AS properties
"""
_CREATE_NODES = "UNWIND $rows AS row CREATE (n:{}) SET n = row.properties, n.copied = row.id"
_CREATE_EDGES = """
UNWIND $rows AS row MATCH (a {{copied: row.a}}), (b {{copied: row.b}})
CREATE (a)-[r:{}]->(b) SET r = row.properties
"""
_REMOVE_IDS = "MATCH (n) REMOVE n.copied"


@dataclass(frozen=True)
class Snapshot:
    """Nodes by their labels, and edges by their type."""

    nodes: Mapping[str, Sequence[Mapping[str, Any]]]
    edges: Mapping[str, Sequence[Mapping[str, Any]]]


def snapshot(url: str) -> Snapshot:
    with _driver(url) as driver:
        nodes: dict[str, list[Mapping[str, Any]]] = {}
        for row in driver.execute_query(_NODES).records:
            nodes.setdefault(":".join(row["labels"]), []).append(row.data())
        edges: dict[str, list[Mapping[str, Any]]] = {}
        for row in driver.execute_query(_EDGES).records:
            edges.setdefault(row["type"], []).append(row.data())
        return Snapshot(nodes, edges)


def clear(url: str) -> None:
    restore(url, Snapshot({}, {}))


def restore(url: str, copied: Snapshot) -> None:
    """Delete everything, and write what was copied."""
    with _driver(url) as driver, driver.session() as session, session.begin_transaction() as write:
        write.run(_CLEAR)
        for labels, rows in copied.nodes.items():
            write.run(_CREATE_NODES.format(labels), rows=rows)
        for name, rows in copied.edges.items():
            write.run(_CREATE_EDGES.format(name), rows=rows)
        write.run(_REMOVE_IDS)
        write.commit()


def _driver(url: str) -> Driver:
    parts = urlsplit(url)
    return GraphDatabase.driver(
        f"{parts.scheme}://{parts.hostname}:{parts.port}",
        auth=(parts.username or "", parts.password or ""),
        notifications_min_severity="OFF",
        telemetry_disabled=True,
    )
