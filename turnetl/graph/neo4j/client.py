"""Queries and transactions on a Neo4j server, with the driver's errors as turnetl's.

Nothing waits without a limit: the server ends a transaction that takes too long, also one that
waits for a lock, and a server that sends nothing at all is given up a little later.
"""

import asyncio
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any, LiteralString

from neo4j import AsyncDriver, AsyncGraphDatabase, AsyncTransaction, Query, Record
from neo4j.exceptions import (
    AuthError,
    ConfigurationError,
    DriverError,
    Neo4jError,
    ServiceUnavailable,
    SessionExpired,
)

from turnetl.base.errors import GraphBusy, GraphUnusable
from turnetl.graph import to_rows
from turnetl.graph.neo4j import cypher
from turnetl.graph.neo4j.cypher import abbreviated, with_shared_times

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
        """Use an open driver; address, without a password, and user are for messages.

        `timeout_seconds` limits a transaction that writes, and each answer of a read.
        """
        self._driver = driver
        self._address = address
        self._user = user
        self.timeout_seconds = timeout_seconds
        self._responds = True

    async def read(
        self, query: LiteralString, *, extra_seconds: float = 0.0, **parameters: Any
    ) -> list[dict[str, Any]]:
        """Run one query, which locks nothing that a writer needs, and return its rows.

        For its first answer, the server may take `extra_seconds` beyond the limit.
        """
        limit = self.timeout_seconds + extra_seconds
        pages = self._fetch(query, parameters, _FETCH_SIZE, limit)
        return [dict(record) async for records in pages for record in records]

    async def pages(self, query: LiteralString, **parameters: Any) -> AsyncGenerator[list[Any]]:
        """Run a query of `cypher.in_pages` in its own transaction and yield its pages of rows."""
        async for records in self._fetch(query, parameters, _PAGES, self.timeout_seconds):
            for record in records:
                yield record[0]

    async def paged_rows(self, query: LiteralString, **parameters: Any) -> list[Any]:
        """Run a query of `cypher.in_pages` in its own transaction and return all rows."""
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

        Raises as `translate_errors`.
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


_INDEX_SECONDS = 300
"""For which a run waits until the indexes of a graph that existed before are complete."""


async def create_schema(client: Neo4jClient) -> None:
    """Create what is missing of indexes and constraints. Idempotent."""
    # Each statement of the schema takes a transaction, also if it changes nothing.
    online = await client.read(cypher.ONLINE_INDEXES)
    if {row["name"] for row in online} >= cypher.SCHEMA_NAMES:
        return
    for statement in cypher.SCHEMA:
        await create_indexes(client, statement)
    await client.read(cypher.AWAIT_INDEXES, extra_seconds=_INDEX_SECONDS, seconds=_INDEX_SECONDS)


async def create_indexes(client: Neo4jClient, statement: LiteralString) -> None:
    """Create an index or constraint, `IF NOT EXISTS`; of concurrent runs, one creates it."""
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


CONNECT_TIMEOUT = 5.0
"""Seconds."""


def open_driver(address: str, *, user: str, password: str, timeout_seconds: float) -> AsyncDriver:
    """Return a driver, which connects at its first use: without a user, without authentication.

    `timeout_seconds` limits connecting and each of its retries.

    Raises:
        GraphUnusable: the address is invalid.
    """
    with translate_errors(address, user):
        return AsyncGraphDatabase.driver(
            address,
            auth=(user, password) if user else None,
            connection_timeout=min(CONNECT_TIMEOUT, timeout_seconds),
            connection_acquisition_timeout=min(4 * CONNECT_TIMEOUT, timeout_seconds),
            max_transaction_retry_time=timeout_seconds,
            notifications_min_severity="OFF",
            telemetry_disabled=True,
            user_agent="turnetl",
        )


_TOO_MANY_ATTEMPTS = "Neo.ClientError.Security.AuthenticationRateLimit"
_INITIAL_PASSWORD = "Neo.ClientError.Security.CredentialsExpired"  # noqa: S105 - an error code
_ALREADY_EXISTS = (
    "Neo.ClientError.Schema.EquivalentSchemaRuleAlreadyExists",
    "Neo.ClientError.Schema.ConstraintAlreadyExists",
    "Neo.ClientError.Schema.IndexAlreadyExists",
)
_OUT_OF_MEMORY = "MemoryPoolOutOfMemory"
_ENDED = tuple(
    f"Neo.{kind}.Transaction.{name}"
    for kind in ("ClientError", "TransientError")
    for name in (
        "TransactionTimedOut",
        "TransactionTimedOutClientConfiguration",
        "Terminated",
        "LockClientStopped",
        "LockAcquisitionTimeout",
    )
)
"""The server ended the transaction, for example while it waited for a lock."""
LIMIT = "TURNETL_GRAPH_TIMEOUT_SECONDS sets the limit"


class TransactionTimedOut(GraphBusy):
    """The server ended a transaction that took too long; nothing of it was written."""


class AlreadyExists(GraphUnusable):
    """Another process created the index or constraint meanwhile."""


@contextmanager
def translate_errors(address: str, user: str) -> Generator[None]:
    """Raise the driver's exceptions as turnetl's errors, which say what to do.

    Raises:
        TransactionTimedOut: the server ended the transaction.
        GraphBusy: no answer, or an error that a retry may avoid.
        GraphUnusable: wrong password, or the server cannot execute the statement.
    """
    try:
        yield
    except AuthError as error:
        raise GraphUnusable(_authentication_message(address, user, error)) from error
    except TimeoutError as error:
        raise GraphBusy(
            f"Neo4j at `{address}` does not respond; check that it is running and not overloaded, "
            f"then run again ({LIMIT})"
        ) from error
    except (ServiceUnavailable, SessionExpired, OSError) as error:
        raise GraphBusy(
            f"Neo4j at `{address}` does not respond; check that it is running and that the address "
            f"is correct, then run again ({_first_line(error)})"
        ) from error
    except ConfigurationError as error:
        raise GraphUnusable(
            f"Neo4j address `{address}` is invalid ({_first_line(error)}); set TURNETL_GRAPH to an "
            "address such as bolt://host:7687"
        ) from error
    except (Neo4jError, DriverError) as error:
        raise _other_error(address, user, error) from error


def _authentication_message(address: str, user: str, error: AuthError) -> str:
    if error.code == _TOO_MANY_ATTEMPTS:
        return (
            f"Neo4j at `{address}` received too many wrong passwords; wait a minute and run again"
        )
    return (
        f"Neo4j at `{address}` does not accept user `{user}` with this password; "
        "set TURNETL_GRAPH_USER and TURNETL_GRAPH_PASSWORD"
    )


def _other_error(
    address: str, user: str, error: Neo4jError | DriverError
) -> GraphBusy | GraphUnusable:
    code = getattr(error, "code", None) or ""
    if code in _ALREADY_EXISTS:
        return AlreadyExists(f"Neo4j at `{address}`: {_first_line(error)}")
    if code == _INITIAL_PASSWORD:
        return GraphUnusable(
            f"Neo4j at `{address}` requires its initial password to be changed before use: "
            "ALTER CURRENT USER SET PASSWORD FROM 'old' TO 'new'"
        )
    if _OUT_OF_MEMORY in code:
        # The driver calls it transient, but the same transaction would fail again.
        return GraphUnusable(
            f"Neo4j at `{address}` has too little memory for one turn; raise "
            "`dbms.memory.transaction.total.max` or the heap"
        )
    if code in _ENDED:
        return TransactionTimedOut(
            f"Neo4j at `{address}` ended a transaction that took too long; make sure that no other "
            f"program holds a lock and that the server is not overloaded, then run again ({LIMIT})"
        )
    if error.is_retryable():
        return GraphBusy(f"Neo4j at `{address}` is busy: {_first_line(error)}; run again")
    reason = f"{code} {_first_line(error)}".strip()
    return GraphUnusable(
        f"Neo4j at `{address}` rejected a statement ({reason}); check that it is "
        f"version 5.26 or later and that user `{user}` may read, write and create indexes"
    )


def _first_line(error: BaseException) -> str:
    """Return a truncated message, so that no text of a turn gets into it."""
    # Errors of the driver have a general sentence in `message`, and their own in `str`.
    message = error.message if isinstance(error, Neo4jError) else str(error)
    lines = (message or "").splitlines() or [type(error).__name__]
    return lines[0][:160]
