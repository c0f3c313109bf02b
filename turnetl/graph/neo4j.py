"""A group in Neo4j. The driver is handed in; every write is one transaction of a few statements."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any, LiteralString

from neo4j import AsyncDriver, AsyncGraphDatabase, AsyncTransaction

from turnetl.errors import GraphBusy
from turnetl.graph import commit as rows
from turnetl.graph import neo4j_cypher as cypher
from turnetl.graph import neo4j_rows as table
from turnetl.graph import values
from turnetl.graph.lease import granted, refused
from turnetl.graph.neo4j_errors import AlreadyThere, translated
from turnetl.model import (
    Change,
    GroupContents,
    GroupId,
    Lease,
    Profile,
    Receipt,
)

log = logging.getLogger(__name__)

_SECONDS_TO_CONNECT = 5.0


class Neo4jStore:
    """`GraphStore` over a Neo4j server, 5.26 or later."""

    def __init__(self, driver: AsyncDriver, *, where: str, user: str) -> None:
        self._driver = driver
        self._where = where
        self._user = user

    @classmethod
    async def open(cls, address: str, *, user: str, password: str) -> "Neo4jStore":
        """Connect and see that the server takes the password.

        Raises:
            GraphBusy: no answer.
            GraphRefused: wrong user or password.
        """
        with translated(address, user):
            driver = AsyncGraphDatabase.driver(
                address,
                auth=(user, password) if user else None,
                connection_timeout=_SECONDS_TO_CONNECT,
                connection_acquisition_timeout=4 * _SECONDS_TO_CONNECT,
                notifications_min_severity="OFF",
                telemetry_disabled=True,
                user_agent="turnetl",
            )
        try:
            with translated(address, user):
                await driver.verify_connectivity()
        except BaseException:
            await driver.close()
            raise
        return cls(driver, where=address, user=user)

    async def prepare(self) -> None:
        for statement in cypher.SCHEMA:
            await self._make(statement)
        await self._read(cypher.AWAIT_INDEXES)

    async def _make(self, statement: LiteralString) -> None:
        """Make a piece of the schema; of runs that start at once, one makes it."""
        for pause in (0.1, 0.3, 0.9, 2.7):
            try:
                with suppress(AlreadyThere):
                    await self._read(statement)
            except GraphBusy:
                # Two that make the same at once may lock each other out.
                await asyncio.sleep(pause)
            else:
                return
        with suppress(AlreadyThere):
            await self._read(statement)

    async def groups(self) -> Sequence[GroupId]:
        return [GroupId(row["group_id"]) for row in await self._read(cypher.GROUPS)]

    async def receipts(self, group: GroupId) -> Sequence[Receipt]:
        found = await self._read(cypher.RECEIPTS, group=group)
        receipts = [table.receipt(row) for row in found]
        return sorted(receipts, key=lambda receipt: (receipt.started_at, receipt.turn_id))

    async def counts(self, group: GroupId) -> tuple[int, int, int]:
        [row] = await self._read(cypher.COUNTS, group=group)
        return row["episodes"], row["entities"], row["facts"]

    async def load(self, group: GroupId) -> GroupContents:
        head = await self._read(cypher.HOLDING, group=group)
        entities = [table.entity(row) async for row in self._stream(cypher.ENTITIES, group=group)]
        facts = [table.fact(row) async for row in self._stream(cypher.FACTS, group=group)]
        contents = {row["uuid"]: row["text"] for row in await self._read(cypher.TEXTS, group=group)}
        receipts = await self.receipts(group)
        return GroupContents(
            group_id=group,
            profile=table.holding(head[0]).profile if head else None,
            entities=tuple(sorted(entities, key=lambda entity: (entity.created_at, entity.uuid))),
            facts=tuple(sorted(facts, key=lambda fact: (fact.created_at, fact.uuid))),
            receipts=tuple(receipts),
            texts=values.texts(receipts, contents),
        )

    async def acquire(
        self,
        group: GroupId,
        profile: Profile,
        *,
        owner: str,
        now: datetime,
        ttl: timedelta,
        is_dead: Callable[[str], bool],
    ) -> Lease:
        async with self._transaction() as tx:
            result = await tx.run(cypher.LOCK_OR_CREATE, group=group, owner=owner)
            holding = table.holding((await result.single(strict=True)).data())
            lease = granted(group, holding, profile, owner=owner, now=now, ttl=ttl, is_dead=is_dead)
            await tx.run(cypher.GRANT, group=table.group_row(lease, profile))
            await tx.commit()
        return lease

    async def renew(self, lease: Lease, *, now: datetime, ttl: timedelta) -> None:
        await self._read(cypher.RENEW, lease=asdict(lease), until=now + ttl)

    async def release(self, lease: Lease) -> None:
        await self._read(cypher.RELEASE, lease=asdict(lease))

    async def commit(
        self, lease: Lease, change: Change, receipt: Receipt, *, now: datetime, ttl: timedelta
    ) -> bool:
        async with self._transaction() as tx:
            turn = change.episode.turn_id
            # The first statement locks the TurnGroup, so that what it then reads is the last word.
            result = await tx.run(cypher.GUARD, group=lease.group_id, turn=turn, until=now + ttl)
            guard = await result.single()
            fence, holder = (guard["fence"], guard["owner"]) if guard else (None, None)
            if error := refused(lease, fence, holder):
                raise error
            if guard and guard["committed"]:
                return False
            for statement, parameters in table.statements(change, receipt, now):
                await _write(tx, statement, parameters)
            await tx.commit()
        return True

    async def close(self) -> None:
        await self._driver.close()

    async def _read(self, query: LiteralString, **parameters: Any) -> list[dict[str, Any]]:
        """Run one query of its own and return its rows."""
        return [row async for row in self._stream(query, **parameters)]

    async def _stream(
        self, query: LiteralString, **parameters: Any
    ) -> AsyncGenerator[dict[str, Any]]:
        with translated(self._where, self._user):
            async with self._driver.session() as session:
                async for record in await session.run(query, parameters):
                    yield dict(record)

    @asynccontextmanager
    async def _transaction(self) -> AsyncGenerator[AsyncTransaction]:
        """Give a transaction that is rolled back unless it was committed."""
        with translated(self._where, self._user):
            async with self._driver.session() as session:
                tx = await session.begin_transaction()
                try:
                    yield tx
                finally:
                    await tx.close()


async def _write(
    tx: AsyncTransaction, statement: LiteralString, parameters: dict[str, Any]
) -> None:
    """Run one statement of a turn, and see that none of its rows fell through.

    Raises:
        GraphRefused: the turn names an entity or a fact that the graph does not hold.
    """
    done = await (await tx.run(statement, parameters)).single()
    if done is not None and done["done"] != len(parameters["rows"]):
        raise rows.incomplete(parameters["group"])
