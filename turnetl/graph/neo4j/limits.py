"""The state of shared limits in a Neo4j server, for the processes of many machines.

A node `TurnLimits` holds each state. It has no group: nothing but this module reads it.
"""

import asyncio
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import LiteralString

from turnetl.base.errors import GraphBusy, GraphUnusable, ModelBusy, ModelUnusable
from turnetl.graph.neo4j.client import Neo4jClient, create_indexes
from turnetl.llm.shared_limits.store import Change

_SCHEMA: LiteralString = (
    "CREATE CONSTRAINT turn_limits IF NOT EXISTS FOR (l:TurnLimits) REQUIRE l.name IS UNIQUE"
)
# Writing a property locks the node until the transaction ends; a read after that is current.
_LOCK: LiteralString = """
MERGE (l:TurnLimits {name: $name})
SET l.locked = true
WITH l
RETURN l.state AS state, datetime.realtime().epochMillis AS milliseconds
"""
_SAVE: LiteralString = "MATCH (l:TurnLimits {name: $name}) SET l.state = $state REMOVE l.locked"


class Neo4jLimits:
    """`LimitsStore` in a Neo4j server."""

    def __init__(self, open_client: Callable[[], Neo4jClient], address: str) -> None:
        """Connect to nothing; the address, without a password, is for messages."""
        self._open_client = open_client
        self._address = address
        self._client: Neo4jClient | None = None
        self._opening = asyncio.Lock()

    @property
    def place(self) -> str:
        return f"the graph at `{self._address}` (label `TurnLimits`)"

    async def update(self, name: str, change: Change) -> None:
        with self._translated():
            client = await self._open()
            async with client.transaction() as transaction:
                result = await transaction.run(_LOCK, name=name)
                row = await result.single(strict=True)
                content = row["state"].encode() if row["state"] is not None else None
                state = change(content, row["milliseconds"] / 1000).decode()
                await (await transaction.run(_SAVE, name=name, state=state)).consume()
                await transaction.commit()

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()
            self._client = None

    async def _open(self) -> Neo4jClient:
        async with self._opening:
            if self._client is None:
                client = self._open_client()
                try:
                    # Without the constraint two processes could create two nodes.
                    await create_indexes(client, _SCHEMA)
                except BaseException:
                    await client.close()
                    raise
                self._client = client
            return self._client

    @contextmanager
    def _translated(self) -> Generator[None]:
        """Raise the errors of the graph as those of a model: its requests cannot be sent."""
        try:
            yield
        except GraphBusy as error:
            raise ModelBusy(f"the shared limits of the model are not available: {error}") from error
        except GraphUnusable as error:
            raise ModelUnusable(
                f"the shared limits of the model cannot be used: {error}; or set "
                "llm.shared_limits to none"
            ) from error
