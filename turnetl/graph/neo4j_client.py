"""Queries and transactions on a Neo4j server, with the driver's errors as turnetl's."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, LiteralString

from neo4j import AsyncDriver, AsyncTransaction

from turnetl.graph import to_rows
from turnetl.graph.neo4j_errors import translate_errors


class Neo4jClient:
    """Runs queries through an open driver."""

    def __init__(self, driver: AsyncDriver, *, address: str, user: str) -> None:
        """Use an open driver; address and user are for messages."""
        self._driver = driver
        self._address = address
        self._user = user

    async def read(self, query: LiteralString, **parameters: Any) -> list[dict[str, Any]]:
        """Run one query in its own transaction and return its rows."""
        return [row async for row in self.stream(query, **parameters)]

    async def stream(
        self, query: LiteralString, **parameters: Any
    ) -> AsyncGenerator[dict[str, Any]]:
        """Run one query in its own transaction and yield its rows."""
        with translate_errors(self._address, self._user):
            async with self._driver.session() as session:
                async for record in await session.run(query, parameters):
                    yield dict(record)

    @asynccontextmanager
    async def transaction(self) -> AsyncGenerator[AsyncTransaction]:
        """Open a transaction that is rolled back unless it was committed."""
        with translate_errors(self._address, self._user):
            async with self._driver.session() as session:
                transaction = await session.begin_transaction()
                try:
                    yield transaction
                finally:
                    await transaction.close()

    async def close(self) -> None:
        await self._driver.close()


async def write_rows(
    transaction: AsyncTransaction, query: LiteralString, parameters: dict[str, Any]
) -> None:
    """Run one statement of a turn, and check that it wrote all of its rows.

    Raises:
        GraphUnusable: the turn names an entity or a fact that the graph does not hold.
    """
    result = await (await transaction.run(query, parameters)).single()
    if result is not None and result["done"] != len(parameters["rows"]):
        raise to_rows.incomplete_graph(parameters["group"])
