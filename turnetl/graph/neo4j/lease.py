"""The lease of a group in Neo4j, and the transactions that write under it."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any, LiteralString

from neo4j import AsyncTransaction

from turnetl.base.errors import GraphBusy
from turnetl.base.graph_model import Lease
from turnetl.base.model import GroupId
from turnetl.graph.neo4j import cypher
from turnetl.graph.neo4j.client import LIMIT, Neo4jClient, TransactionTimedOut
from turnetl.graph.neo4j.cypher import abbreviated
from turnetl.graph.neo4j.rows import lease_state
from turnetl.graph.port import check_lease, locked_group


class Neo4jWriter:
    _client: Neo4jClient

    @asynccontextmanager
    async def _locking(self, group: GroupId) -> AsyncGenerator[AsyncTransaction]:
        """Open a transaction that locks the group; if it does not get the lock, say who has it."""
        try:
            async with self._client.transaction() as transaction:
                yield transaction
        except TransactionTimedOut as error:
            rows = await self._client.read(cypher.LEASE_STATE, group=group)
            state = lease_state(rows[0]) if rows else None
            owner, until = (state.owner, state.until) if state else (None, None)
            waited = f"(waited for {self._client.timeout_seconds:g} s; {LIMIT})"
            raise GraphBusy(f"{locked_group(group, owner, until)} {waited}") from error

    @asynccontextmanager
    async def _writing_under(
        self, lease: Lease, until: datetime
    ) -> AsyncGenerator[AsyncTransaction]:
        """Open a transaction under the lease, which it extends; commit it at the end."""
        async with self._locking(lease.group_id) as transaction:
            await lock_group(transaction, lease, until=until)
            yield transaction
            await transaction.commit()


async def lock_group(
    transaction: AsyncTransaction,
    lease: Lease,
    *,
    until: datetime,
    statement: LiteralString = cypher.LOCK_GROUP,
    **parameters: Any,
) -> dict[str, Any]:
    """Lock the TurnGroup, so that what is read of the group stays current; extend the lease.

    The statement is the first of the transaction, and as `cypher.LOCK_GROUP`, but may read more:
    its row is returned. Raises as `check_lease`.
    """
    given = parameters | {"group": lease.group_id, "until": until}
    result = await transaction.run(statement, abbreviated(given))
    found = await result.single()
    row = found.data() if found is not None else {}
    check_lease(lease, row.get("fence"), row.get("owner"))
    return row
