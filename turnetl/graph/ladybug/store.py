"""The store in Ladybug, the embedded graph: one file, one connection, one thread that uses it."""

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future
from datetime import datetime, timedelta
from pathlib import Path

from turnetl.base.graph_model import (
    CommitRecord,
    CommittedTurn,
    Community,
    CommunityBatch,
    GroupContents,
    GroupProfile,
    GroupVersion,
    Lease,
    Receipt,
    Reversal,
    Reverted,
    RunTotals,
    Subgraphs,
    TurnRun,
)
from turnetl.base.ids import RecipeParts
from turnetl.base.model import Change, Entity, Fact, GroupId, SummaryWrites, TurnId
from turnetl.graph import to_rows
from turnetl.graph.group_repair import GroupRepair
from turnetl.graph.group_tables import GroupTables
from turnetl.graph.ladybug import cypher, group_repair, reads, rows, summaries
from turnetl.graph.ladybug import lease as ladybug_lease
from turnetl.graph.ladybug import reversal as ladybug_reversal
from turnetl.graph.ladybug.client import LadybugClient, LadybugConnection, OpenConnection, Reopen
from turnetl.graph.ladybug.commit import is_committed, write_turn
from turnetl.graph.ladybug.file import LOCK_TIMEOUT, LadybugFile
from turnetl.graph.ladybug.log import DiskSpace, change_size
from turnetl.graph.ladybug.migrations import LadybugMigrations
from turnetl.graph.ladybug.reads import LadybugSessionLevelReader


class LadybugStore(LadybugSessionLevelReader, LadybugMigrations):
    """`GraphStore` over a Ladybug file."""

    def __init__(
        self,
        connection: LadybugConnection,
        close: Callable[[], None],
        *,
        write: bool,
        reopen: Reopen | None = None,
        space: DiskSpace | None = None,
        abandon: Callable[[], None] | None = None,
    ) -> None:
        """Use an open connection; arguments as of `LadybugClient`, and these.

        Args:
            write: whether it is open for writing.
            space: checked before each transaction; None: not checked.
        """
        self._client = LadybugClient(connection, close, reopen, abandon)
        self._write = write
        self._space = space

    @classmethod
    async def open(cls, path: Path, *, write: bool, wait: bool = True) -> "LadybugStore":
        """Open the file, or create it; arguments as of `open_graph`.

        Raises:
            GraphBusy: another process has it open.
            GraphUnusable: it is not a graph, is of another version, or cannot be written.
        """

        def open_file(*, low_memory: bool = False) -> LadybugFile:
            timeout = LOCK_TIMEOUT if wait else 0
            return LadybugFile.open(path, write=write, low_memory=low_memory, timeout=timeout)

        def reopen(low_memory: bool) -> OpenConnection:
            file = open_file(low_memory=low_memory)
            return file.connection, file.close

        file = await _opened(open_file)
        # A writer keeps the file: another one could change what this one knows of its groups.
        reopen_reader = None if write else reopen
        return cls(
            file.connection,
            file.close,
            write=write,
            reopen=reopen_reader,
            space=file.space,
            abandon=file.abandon if write else None,
        )

    async def prepare(self) -> None:
        def prepare(client: LadybugClient) -> None:
            if ["TurnCommit"] not in client.query(cypher.TABLES):
                self._check_space()
            for statement in cypher.SCHEMA:
                client.query(statement)

        if self._write:
            await self._client.run(prepare)

    async def groups(self) -> Sequence[GroupId]:
        return await self._client.run(reads.groups)

    async def receipts(self, group: GroupId) -> Sequence[Receipt]:
        return await self._client.run(lambda client: reads.receipts(client, group))

    async def counts(self, group: GroupId) -> tuple[int, int, int]:
        return await self._client.run(lambda client: reads.counts(client, group))

    async def recipes(self, digests: Collection[str]) -> Mapping[str, RecipeParts]:
        return await self._client.run(lambda client: reads.recipes(client, digests))

    async def load(self, group: GroupId) -> GroupContents:
        return await self._client.run(lambda client: reads.load(client, group))

    async def load_subgraphs(self, group: GroupId) -> Subgraphs:
        return await self._client.run(lambda client: reads.load_subgraphs(client, group))

    async def communities(self, group: GroupId) -> Sequence[Community]:
        return await self._client.run(lambda client: reads.read_communities(client, group))

    async def profile(self, group: GroupId) -> GroupProfile | None:
        return await self._client.run(lambda client: reads.profile(client, group))

    async def versions(self) -> Mapping[GroupId, GroupVersion]:
        return await self._client.run(reads.versions)

    async def commits(self, group: GroupId, after: int, limit: int) -> Sequence[CommittedTurn]:
        return await self._client.run(lambda client: reads.commits(client, group, after, limit))

    async def commit_records(
        self, group: GroupId, turns: Collection[TurnId] | None = None
    ) -> Sequence[CommitRecord]:
        return await self._client.run(lambda client: reads.commit_records(client, group, turns))

    async def tables(self, group: GroupId) -> GroupTables:
        return await self._client.run_in_low_memory(
            lambda client: group_repair.read_tables(client, group)
        )

    async def turn_ids(self, group: GroupId) -> frozenset[TurnId]:
        return await self._client.run(lambda client: reads.turn_ids(client, group))

    async def entities(self, group: GroupId, uuids: Collection[str]) -> Sequence[Entity]:
        return await self._client.run(lambda client: reads.entities(client, group, uuids))

    async def facts(self, group: GroupId, uuids: Collection[str]) -> Sequence[Fact]:
        return await self._client.run(lambda client: reads.facts(client, group, uuids))

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
        def acquire(client: LadybugClient) -> Lease:
            self._check_space()
            with client.transaction():
                return ladybug_lease.acquire(
                    client, group, profile, owner=owner, now=now, ttl=ttl, is_dead=is_dead
                )

        return await self._client.run(acquire)

    async def record_recipe(self, parts: RecipeParts) -> None:
        await self._write_row(cypher.SAVE_RECIPE, to_rows.recipe_row(parts))

    async def renew(self, lease: Lease, *, now: datetime, ttl: timedelta) -> None:
        await self._write_row(cypher.RENEW, ladybug_lease.parameters(lease, until=now + ttl))

    async def release(self, lease: Lease) -> None:
        await self._write_row(cypher.RELEASE, ladybug_lease.parameters(lease))

    async def commit(
        self, lease: Lease, change: Change, receipt: Receipt, *, now: datetime, ttl: timedelta
    ) -> bool:
        def commit(client: LadybugClient) -> bool:
            self._check_space(change_size(change))
            with client.transaction():
                if is_committed(client, change.episode.turn_id):
                    ladybug_lease.check(client, lease)
                    return False
                write_turn(client, lease, change, receipt, now=now, until=now + ttl)
            return True

        return await self._client.run(commit)

    async def revert(
        self, lease: Lease, reversal: Reversal, *, now: datetime, ttl: timedelta
    ) -> Reverted | None:
        def revert(client: LadybugClient) -> Reverted | None:
            self._check_space()
            with client.transaction():
                ladybug_lease.check(client, lease)
                if not is_committed(client, reversal.receipt.turn_id):
                    return None
                ladybug_lease.extend(client, lease, now + ttl)
                return ladybug_reversal.revert(client, reversal, now)

        return await self._client.run(revert)

    async def save_run(self, run: TurnRun) -> None:
        await self._write_row(cypher.SAVE_RUN, rows.run_parameters(run))

    async def runs(self) -> Sequence[TurnRun]:
        return await self._client.run(reads.runs)

    async def run_totals(self) -> Mapping[str, RunTotals]:
        return await self._client.run(reads.run_totals)

    async def repair(
        self, lease: Lease, repair: GroupRepair, *, now: datetime, ttl: timedelta
    ) -> None:
        def write(client: LadybugClient) -> None:
            group_repair.repair(client, lease.group_id, repair, now)

        await self._write_under(lease, now + ttl, write)

    async def write_summaries(
        self, lease: Lease, writes: SummaryWrites, *, now: datetime, ttl: timedelta
    ) -> None:
        def write(client: LadybugClient) -> None:
            sequence = ladybug_lease.next_sequence(client, lease, now + ttl)
            summaries.write_numbered(client, writes, sequence)

        await self._write_under(lease, now + ttl, write)

    async def write_communities(
        self, lease: Lease, batch: CommunityBatch, *, now: datetime, ttl: timedelta
    ) -> None:
        def write(client: LadybugClient) -> None:
            reads.write_communities(client, lease.group_id, batch, now)

        await self._write_under(lease, now + ttl, write)

    async def pause(self) -> None:
        await self._client.pause()

    async def close(self) -> None:
        await self._client.close()


async def _opened(open_file: Callable[[], LadybugFile]) -> LadybugFile:
    """Open a file in a thread; it is closed again if the task was cancelled meanwhile."""
    opened: Future[LadybugFile] = Future()

    def open_in_thread() -> None:
        try:
            opened.set_result(open_file())
        except Exception as error:  # noqa: BLE001 - raised where it is waited for
            opened.set_exception(error)

    try:
        await asyncio.to_thread(open_in_thread)
    except asyncio.CancelledError:
        opened.add_done_callback(_close)
        raise
    return opened.result()


def _close(opened: Future[LadybugFile]) -> None:
    if opened.exception() is None:
        opened.result().close()
