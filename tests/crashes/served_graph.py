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
_SCHEMA = {
    "CONSTRAINT": "SHOW CONSTRAINTS YIELD name RETURN name",
    "INDEX": """
SHOW INDEXES YIELD name, type, owningConstraint
WHERE type <> 'LOOKUP' AND owningConstraint IS NULL RETURN name
""",
}
"""By kind, a query for the names."""
_REMOVE_IDS = "MATCH (n) REMOVE n.copied"


@dataclass(frozen=True)
class Snapshot:
    """Nodes by their labels, edges by their type, and the names of constraints and indexes."""

    nodes: Mapping[str, Sequence[Mapping[str, Any]]]
    edges: Mapping[str, Sequence[Mapping[str, Any]]]
    schema: frozenset[str]


def snapshot(url: str) -> Snapshot:
    with _driver(url) as driver:
        nodes: dict[str, list[Mapping[str, Any]]] = {}
        for row in driver.execute_query(_NODES).records:
            nodes.setdefault(":".join(row["labels"]), []).append(row.data())
        edges: dict[str, list[Mapping[str, Any]]] = {}
        for row in driver.execute_query(_EDGES).records:
            edges.setdefault(row["type"], []).append(row.data())
        schema = frozenset(name for kind in _SCHEMA for name in _names(driver, kind))
        return Snapshot(nodes, edges, schema)


def clear(url: str) -> None:
    restore(url, Snapshot({}, {}, frozenset()))


def restore(url: str, copied: Snapshot) -> None:
    """Delete everything, and write what was copied; constraints and indexes are only deleted."""
    with _driver(url) as driver, driver.session() as session, session.begin_transaction() as write:
        write.run(_CLEAR)
        for labels, rows in copied.nodes.items():
            write.run(_CREATE_NODES.format(labels), rows=rows)
        for name, rows in copied.edges.items():
            write.run(_CREATE_EDGES.format(name), rows=rows)
        write.run(_REMOVE_IDS)
        write.commit()
    with _driver(url) as driver:
        for kind in _SCHEMA:
            for name in _names(driver, kind) - copied.schema:
                driver.execute_query(f"DROP {kind} `{name}`")


def _names(driver: Driver, kind: str) -> set[str]:
    return {row["name"] for row in driver.execute_query(_SCHEMA[kind]).records}


def _driver(url: str) -> Driver:
    parts = urlsplit(url)
    return GraphDatabase.driver(
        f"{parts.scheme}://{parts.hostname}:{parts.port}",
        auth=(parts.username or "", parts.password or ""),
        notifications_min_severity="OFF",
        telemetry_disabled=True,
    )
