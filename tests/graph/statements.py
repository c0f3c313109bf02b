"""Statements that change a graph without turnetl, as its owner may."""

from urllib.parse import urlsplit

import ladybug
from neo4j import AsyncGraphDatabase

DELETE_ALL = "MATCH (n) DETACH DELETE n"


async def run_statement(url: str, statement: str) -> None:
    """Run a Cypher statement in the graph at a URL; nobody else has an embedded one open."""
    parts = urlsplit(url)
    if parts.scheme == "ladybug":
        with ladybug.Database(parts.path) as database, ladybug.Connection(database) as connection:
            connection.execute(statement)
        return
    auth = (parts.username or "", parts.password or "")
    address = f"{parts.scheme}://{parts.hostname}:{parts.port}"
    async with AsyncGraphDatabase.driver(address, auth=auth, telemetry_disabled=True) as driver:
        await driver.execute_query(statement)
