"""The store in Ladybug, the embedded graph: one file, one connection, one thread that uses it.

The database is not asynchronous: every operation runs completely in the store's own thread, so a
cancelled caller cannot leave a transaction half done for the next one.
"""

import asyncio
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Protocol, TypeVar

from turnetl.errors import GraphUnusable
from turnetl.graph import ladybug_cypher as cypher
from turnetl.graph import ladybug_rows, to_rows
from turnetl.graph.from_rows import turn_texts
from turnetl.graph.ladybug_file import LadybugFile
from turnetl.graph.lease import LeaseState, grant, lost_lease
from turnetl.model import Change, GroupContents, GroupId, GroupProfile, Lease, Receipt

T = TypeVar("T")


class LadybugConnection(Protocol):
    """The part of a Ladybug connection that the store uses."""

    def execute(self, query: str, parameters: dict[str, Any] | None = None) -> Any: ...


class LadybugStore:
    """`GraphStore` over a Ladybug file."""

    def __init__(
        self, connection: LadybugConnection, close: Callable[[], None], *, write: bool
    ) -> None:
        """Use an open connection; `close` is called once, in the store's thread."""
        self._connection = connection
        self._close = close
        self._write = write
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="ladybug")
        self._is_open = True

    @classmethod
    async def open(cls, path: Path, *, write: bool) -> "LadybugStore":
        """Open the file, or create it.

        Raises:
            GraphBusy: another process has it open.
            GraphUnusable: it is not a graph, is of another version, or cannot be written.
        """
        file = await asyncio.to_thread(LadybugFile.open, path, write=write)
        return cls(file.connection, file.close, write=write)

    async def prepare(self) -> None:
        if self._write:
            await self._run(self._prepare)

    async def groups(self) -> Sequence[GroupId]:
        return await self._run(
            lambda: [GroupId(name) for (name,) in self._query(cypher.GROUPS)],
        )

    async def receipts(self, group: GroupId) -> Sequence[Receipt]:
        return await self._run(lambda: self._receipts(group))

    async def counts(self, group: GroupId) -> tuple[int, int, int]:
        return await self._run(lambda: self._counts(group))

    async def load(self, group: GroupId) -> GroupContents:
        return await self._run(lambda: self._load(group))

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
        def acquire() -> Lease:
            with self._transaction():
                state = self._lease_state(group) or LeaseState(0, None, False, None, None)
                lease = grant(group, state, profile, owner=owner, now=now, ttl=ttl, is_dead=is_dead)
                self._query(cypher.GRANT, ladybug_rows.group_parameters(lease, profile))
            return lease

        return await self._run(acquire)

    async def renew(self, lease: Lease, *, now: datetime, ttl: timedelta) -> None:
        until = ladybug_rows.without_zone(now + ttl)
        parameters = {**_lease_parameters(lease), "until": until}
        await self._run(lambda: self._query(cypher.RENEW, parameters))

    async def release(self, lease: Lease) -> None:
        await self._run(lambda: self._query(cypher.RELEASE, _lease_parameters(lease)))

    async def commit(
        self, lease: Lease, change: Change, receipt: Receipt, *, now: datetime, ttl: timedelta
    ) -> bool:
        return await self._run(lambda: self._commit(lease, change, receipt, now, ttl))

    async def close(self) -> None:
        if self._is_open:
            self._is_open = False
            await asyncio.get_running_loop().run_in_executor(self._thread, self._close)
            self._thread.shutdown(wait=False)

    async def _run(self, operation: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, operation)

    def _prepare(self) -> None:
        for statement in cypher.SCHEMA:
            self._query(statement)

    def _commit(
        self, lease: Lease, change: Change, receipt: Receipt, now: datetime, ttl: timedelta
    ) -> bool:
        with self._transaction():
            state = self._lease_state(lease.group_id)
            fence, owner = (state.fence, state.owner) if state else (None, None)
            if error := lost_lease(lease, fence, owner):
                raise error
            if self._query(cypher.IS_COMMITTED, {"turn_id": change.episode.turn_id}):
                return False
            for query, parameters, must_match in ladybug_rows.statements(change, receipt, now):
                if not self._query(query, parameters) and must_match:
                    raise to_rows.incomplete_graph(lease.group_id)
            until = ladybug_rows.without_zone(now + ttl)
            self._query(cypher.RENEW, {**_lease_parameters(lease), "until": until})
        return True

    def _lease_state(self, group: GroupId) -> LeaseState | None:
        rows = self._query(cypher.LEASE_STATE, {"group_id": group})
        if not rows:
            return None
        used = bool(self._query(cypher.HAS_TURNS, {"group_id": group}))
        return ladybug_rows.lease_state(rows[0], used=used)

    def _receipts(self, group: GroupId) -> list[Receipt]:
        rows = self._query(cypher.RECEIPTS, {"group_id": group})
        receipts = [ladybug_rows.receipt(row) for row in rows]
        return sorted(receipts, key=lambda receipt: (receipt.started_at, receipt.turn_id))

    def _counts(self, group: GroupId) -> tuple[int, int, int]:
        counts = [self._query(query, {"group_id": group})[0][0] for query in cypher.COUNTS]
        return counts[0], counts[1], counts[2]

    def _load(self, group: GroupId) -> GroupContents:
        state = self._lease_state(group)
        entities = ladybug_rows.entities(self._table(cypher.ENTITIES, {"group_id": group}))
        facts = ladybug_rows.facts(self._table(cypher.FACTS, {"group_id": group}))
        receipts = self._receipts(group)
        contents = dict(self._query(cypher.EPISODE_CONTENTS, {"group_id": group}))
        return GroupContents(
            group_id=group,
            profile=state.profile if state else None,
            entities=tuple(sorted(entities, key=lambda entity: (entity.created_at, entity.uuid))),
            facts=tuple(sorted(facts, key=lambda fact: (fact.created_at, fact.uuid))),
            receipts=tuple(receipts),
            texts=turn_texts(receipts, contents),
        )

    @contextmanager
    def _transaction(self) -> Generator[None]:
        """Commit the transaction at the end of the block; roll it back on any exception."""
        self._query("BEGIN TRANSACTION")
        try:
            yield
            self._query("COMMIT")
        except BaseException:
            # A statement that fails ends the transaction; there is then nothing to roll back.
            with suppress(RuntimeError, GraphUnusable):
                self._query("ROLLBACK")
            raise

    def _query(self, query: str, parameters: Mapping[str, Any] | None = None) -> list[Any]:
        """Run one statement and return its rows as lists."""
        with _translate_errors():
            result = self._connection.execute(query, dict(parameters or {}))
            rows: list[Any] = result.get_all()
            result.close()
            return rows

    def _table(self, query: str, parameters: Mapping[str, Any]) -> Any:
        """Run one query and return its rows as an Arrow table: vectors never become objects."""
        with _translate_errors():
            return self._connection.execute(query, dict(parameters)).get_as_arrow(-1)


@contextmanager
def _translate_errors() -> Generator[None]:
    try:
        yield
    except RuntimeError as error:
        # Truncated, so that no text of a turn gets into a message.
        reason = (str(error).splitlines() or [""])[0][:160]
        raise GraphUnusable(
            f"the embedded graph rejected a statement: {reason}; check that the disk is not full "
            "and that the file is writable"
        ) from error


def _lease_parameters(lease: Lease) -> dict[str, Any]:
    return {"group_id": lease.group_id, "owner": lease.owner, "fence": str(lease.fence)}
