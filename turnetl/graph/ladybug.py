"""A group in Ladybug, the embedded graph: one file, one connection, one thread that uses it.

The database is not asynchronous: every operation runs whole in the store's own thread, so that a
cancelled caller can never leave a transaction half done for the next one.
"""

import asyncio
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Protocol, TypeVar

from turnetl.errors import GraphRefused
from turnetl.graph import commit as rows
from turnetl.graph import ladybug_cypher as cypher
from turnetl.graph import ladybug_rows as table
from turnetl.graph import values
from turnetl.graph.ladybug_file import LadybugFile
from turnetl.graph.lease import Holding, granted, refused
from turnetl.model import Change, GroupContents, GroupId, Lease, Profile, Receipt

T = TypeVar("T")


class Connection(Protocol):
    """What the store needs of a Ladybug connection."""

    def execute(self, query: str, parameters: dict[str, Any] | None = None) -> Any: ...


class LadybugStore:
    """`GraphStore` over a Ladybug file."""

    def __init__(self, connection: Connection, close: Callable[[], None], *, write: bool) -> None:
        """Use an open connection; `close` is called once, in the store's thread."""
        self._connection = connection
        self._close = close
        self._write = write
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="ladybug")
        self._open = True

    @classmethod
    async def open(cls, path: Path, *, write: bool) -> "LadybugStore":
        """Open the file, or make it.

        Raises:
            GraphBusy: another process has it open.
            GraphRefused: it is no graph, or cannot be written.
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
        profile: Profile,
        *,
        owner: str,
        now: datetime,
        ttl: timedelta,
        is_dead: Callable[[str], bool],
    ) -> Lease:
        def take() -> Lease:
            with self._transaction():
                holding = self._holding(group) or Holding(0, None, False, None, None)
                lease = granted(
                    group, holding, profile, owner=owner, now=now, ttl=ttl, is_dead=is_dead
                )
                self._query(cypher.GRANT, table.group_row(lease, profile))
            return lease

        return await self._run(take)

    async def renew(self, lease: Lease, *, now: datetime, ttl: timedelta) -> None:
        until = table.naive(now + ttl)
        await self._run(lambda: self._query(cypher.RENEW, {**_ours(lease), "until": until}))

    async def release(self, lease: Lease) -> None:
        await self._run(lambda: self._query(cypher.RELEASE, _ours(lease)))

    async def commit(
        self, lease: Lease, change: Change, receipt: Receipt, *, now: datetime, ttl: timedelta
    ) -> bool:
        return await self._run(lambda: self._commit(lease, change, receipt, now, ttl))

    async def close(self) -> None:
        if self._open:
            self._open = False
            await asyncio.get_running_loop().run_in_executor(self._thread, self._close)
            self._thread.shutdown(wait=False)

    async def _run(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    def _prepare(self) -> None:
        for statement in cypher.SCHEMA:
            self._query(statement)

    def _commit(
        self, lease: Lease, change: Change, receipt: Receipt, now: datetime, ttl: timedelta
    ) -> bool:
        with self._transaction():
            holding = self._holding(lease.group_id)
            fence, holder = (holding.fence, holding.owner) if holding else (None, None)
            if error := refused(lease, fence, holder):
                raise error
            if self._query(cypher.COMMITTED, {"turn": change.episode.turn_id}):
                return False
            for statement, parameters, must_match in table.statements(change, receipt, now):
                if not self._query(statement, parameters) and must_match:
                    raise rows.incomplete(lease.group_id)
            self._query(cypher.RENEW, {**_ours(lease), "until": table.naive(now + ttl)})
        return True

    def _holding(self, group: GroupId) -> Holding | None:
        found = self._query(cypher.HOLDING, {"group_id": group})
        if not found:
            return None
        used = bool(self._query(cypher.USED, {"group_id": group}))
        return table.holding(found[0], used=used)

    def _receipts(self, group: GroupId) -> list[Receipt]:
        receipts = [table.receipt(row) for row in self._query(cypher.RECEIPTS, {"group_id": group})]
        return sorted(receipts, key=lambda receipt: (receipt.started_at, receipt.turn_id))

    def _counts(self, group: GroupId) -> tuple[int, int, int]:
        counts = [self._query(query, {"group_id": group})[0][0] for query in cypher.COUNTS]
        return counts[0], counts[1], counts[2]

    def _load(self, group: GroupId) -> GroupContents:
        holding = self._holding(group)
        entities = table.entities(self._table(cypher.ENTITIES, {"group_id": group}))
        facts = table.facts(self._table(cypher.FACTS, {"group_id": group}))
        receipts = self._receipts(group)
        contents = dict(self._query(cypher.TEXTS, {"group_id": group}))
        return GroupContents(
            group_id=group,
            profile=holding.profile if holding else None,
            entities=tuple(sorted(entities, key=lambda entity: (entity.created_at, entity.uuid))),
            facts=tuple(sorted(facts, key=lambda fact: (fact.created_at, fact.uuid))),
            receipts=tuple(receipts),
            texts=values.texts(receipts, contents),
        )

    @contextmanager
    def _transaction(self) -> Generator[None]:
        """Commit what is done inside if nothing is raised; whatever is raised undoes it all."""
        self._query("BEGIN TRANSACTION")
        try:
            yield
            self._query("COMMIT")
        except BaseException:
            # A statement that fails ends the transaction by itself; then there is none to undo.
            with suppress(RuntimeError, GraphRefused):
                self._query("ROLLBACK")
            raise

    def _query(self, query: str, parameters: Mapping[str, Any] | None = None) -> list[Any]:
        """Run one statement and return its rows as lists."""
        with _translated():
            result = self._connection.execute(query, dict(parameters or {}))
            found: list[Any] = result.get_all()
            result.close()
            return found

    def _table(self, query: str, parameters: Mapping[str, Any]) -> Any:
        """Run one query and return its rows as an Arrow table: vectors never become objects."""
        with _translated():
            return self._connection.execute(query, dict(parameters)).get_as_arrow(-1)


@contextmanager
def _translated() -> Generator[None]:
    try:
        yield
    except RuntimeError as error:
        # Cut short, so that no text of a turn gets into a message.
        said = (str(error).splitlines() or [""])[0][:160]
        raise GraphRefused(
            f"the embedded graph refused a statement: {said}; see that the disk is not full and "
            "that the file may be written"
        ) from error


def _ours(lease: Lease) -> dict[str, Any]:
    return {"group_id": lease.group_id, "owner": lease.owner, "fence": str(lease.fence)}
