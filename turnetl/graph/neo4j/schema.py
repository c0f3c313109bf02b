"""Create the indexes and constraints of a Neo4j graph."""

import asyncio
from contextlib import suppress
from typing import LiteralString

from turnetl.base.errors import GraphBusy
from turnetl.graph.neo4j import cypher
from turnetl.graph.neo4j.client import Neo4jClient
from turnetl.graph.neo4j.driver import AlreadyExists, TransactionTimedOut

_INDEX_SECONDS = 300
"""For which a run waits until the indexes of a graph that existed before are complete."""


async def create_schema(client: Neo4jClient) -> None:
    """Create what is missing of indexes and constraints. Idempotent."""
    # Each statement of the schema takes a transaction, also if it changes nothing.
    online = await client.read(cypher.ONLINE_INDEXES)
    if {row["name"] for row in online} >= cypher.SCHEMA_NAMES:
        return
    for statement in cypher.SCHEMA:
        await create(client, statement)
    await client.read(cypher.AWAIT_INDEXES, extra_seconds=_INDEX_SECONDS, seconds=_INDEX_SECONDS)


async def create(client: Neo4jClient, statement: LiteralString) -> None:
    """Create an index or constraint, `IF NOT EXISTS`; of several concurrent runs, one creates it.

    Raises:
        TransactionTimedOut, GraphBusy, GraphUnusable: as `Neo4jClient.transaction`.
    """
    for delay in (0.1, 0.3, 0.9, 2.7):
        try:
            with suppress(AlreadyExists):
                await client.write(statement)
        except TransactionTimedOut:
            raise
        except GraphBusy:
            # Two concurrent creations may lock each other out.
            await asyncio.sleep(delay)
        else:
            return
    with suppress(AlreadyExists):
        await client.write(statement)
