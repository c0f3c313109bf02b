"""The store in Neo4j. The driver is passed in; every write is one transaction."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any, LiteralString

from neo4j import AsyncDriver, AsyncTransaction

from turnetl.base.errors import GraphBusy
from turnetl.base.graph_model import (
    CommunityBatch,
    GroupProfile,
    Lease,
    Receipt,
    Reversal,
    Reverted,
    Review,
    TurnRun,
)
from turnetl.base.ids import RecipeParts
from turnetl.base.model import Change, GroupId, SummaryWrites
from turnetl.graph import to_rows
from turnetl.graph.group_repair import GroupRepair
from turnetl.graph.migrations import (
    MigrationStep,
    MovedKind,
    StepPatterns,
    TurnMigration,
    change_statements,
)
from turnetl.graph.neo4j import cypher, reads, rows
from turnetl.graph.neo4j import reversal as reversals
from turnetl.graph.neo4j.client import (
    CONNECT_TIMEOUT,
    LIMIT,
    Neo4jClient,
    TransactionTimedOut,
    create_schema,
    open_driver,
    translate_errors,
    write_rows,
)
from turnetl.graph.neo4j.cypher import abbreviated
from turnetl.graph.neo4j.reads import Neo4jReader
from turnetl.graph.neo4j.rows import statements
from turnetl.graph.port import check_lease, grant_lease, locked_group, new_creation_id

_PATTERNS = StepPatterns(
    fact="MATCH ()-[item:RELATES_TO {uuid: uuid}]->()",
    edges={
        MovedKind.COMMUNITIES: ("MATCH (:Community {uuid: uuid})-[item:HAS_MEMBER]->()",),
        MovedKind.SAGAS: ("MATCH (:Saga {uuid: uuid})-[item:HAS_EPISODE]->()",),
        MovedKind.EPISODES: ("MATCH (:Episodic {uuid: uuid})-[item:MENTIONS|NEXT_EPISODE]->()",),
    },
    is_used=f"""
    (EXISTS {{ (item)-[:RELATES_TO]-() }} OR EXISTS {{ (:Episodic)-[:MENTIONS]->(item) }}
     OR EXISTS {{
        MATCH (item)-[r]-(other)
        WHERE NOT type(r) IN {cypher.OWN_RELATIONS} AND coalesce(other.group_id <> $group_id, true)
    }})
    """,
    delete_fact="DELETE item",
)


class Neo4jStore(Neo4jReader):
    """`GraphStore` over a Neo4j server, 5.26 or later."""

    def __init__(
        self, driver: AsyncDriver, *, address: str, user: str, timeout_seconds: float = 30.0
    ) -> None:
        """Use an open driver; arguments as of `Neo4jClient`."""
        self._client = Neo4jClient(
            driver, address=address, user=user, timeout_seconds=timeout_seconds
        )

    @classmethod
    async def open(
        cls, address: str, *, user: str, password: str, timeout_seconds: float
    ) -> "Neo4jStore":
        """Connect, and check the password and the version of the graph; errors as `open_graph`."""
        driver = open_driver(address, user=user, password=password, timeout_seconds=timeout_seconds)
        store = cls(driver, address=address, user=user, timeout_seconds=timeout_seconds)
        try:
            with translate_errors(address, user):
                async with asyncio.timeout(min(4 * CONNECT_TIMEOUT, timeout_seconds)):
                    await driver.verify_connectivity()
            await store._check_version(address)
        except BaseException:
            await driver.close()
            raise
        return store

    async def _check_version(self, address: str) -> None:
        for row in await self._client.read(cypher.OTHER_VERSION, version=to_rows.CURRENT):
            raise to_rows.other_version(address, row["version"])

    async def prepare(self) -> None:
        await create_schema(self._client)

    async def acquire(
        self,
        group: GroupId,
        profile: GroupProfile,
        *,
        owner: str,
        now: datetime,
        ttl: timedelta,
        is_dead: Callable[[str], bool],
    ) -> Lease:
        async with self._locking(group) as transaction:
            result = await transaction.run(
                cypher.LOCK_OR_CREATE, group=group, owner=owner, creation_id=new_creation_id()
            )
            state = rows.lease_state((await result.single(strict=True)).data())
            lease = grant_lease(
                group, state, profile, owner=owner, now=now, ttl=ttl, is_dead=is_dead
            )
            await transaction.run(cypher.GRANT, group=to_rows.group_row(lease, profile))
            await transaction.commit()
        return lease

    async def record_recipe(self, parts: RecipeParts) -> None:
        await self._client.write(cypher.SAVE_RECIPE, **to_rows.recipe_row(parts))

    async def renew(self, lease: Lease, *, now: datetime, ttl: timedelta) -> None:
        await self._client.write(cypher.RENEW, lease=asdict(lease), until=now + ttl)

    async def release(self, lease: Lease) -> None:
        await self._client.write(cypher.RELEASE, lease=asdict(lease))

    async def commit(
        self, lease: Lease, change: Change, receipt: Receipt, *, now: datetime, ttl: timedelta
    ) -> bool:
        (_, turn), *others = statements(change, receipt, now)
        async with self._locking(lease.group_id) as transaction:
            locked = await _lock_group(
                transaction,
                lease,
                until=now + ttl,
                statement=cypher.LOCK_AND_CREATE_TURN,
                fence=lease.fence,
                owner=lease.owner,
                **turn,
            )
            if locked["is_committed"]:
                return False
            for query, parameters in others:
                await write_rows(transaction, query, parameters)
            await transaction.commit()
        return True

    async def revert(
        self, lease: Lease, reversal: Reversal, *, now: datetime, ttl: timedelta
    ) -> Reverted | None:
        async with self._locking(lease.group_id) as transaction:
            locked = await _lock_group(
                transaction,
                lease,
                until=now + ttl,
                statement=cypher.LOCK_FOR_REVERSAL,
                turn_id=reversal.receipt.turn_id,
            )
            if not locked["is_committed"]:
                return None
            reverted = await reversals.revert(transaction, reversal, now)
            await transaction.commit()
        return reverted

    async def save_run(self, run: TurnRun) -> None:
        await self._client.read(cypher.SAVE_RUN, run=to_rows.run_row(run))

    async def repair(
        self, lease: Lease, repair: GroupRepair, *, now: datetime, ttl: timedelta
    ) -> None:
        async with self._writing_under(lease, now + ttl) as transaction:
            await reversals.repair(transaction, lease.group_id, repair, now)

    async def write_summaries(
        self, lease: Lease, writes: SummaryWrites, *, now: datetime, ttl: timedelta
    ) -> None:
        async with self._writing_under(lease, now + ttl) as transaction:
            await rows.write_summaries(transaction, writes)
            *_, latest = writes.records
            await transaction.run(cypher.RENUMBER, group=lease.group_id, turn_id=latest)

    async def write_review(
        self, lease: Lease, review: Review, *, now: datetime, ttl: timedelta
    ) -> None:
        async with self._writing_under(lease, now + ttl) as transaction:
            await reversals.write_review(transaction, lease.group_id, review)

    async def write_communities(
        self, lease: Lease, batch: CommunityBatch, *, now: datetime, ttl: timedelta
    ) -> None:
        async with self._writing_under(lease, now + ttl) as transaction:
            await reads.write_communities(transaction, lease.group_id, batch, now)

    async def migrate(
        self,
        leases: Sequence[Lease],
        step: MigrationStep | None,
        migration: TurnMigration | None,
        *,
        now: datetime,
        ttl: timedelta,
    ) -> None:
        first, *others = leases
        async with self._writing_under(first, now + ttl) as transaction:
            for lease in others:
                await _lock_group(transaction, lease, until=now + ttl)
            for query, parameters in change_statements(step, migration, _PATTERNS):
                await (await transaction.run(query, parameters)).consume()

    async def pause(self) -> None:
        """Do nothing: a reader of a server excludes nobody."""

    async def close(self) -> None:
        await self._client.close()

    @asynccontextmanager
    async def _locking(self, group: GroupId) -> AsyncGenerator[AsyncTransaction]:
        """Open a transaction that locks the group; if it does not get the lock, say who has it."""
        try:
            async with self._client.transaction() as transaction:
                yield transaction
        except TransactionTimedOut as error:
            found = await self._client.read(cypher.LEASE_STATE, group=group)
            state = rows.lease_state(found[0]) if found else None
            owner, until = (state.owner, state.until) if state else (None, None)
            waited = f"(waited for {self._client.timeout_seconds:g} s; {LIMIT})"
            raise GraphBusy(f"{locked_group(group, owner, until)} {waited}") from error

    @asynccontextmanager
    async def _writing_under(
        self, lease: Lease, until: datetime
    ) -> AsyncGenerator[AsyncTransaction]:
        """Open a transaction under the lease, which it extends; commit it at the end."""
        async with self._locking(lease.group_id) as transaction:
            await _lock_group(transaction, lease, until=until)
            yield transaction
            await transaction.commit()


async def _lock_group(
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
