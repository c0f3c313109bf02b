"""Queries and transactions on a Neo4j server, with the driver's errors as turnetl's.

Nothing waits without a limit: the server ends a transaction that takes too long, also one that
waits for a lock, and a server that sends nothing at all is given up a little later.
"""

import asyncio
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from typing import Any, LiteralString

from neo4j import AsyncDriver, AsyncTransaction, Query, Record

from turnetl.graph import to_rows
from turnetl.graph.neo4j.cypher import abbreviated, with_shared_times
from turnetl.graph.neo4j.driver import translate_errors

_READ_FACTOR = 10
"""A read locks nothing, and a large group takes time: each of its answers has the limit."""
_MARGIN = 5.0
"""Seconds. The server looks for transactions over their limit every two seconds."""
_PROBE_SECONDS = 5.0
"""Limit of each further attempt on a server that did not answer: a run ends with the first limit
and not with many."""
_FETCH_SIZE = 1000
"""Rows; as many as the driver requests at once."""
_PAGES = 2
"""Of `pages`: one is read while the next one arrives."""


class Neo4jClient:
    """Runs queries through an open driver."""

    def __init__(
        self, driver: AsyncDriver, *, address: str, user: str, timeout_seconds: float
    ) -> None:
        """Use an open driver; address and user are for messages.

        Args:
            driver: its sessions use the user's home database.
            address: of the server, without a password.
            user: the Neo4j user.
            timeout_seconds: limit of a transaction that writes, and of each answer of a read.
        """
        self._driver = driver
        self._address = address
        self._user = user
        self.timeout_seconds = timeout_seconds
        self._responds = True

    async def read(
        self, query: LiteralString, *, extra_seconds: float = 0.0, **parameters: Any
    ) -> list[dict[str, Any]]:
        """Run one query in its own transaction and return its rows.

        Args:
            query: locks nothing that a writer needs.
            extra_seconds: that the server may take for its first answer, beyond the limit.
            parameters: of the query.
        """
        rows = self.stream(query, extra_seconds=extra_seconds, **parameters)
        return [row async for row in rows]

    async def stream(
        self, query: LiteralString, *, extra_seconds: float = 0.0, **parameters: Any
    ) -> AsyncGenerator[dict[str, Any]]:
        """Run one query in its own transaction and yield its rows."""
        limit = self.timeout_seconds + extra_seconds
        async for records in self._fetch(query, parameters, _FETCH_SIZE, limit):
            for record in records:
                yield dict(record)

    async def pages(self, query: LiteralString, **parameters: Any) -> AsyncGenerator[list[Any]]:
        """Run a query of `neo4j_pages` in its own transaction and yield its pages of rows."""
        async for records in self._fetch(query, parameters, _PAGES, self.timeout_seconds):
            for record in records:
                yield record[0]

    async def paged_rows(self, query: LiteralString, **parameters: Any) -> list[Any]:
        """Run a query of `neo4j_pages` in its own transaction and return all rows."""
        return [row async for page in self.pages(query, **parameters) for row in page]

    async def _fetch(
        self, query: LiteralString, parameters: dict[str, Any], size: int, limit: float
    ) -> AsyncGenerator[list[Record]]:
        """Run a query and yield `size` records at a time; `limit` in seconds, of each answer."""
        limited = Query(query, timeout=_READ_FACTOR * limit)
        with translate_errors(self._address, self._user):
            async with self._driver.session(fetch_size=size) as session:
                async with self._within(limit):
                    result = await session.run(limited, parameters)
                    records = await result.fetch(size)
                while records:
                    yield records
                    async with self._within(limit):
                        records = await result.fetch(size)

    async def write(self, query: LiteralString, **parameters: Any) -> None:
        """Run one query that writes, in its own transaction."""
        async with self.transaction() as transaction:
            await (await transaction.run(query, parameters)).consume()
            await transaction.commit()

    @asynccontextmanager
    async def transaction(self) -> AsyncGenerator[AsyncTransaction]:
        """Open a transaction that is rolled back unless it was committed within the limit.

        Raises:
            TransactionTimedOut: the server ended it.
            GraphBusy: no answer, or an error that a retry may avoid.
            GraphUnusable: the server cannot execute a statement.
        """
        with translate_errors(self._address, self._user):
            async with (
                self._within(self.timeout_seconds + _MARGIN),
                self._driver.session() as session,
            ):
                transaction = await session.begin_transaction(timeout=self.timeout_seconds)
                try:
                    yield transaction
                finally:
                    await transaction.close()

    @asynccontextmanager
    async def _within(self, seconds: float) -> AsyncGenerator[None]:
        """Raise TimeoutError if the block, which must wait for nothing but the server, is late."""
        probe = min(self.timeout_seconds, _PROBE_SECONDS)
        try:
            async with asyncio.timeout(seconds if self._responds else probe):
                yield
        except TimeoutError:
            self._responds = False
            raise
        self._responds = True

    async def close(self) -> None:
        await self._driver.close()


async def write_rows(
    transaction: AsyncTransaction, query: LiteralString, parameters: dict[str, Any]
) -> None:
    """Run one statement of a turn, and check that it wrote all of its rows.

    Raises:
        GraphUnusable: the turn names an entity or a fact that the graph does not hold.
    """
    sent = abbreviated(with_shared_times(parameters))
    result = await (await transaction.run(query, sent)).single()
    if result is not None and result["done"] != len(parameters["rows"]):
        raise to_rows.incomplete_graph(parameters["group"])


async def write_all(
    transaction: AsyncTransaction, statements: Iterable[tuple[LiteralString, dict[str, Any]]]
) -> None:
    """Run the statements of a turn, given with their parameters; raises as `write_rows`."""
    for query, parameters in statements:
        await write_rows(transaction, query, parameters)
