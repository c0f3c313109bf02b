"""Everything that a graph holds, read without turnetl, in a form that is equal for equal graphs."""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import ladybug
import msgspec
from neo4j import AsyncGraphDatabase

from turnetl.graph.ladybug.database import SMALL_POOL

_NODES = "MATCH (n) RETURN labels(n) AS label, properties(n) AS node"
_EDGES = """
MATCH (a)-[r]->(b)
RETURN type(r) AS label, a.uuid AS source, b.uuid AS target, properties(r) AS edge
"""
_LADYBUG_NODES = "MATCH (n) RETURN label(n), n"
_LADYBUG_EDGES = "MATCH (a)-[r]->(b) RETURN label(r), a.uuid, b.uuid, r"
_OF_A_RUN = frozenset(("run_id", "committed_at"))
"""Differ between two runs over the same turns."""
_OMITTED = tuple(
    label
    for name in ("TurnGroup", "TurnRun", "TurnRecipe", "TurnMigration", "TurnLimits")
    for label in (name, [name])
)
_LINKS = frozenset(("HAS_EPISODE", "NEXT_EPISODE", "MENTIONS"))
"""Edges that say nothing but when they were written."""


async def dump_graph(url: str) -> list[str]:
    """Return one line for each node and each edge, sorted.

    Omits TurnGroups, TurnRuns, TurnRecipes, TurnMigrations, TurnLimits, ids of runs, times of
    commits, and when links were written. Nobody else has an embedded graph open.
    """
    nodes, edges = await _read(url)
    lines = [
        _line([*sorted(label)] if isinstance(label, list) else label, node)
        for label, node in nodes
        if label not in _OMITTED
    ]
    for label, source, target, edge in edges:
        kept = {**edge, "created_at": None} if label in _LINKS else edge
        lines.append(_line([label, source, target], kept))
    return sorted(lines)


async def _read(url: str) -> tuple[list[Sequence[Any]], list[Sequence[Any]]]:
    parts = urlsplit(url)
    if parts.scheme == "ladybug":
        with (
            ladybug.Database(parts.path, buffer_pool_size=SMALL_POOL) as database,
            ladybug.Connection(database, num_threads=1) as connection,
        ):
            nodes: Any = connection.execute(_LADYBUG_NODES)
            edges: Any = connection.execute(_LADYBUG_EDGES)
            return nodes.get_all(), edges.get_all()
    auth = (parts.username or "", parts.password or "")
    address = f"{parts.scheme}://{parts.hostname}:{parts.port}"
    async with AsyncGraphDatabase.driver(address, auth=auth, telemetry_disabled=True) as driver:
        node_rows, _, _ = await driver.execute_query(_NODES)
        edge_rows, _, _ = await driver.execute_query(_EDGES)
    return [row.values() for row in node_rows], [row.values() for row in edge_rows]


def _line(label: object, properties: Mapping[str, Any]) -> str:
    kept = {
        name: value
        for name, value in properties.items()
        if value is not None and not name.startswith("_") and name not in _OF_A_RUN
    }
    if "receipt" in kept:
        of_turn = msgspec.json.decode(kept["receipt"])
        kept["receipt"] = {name: of_turn[name] for name in of_turn if name not in _OF_A_RUN}
    # Ladybug returns properties of other tables as None, and ids of its rows with an underscore.
    return msgspec.json.encode([label, kept], order="sorted", enc_hook=str).decode()
