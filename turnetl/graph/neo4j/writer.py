"""Transactions on a Neo4j server that write a group under its lease."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import datetime

from neo4j import AsyncTransaction

from turnetl.base.errors import GraphBusy
from turnetl.base.graph_model import Lease
from turnetl.base.model import GroupId
from turnetl.graph.lease import locked_group
from turnetl.graph.neo4j import cypher
from turnetl.graph.neo4j import rows as neo4j_rows
from turnetl.graph.neo4j.client import Neo4jClient
from turnetl.graph.neo4j.errors import LIMIT, TransactionTimedOut
from turnetl.graph.neo4j.lease import lock_group


class Neo4jWriter:
    """What writes over a client."""

    _client: Neo4jClient

    @asynccontextmanager
    async def _locking(self, group: GroupId) -> AsyncGenerator[AsyncTransaction]:
        """Open a transaction that locks the group; if it does not get the lock, say who has it."""
        try:
            async with self._client.transaction() as transaction:
                yield transaction
        except TransactionTimedOut as error:
            rows = await self._client.read(cypher.LEASE_STATE, group=group)
            state = neo4j_rows.lease_state(rows[0]) if rows else None
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
