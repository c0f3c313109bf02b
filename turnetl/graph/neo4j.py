"""A group in Neo4j. The driver is handed in; every write is one transaction of a few statements."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Any, LiteralString

from neo4j import AsyncDriver, AsyncGraphDatabase, AsyncTransaction
from neo4j.time import DateTime

from turnetl.errors import GraphBusy
from turnetl.graph import commit as rows
from turnetl.graph import neo4j_cypher as cypher
from turnetl.graph import values
from turnetl.graph.lease import Holding, granted, refused
from turnetl.graph.neo4j_errors import AlreadyThere, translated
from turnetl.llm.vectors import packed
from turnetl.model import (
    Change,
    Entity,
    Fact,
    GroupContents,
    GroupId,
    Lease,
    Profile,
    Receipt,
    Vector,
)

log = logging.getLogger(__name__)

_SECONDS_TO_CONNECT = 5.0
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TIMES_OF_ENTITY = ("created_at",)
_TIMES_OF_FACT = ("created_at", "valid_at", "invalid_at", "expired_at", "reference_time")
_Parameters = dict[str, Any]


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
        receipts = [values.receipt(_timed(row["commit"])) for row in found]
        return sorted(receipts, key=lambda receipt: (receipt.started_at, receipt.turn_id))

    async def counts(self, group: GroupId) -> tuple[int, int, int]:
        [row] = await self._read(cypher.COUNTS, group=group)
        return row["episodes"], row["entities"], row["facts"]

    async def load(self, group: GroupId) -> GroupContents:
        head = await self._read(cypher.HOLDING, group=group)
        entities = [_entity(row) async for row in self._stream(cypher.ENTITIES, group=group)]
        facts = [_fact(row) async for row in self._stream(cypher.FACTS, group=group)]
        contents = {row["uuid"]: row["text"] for row in await self._read(cypher.TEXTS, group=group)}
        receipts = await self.receipts(group)
        return GroupContents(
            group_id=group,
            profile=_holding(head[0]).profile if head else None,
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
            holding = _holding((await result.single(strict=True)).data())
            lease = granted(group, holding, profile, owner=owner, now=now, ttl=ttl, is_dead=is_dead)
            await tx.run(cypher.GRANT, group=_group_row(lease, profile))
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
            for statement, parameters in statements(change, receipt, now):
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


def statements(
    change: Change, receipt: Receipt, now: datetime
) -> list[tuple[LiteralString, _Parameters]]:
    """Return all that a turn writes, in order, with parameters.

    Nothing of it may be there yet but the entities and facts of `*_before` and the neighbours.
    """
    shared = {"group": receipt.group_id, "now": now}
    todo: list[tuple[LiteralString, _Parameters]] = [
        (cypher.TURN, shared | _turn(change, receipt, now))
    ]
    changed = {fact.uuid for fact in change.facts_before}
    parts: list[tuple[LiteralString, list[dict[str, Any]]]] = [
        (cypher.DROP_LABELS, _dropped_labels(change)),
        (cypher.SAVE_ENTITIES, [_entity_row(entity) for entity in change.entities]),
        (cypher.NEW_FACTS, [_fact_row(fact) for fact in change.facts if fact.uuid not in changed]),
        (cypher.SET_FACTS, [_fact_row(fact) for fact in change.facts if fact.uuid in changed]),
        (cypher.MENTIONS, [asdict(link) for link in rows.mentions(change)]),
        (cypher.UNLINK, [asdict(link) for link in rows.outdated_links(change)]),
        (cypher.LINK, [asdict(link) for link in rows.next_links(change)]),
    ]
    return todo + [(query, {**shared, "rows": part}) for query, part in parts if part]


def _turn(change: Change, receipt: Receipt, now: datetime) -> _Parameters:
    """Return the parameters of `cypher.TURN`."""
    episodes, links = rows.episode_rows(change, now), rows.saga_links(change)
    return {
        "saga": rows.saga_row(change, now),
        "first": links[0].target if change.previous_turn is None else None,
        "last": links[-1].target if change.next_turn is None else None,
        "commit": rows.commit_row(change, receipt),
        "episodes": [
            {"episode": episode, "link": link.uuid}
            for episode, link in zip(episodes, links, strict=True)
        ],
    }


async def _write(tx: AsyncTransaction, statement: LiteralString, parameters: _Parameters) -> None:
    """Run one statement of a turn, and see that none of its rows fell through.

    Raises:
        GraphRefused: the turn names an entity or a fact that the graph does not hold.
    """
    done = await (await tx.run(statement, parameters)).single()
    if done is not None and done["done"] != len(parameters["rows"]):
        raise rows.incomplete(parameters["group"])


def _entity_row(entity: Entity) -> dict[str, Any]:
    return rows.entity_row(entity) | rows.attributes(entity)


def _fact_row(fact: Fact) -> dict[str, Any]:
    return rows.fact_row(fact) | rows.attributes(fact)


def _dropped_labels(change: Change) -> list[dict[str, Any]]:
    now = {entity.uuid: set(entity.labels) for entity in change.entities}
    gone = {e.uuid: set(e.labels) - now.get(e.uuid, set(e.labels)) for e in change.entities_before}
    return [{"uuid": uuid, "labels": sorted(labels)} for uuid, labels in gone.items() if labels]


def _group_row(lease: Lease, profile: Profile) -> dict[str, Any]:
    return {
        "group_id": lease.group_id,
        "embedder": profile.embedder,
        "dimensions": profile.dimensions,
        "recipe": profile.recipe,
        "lease_owner": lease.owner,
        "lease_until": lease.until,
        "fence": lease.fence,
    }


def _holding(row: Mapping[str, Any]) -> Holding:
    group = _timed(row["holding"])
    made = "embedder" in group
    return Holding(
        fence=group.get("fence", 0),
        profile=Profile(group["embedder"], group["dimensions"], group["recipe"]) if made else None,
        used=row["used"],
        owner=group.get("lease_owner"),
        until=group.get("lease_until"),
    )


def _entity(row: Mapping[str, Any]) -> Entity:
    properties = _since_epoch(row["properties"], _TIMES_OF_ENTITY)
    properties["labels"] = row["labels"]
    return values.entity(properties, properties, _vector(properties.get("name_embedding")))


def _fact(row: Mapping[str, Any]) -> Fact:
    properties = _since_epoch(row["properties"], _TIMES_OF_FACT)
    properties["source_node_uuid"] = row["source"]
    properties["target_node_uuid"] = row["target"]
    return values.fact(properties, properties, _vector(properties.get("fact_embedding")))


def _vector(numbers: list[float] | None) -> Vector | None:
    return None if numbers is None else packed(numbers)


def _since_epoch(row: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Return the row with its times, given in microseconds, as Python's, in UTC."""
    times = ((name, row.get(name)) for name in names)
    made = {name: _EPOCH + timedelta(microseconds=at) for name, at in times if at is not None}
    return {**row, **made}


def _timed(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row with its times as Python's, in UTC."""
    return {
        name: value.to_native().astimezone(UTC) if isinstance(value, DateTime) else value
        for name, value in row.items()
    }
