"""Statements that change a graph without turnetl, as its owner may."""

from urllib.parse import urlsplit

import ladybug
from neo4j import AsyncGraphDatabase

from turnetl.graph.ladybug.database import SMALL_POOL

DELETE_ALL = "MATCH (n) DETACH DELETE n"


async def run_statement(url: str, statement: str) -> None:
    """Run a Cypher statement as `run_statements` does."""
    await run_statements(url, statement)


async def run_statements(url: str, *statements: str) -> None:
    """Run Cypher statements in the graph at a URL; nobody else has an embedded one open."""
    parts = urlsplit(url)
    if parts.scheme == "ladybug":
        with (
            ladybug.Database(parts.path, buffer_pool_size=SMALL_POOL) as database,
            ladybug.Connection(database, num_threads=1) as connection,
        ):
            for statement in statements:
                connection.execute(statement)
        return
    auth = (parts.username or "", parts.password or "")
    address = f"{parts.scheme}://{parts.hostname}:{parts.port}"
    async with AsyncGraphDatabase.driver(address, auth=auth, telemetry_disabled=True) as driver:
        for statement in statements:
            await driver.execute_query(statement)
