"""The store in Ladybug, the embedded graph: one file, one connection, one thread that uses it."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

from turnetl.base.graph_model import (
    CommunityBatch,
    GroupProfile,
    Lease,
    Receipt,
    Reversal,
    Reverted,
    TurnRun,
)
from turnetl.base.ids import RecipeParts
from turnetl.base.model import Change, GroupId, SummaryWrites, TurnId
from turnetl.graph import to_rows
from turnetl.graph.group_repair import GroupRepair
from turnetl.graph.group_tables import GroupTables
from turnetl.graph.ladybug import cypher, reads, rows
from turnetl.graph.ladybug import lease as ladybug_lease
from turnetl.graph.ladybug import reversal as ladybug_reversal
from turnetl.graph.ladybug.client import LadybugClient, Reopen, in_thread
from turnetl.graph.ladybug.file import LadybugFile
from turnetl.graph.ladybug.file_lock import LOCK_TIMEOUT
from turnetl.graph.ladybug.log import change_size
from turnetl.graph.ladybug.migrations import LadybugMigrations
from turnetl.graph.port import LeaseState, grant_lease, new_creation_id


class LadybugStore(LadybugMigrations):
    """`GraphStore` over a Ladybug file."""

    def __init__(self, file: LadybugFile, reopen: Reopen | None = None) -> None:
        """Use an open file; arguments as of `LadybugClient`."""
        self._client = LadybugClient(file, reopen)
        self._space = file.space
        self._is_writer = file.space is not None

    @classmethod
    async def open(cls, path: Path, *, write: bool, wait: bool = True) -> "LadybugStore":
        """Open the file, or create it; arguments and errors as of `open_graph`."""

        def open_file(low_memory: bool) -> LadybugFile:
            timeout = LOCK_TIMEOUT if wait else 0
            return LadybugFile.open(path, write=write, low_memory=low_memory, timeout=timeout)

        file = await _opened(partial(open_file, low_memory=False))
        # A writer keeps the file: another one could change what this one knows of its groups.
        return cls(file, None if write else open_file)

    async def prepare(self) -> None:
        def prepare(client: LadybugClient) -> None:
            if ["TurnCommit"] not in client.query(cypher.TABLES):
                self._check_space()
            for statement in cypher.SCHEMA:
                client.query(statement)

        if self._is_writer:
            await self._client.run(prepare)

    groups = in_thread(reads.groups)
    receipts = in_thread(reads.receipts)
    counts = in_thread(reads.counts)
    recipes = in_thread(reads.recipes)
    load = in_thread(reads.load)
    load_subgraphs = in_thread(reads.load_subgraphs)
    communities = in_thread(reads.communities)
    profile = in_thread(reads.profile)
    versions = in_thread(reads.versions)
    commits = in_thread(reads.commits)
    commit_records = in_thread(reads.commit_records)
    turn_ids = in_thread(reads.turn_ids)
    entities = in_thread(reads.entities)
    facts = in_thread(reads.facts)
    runs = in_thread(reads.runs)
    run_totals = in_thread(reads.run_totals)
    episode_groups = in_thread(reads.episode_groups)
    unrecorded_episodes = in_thread(reads.unrecorded_episodes)
    embedding_sizes = in_thread(reads.embedding_sizes)
    content_state = in_thread(reads.content_state)
    session_level_groups = in_thread(reads.session_level_groups)
    session_level = in_thread(reads.session_level)

    async def tables(self, group: GroupId) -> GroupTables:
        return await self._client.run_in_low_memory(lambda client: reads.tables(client, group))

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
                state = reads.lease_state(client, group) or LeaseState(0, None, False, None, None)
                lease = grant_lease(
                    group, state, profile, owner=owner, now=now, ttl=ttl, is_dead=is_dead
                )
                group_row = to_rows.group_row(lease, profile) | {"creation_id": new_creation_id()}
                client.query(cypher.GRANT, rows.parameters(group_row))
                return lease

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
                if _is_committed(client, change.episode.turn_id):
                    ladybug_lease.check(client, lease)
                    return False
                sequence = ladybug_lease.next_sequence(client, lease, now + ttl)
                statements = rows.statements(change, receipt, now, sequence=sequence)
                for query, parameters, must_match in statements:
                    if not client.query(query, parameters) and must_match:
                        raise to_rows.incomplete_graph(lease.group_id)
            return True

        return await self._client.run(commit)

    async def revert(
        self, lease: Lease, reversal: Reversal, *, now: datetime, ttl: timedelta
    ) -> Reverted | None:
        def revert(client: LadybugClient) -> Reverted | None:
            self._check_space()
            with client.transaction():
                ladybug_lease.check(client, lease)
                if not _is_committed(client, reversal.receipt.turn_id):
                    return None
                ladybug_lease.extend(client, lease, now + ttl)
                return ladybug_reversal.revert(client, reversal, now)

        return await self._client.run(revert)

    async def save_run(self, run: TurnRun) -> None:
        await self._write_row(cypher.SAVE_RUN, rows.parameters(to_rows.run_row(run)))

    async def repair(
        self, lease: Lease, repair: GroupRepair, *, now: datetime, ttl: timedelta
    ) -> None:
        def write(client: LadybugClient) -> None:
            ladybug_reversal.repair(client, lease.group_id, repair, now)

        await self._write_under(lease, now + ttl, write)

    async def write_summaries(
        self, lease: Lease, writes: SummaryWrites, *, now: datetime, ttl: timedelta
    ) -> None:
        def write(client: LadybugClient) -> None:
            sequence = ladybug_lease.next_sequence(client, lease, now + ttl)
            rows.write_summaries(client, writes)
            *_, latest = writes.records
            client.query(cypher.RENUMBER, {"turn_id": latest, "sequence": str(sequence)})

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


def _is_committed(client: LadybugClient, turn: TurnId) -> bool:
    return bool(client.query(cypher.IS_COMMITTED, {"turn_id": turn}))


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
