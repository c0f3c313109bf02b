"""The store in Neo4j. The driver is passed in; every write is one transaction."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any, LiteralString

from neo4j import AsyncDriver, AsyncGraphDatabase, AsyncTransaction

from turnetl.errors import GraphBusy
from turnetl.graph import neo4j_cypher as cypher
from turnetl.graph import neo4j_rows, schema_version, to_rows
from turnetl.graph.from_rows import turn_texts
from turnetl.graph.lease import grant, lost_lease
from turnetl.graph.neo4j_errors import AlreadyExists, translate_errors
from turnetl.model import Change, GroupContents, GroupId, GroupProfile, Lease, Receipt

_CONNECT_TIMEOUT = 5.0
"""Seconds."""


class Neo4jStore:
    """`GraphStore` over a Neo4j server, 5.26 or later."""

    def __init__(self, driver: AsyncDriver, *, address: str, user: str) -> None:
        """Use an open driver; address and user are for messages."""
        self._driver = driver
        self._address = address
        self._user = user

    @classmethod
    async def open(cls, address: str, *, user: str, password: str) -> "Neo4jStore":
        """Connect, and check the password and the version of the graph.

        Raises:
            GraphBusy: no answer.
            GraphUnusable: wrong user or password, or a graph of another version.
        """
        with translate_errors(address, user):
            driver = AsyncGraphDatabase.driver(
                address,
                auth=(user, password) if user else None,
                connection_timeout=_CONNECT_TIMEOUT,
                connection_acquisition_timeout=4 * _CONNECT_TIMEOUT,
                notifications_min_severity="OFF",
                telemetry_disabled=True,
                user_agent="turnetl",
            )
        store = cls(driver, address=address, user=user)
        try:
            with translate_errors(address, user):
                await driver.verify_connectivity()
            await store._check_version()
        except BaseException:
            await driver.close()
            raise
        return store

    async def _check_version(self) -> None:
        for row in await self._read(cypher.OTHER_VERSION, version=schema_version.CURRENT):
            raise schema_version.other_version(self._address, row["version"])

    async def prepare(self) -> None:
        for statement in cypher.SCHEMA:
            await self._create(statement)
        await self._read(cypher.AWAIT_INDEXES)

    async def _create(self, statement: LiteralString) -> None:
        """Create an index or constraint; of several concurrent runs, one creates it."""
        for delay in (0.1, 0.3, 0.9, 2.7):
            try:
                with suppress(AlreadyExists):
                    await self._read(statement)
            except GraphBusy:
                # Two concurrent creations may lock each other out.
                await asyncio.sleep(delay)
            else:
                return
        with suppress(AlreadyExists):
            await self._read(statement)

    async def groups(self) -> Sequence[GroupId]:
        return [GroupId(row["group_id"]) for row in await self._read(cypher.GROUPS)]

    async def receipts(self, group: GroupId) -> Sequence[Receipt]:
        rows = await self._read(cypher.RECEIPTS, group=group)
        receipts = [neo4j_rows.receipt(row) for row in rows]
        return sorted(receipts, key=lambda receipt: (receipt.started_at, receipt.turn_id))

    async def counts(self, group: GroupId) -> tuple[int, int, int]:
        [row] = await self._read(cypher.COUNTS, group=group)
        return row["episodes"], row["entities"], row["facts"]

    async def load(self, group: GroupId) -> GroupContents:
        state = await self._read(cypher.LEASE_STATE, group=group)
        entity_rows = self._stream(cypher.ENTITIES, group=group)
        entities = [neo4j_rows.entity(row) async for row in entity_rows]
        facts = [neo4j_rows.fact(row) async for row in self._stream(cypher.FACTS, group=group)]
        episodes = await self._read(cypher.EPISODE_CONTENTS, group=group)
        receipts = await self.receipts(group)
        return GroupContents(
            group_id=group,
            profile=neo4j_rows.lease_state(state[0]).profile if state else None,
            entities=tuple(sorted(entities, key=lambda entity: (entity.created_at, entity.uuid))),
            facts=tuple(sorted(facts, key=lambda fact: (fact.created_at, fact.uuid))),
            receipts=tuple(receipts),
            texts=turn_texts(receipts, {row["uuid"]: row["content"] for row in episodes}),
        )

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
        async with self._transaction() as transaction:
            result = await transaction.run(cypher.LOCK_OR_CREATE, group=group, owner=owner)
            state = neo4j_rows.lease_state((await result.single(strict=True)).data())
            lease = grant(group, state, profile, owner=owner, now=now, ttl=ttl, is_dead=is_dead)
            properties = neo4j_rows.group_properties(lease, profile)
            await transaction.run(cypher.GRANT, group=properties)
            await transaction.commit()
        return lease

    async def renew(self, lease: Lease, *, now: datetime, ttl: timedelta) -> None:
        await self._read(cypher.RENEW, lease=asdict(lease), until=now + ttl)

    async def release(self, lease: Lease) -> None:
        await self._read(cypher.RELEASE, lease=asdict(lease))

    async def commit(
        self, lease: Lease, change: Change, receipt: Receipt, *, now: datetime, ttl: timedelta
    ) -> bool:
        async with self._transaction() as transaction:
            turn_id = change.episode.turn_id
            # The first statement locks the TurnGroup, so that what it reads stays current.
            result = await transaction.run(
                cypher.CHECK_LEASE, group=lease.group_id, turn_id=turn_id, until=now + ttl
            )
            state = await result.single()
            fence, owner = (state["fence"], state["owner"]) if state else (None, None)
            if error := lost_lease(lease, fence, owner):
                raise error
            if state and state["is_committed"]:
                return False
            for query, parameters in neo4j_rows.statements(change, receipt, now):
                await _write(transaction, query, parameters)
            await transaction.commit()
        return True

    async def close(self) -> None:
        await self._driver.close()

    async def _read(self, query: LiteralString, **parameters: Any) -> list[dict[str, Any]]:
        """Run one query in its own transaction and return its rows."""
        return [row async for row in self._stream(query, **parameters)]

    async def _stream(
        self, query: LiteralString, **parameters: Any
    ) -> AsyncGenerator[dict[str, Any]]:
        with translate_errors(self._address, self._user):
            async with self._driver.session() as session:
                async for record in await session.run(query, parameters):
                    yield dict(record)

    @asynccontextmanager
    async def _transaction(self) -> AsyncGenerator[AsyncTransaction]:
        """Open a transaction that is rolled back unless it was committed."""
        with translate_errors(self._address, self._user):
            async with self._driver.session() as session:
                transaction = await session.begin_transaction()
                try:
                    yield transaction
                finally:
                    await transaction.close()


async def _write(
    transaction: AsyncTransaction, query: LiteralString, parameters: dict[str, Any]
) -> None:
    """Run one statement of a turn, and check that it wrote all of its rows.

    Raises:
        GraphUnusable: the turn names an entity or a fact that the graph does not hold.
    """
    result = await (await transaction.run(query, parameters)).single()
    if result is not None and result["done"] != len(parameters["rows"]):
        raise to_rows.incomplete_graph(parameters["group"])
