"""The store in Ladybug, the embedded graph: one file, one connection, one thread that uses it."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

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
from turnetl.base.model import Change, GroupId, SummaryWrites, TurnId
from turnetl.graph import to_rows
from turnetl.graph.group_repair import GroupRepair
from turnetl.graph.group_tables import GroupTables
from turnetl.graph.ladybug import cypher, reads, rows
from turnetl.graph.ladybug import reversal as reversals
from turnetl.graph.ladybug.client import LadybugClient, Reopen, in_thread
from turnetl.graph.ladybug.file import LOCK_TIMEOUT, LadybugFile
from turnetl.graph.ladybug.log import change_size
from turnetl.graph.migrations import (
    MigrationStep,
    MigrationSummary,
    MovedKind,
    StepPatterns,
    TurnMigration,
    change_statements,
    decoded,
    summaries,
)
from turnetl.graph.port import LeaseState, check_lease, grant_lease, new_creation_id

_PATTERNS = StepPatterns(
    fact="MATCH (item:RelatesToNode_ {uuid: uuid})",
    # A pattern without a table would read all of them.
    edges={
        MovedKind.COMMUNITIES: (
            "MATCH (:Community {uuid: uuid})-[item:HAS_MEMBER]->(:Entity)",
            "MATCH (:Community {uuid: uuid})-[item:HAS_MEMBER]->(:Community)",
        ),
        MovedKind.SAGAS: ("MATCH (:Saga {uuid: uuid})-[item:HAS_EPISODE]->(:Episodic)",),
        MovedKind.EPISODES: (
            "MATCH (:Episodic {uuid: uuid})-[item:MENTIONS]->(:Entity)",
            "MATCH (:Episodic {uuid: uuid})-[item:NEXT_EPISODE]->(:Episodic)",
        ),
    },
    is_used="""
    (EXISTS { MATCH (item)-[:RELATES_TO]-(:RelatesToNode_) }
     OR EXISTS { MATCH (:Episodic)-[:MENTIONS]->(item) })
    """,
)


class LadybugStore:
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
    other_relations = in_thread(reads.other_relations)

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
        await self._write_row(cypher.RENEW, _lease_parameters(lease, until=now + ttl))

    async def release(self, lease: Lease) -> None:
        await self._write_row(cypher.RELEASE, _lease_parameters(lease))

    async def commit(
        self, lease: Lease, change: Change, receipt: Receipt, *, now: datetime, ttl: timedelta
    ) -> bool:
        def commit(client: LadybugClient) -> bool:
            self._check_space(change_size(change))
            with client.transaction():
                if _is_committed(client, change.episode.turn_id):
                    _check(client, lease)
                    return False
                sequence = _next_sequence(client, lease, now + ttl)
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
                _check(client, lease)
                if not _is_committed(client, reversal.receipt.turn_id):
                    return None
                _extend(client, lease, now + ttl)
                return reversals.revert(client, reversal, now)

        return await self._client.run(revert)

    async def save_run(self, run: TurnRun) -> None:
        await self._write_row(cypher.SAVE_RUN, rows.parameters(to_rows.run_row(run)))

    async def repair(
        self, lease: Lease, repair: GroupRepair, *, now: datetime, ttl: timedelta
    ) -> None:
        def write(client: LadybugClient) -> None:
            reversals.repair(client, lease.group_id, repair, now)

        await self._write_under(lease, now + ttl, write)

    async def write_summaries(
        self, lease: Lease, writes: SummaryWrites, *, now: datetime, ttl: timedelta
    ) -> None:
        def write(client: LadybugClient) -> None:
            rows.write_summaries(client, writes)
            *_, latest = writes.records
            reversals.renumber(client, lease.group_id, latest)

        await self._write_under(lease, now + ttl, write)

    async def write_review(
        self, lease: Lease, review: Review, *, now: datetime, ttl: timedelta
    ) -> None:
        def write(client: LadybugClient) -> None:
            reversals.write_review(client, lease.group_id, review)

        await self._write_under(lease, now + ttl, write)

    async def write_communities(
        self, lease: Lease, batch: CommunityBatch, *, now: datetime, ttl: timedelta
    ) -> None:
        def write(client: LadybugClient) -> None:
            reads.write_communities(client, lease.group_id, batch, now)

        await self._write_under(lease, now + ttl, write)

    async def migrations(self) -> Sequence[TurnMigration]:
        return decoded(await self._client.run(reads.migrations))

    async def migration_summaries(self) -> Sequence[MigrationSummary]:
        return summaries(await self._client.run(reads.migrations))

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

        def write(client: LadybugClient) -> None:
            for lease in others:
                _check(client, lease)
                _extend(client, lease, now + ttl)
            for query, parameters in change_statements(step, migration, _PATTERNS):
                client.query(query, rows.parameters(parameters))

        await self._write_under(first, now + ttl, write)

    async def pause(self) -> None:
        await self._client.pause()

    async def close(self) -> None:
        await self._client.close()

    async def _write_row(self, statement: str, parameters: Mapping[str, Any]) -> None:
        def write(client: LadybugClient) -> None:
            self._check_space()
            client.query(statement, parameters)

        await self._client.run(write)

    async def _write_under(
        self, lease: Lease, until: datetime, write: Callable[[LadybugClient], None]
    ) -> None:
        """Write in one transaction under the lease, which it extends."""

        def run(client: LadybugClient) -> None:
            self._check_space()
            with client.transaction():
                _check(client, lease)
                _extend(client, lease, until)
                write(client)

        await self._client.run(run)

    def _check_space(self, size: int = 0) -> None:
        if self._space is not None:
            self._space.check(size)


def _check(client: LadybugClient, lease: Lease) -> None:
    """Check that nobody took the group; raises as `check_lease`."""
    holder = client.query(cypher.HOLDER, {"group_id": lease.group_id})
    check_lease(lease, *(holder[0] if holder else (None, None)))


def _extend(client: LadybugClient, lease: Lease, until: datetime) -> None:
    """Let the lease run until then, if nobody took the group."""
    client.query(cypher.RENEW, _lease_parameters(lease, until=until))


def _next_sequence(client: LadybugClient, lease: Lease, until: datetime) -> int:
    """Number the next commit of the group; extend the lease. Raises as `check_lease`."""
    new_end = {"group_id": lease.group_id, "until": rows.without_zone(until)}
    [[fence, owner, sequence]] = client.query(cypher.NEXT_SEQUENCE, new_end) or [[None, None, 0]]
    check_lease(lease, fence, owner)
    return int(sequence)


def _lease_parameters(lease: Lease, *, until: datetime | None = None) -> dict[str, Any]:
    """Return the parameters of a statement about the lease, with its new end if there is one."""
    of_lease = {"group_id": lease.group_id, "owner": lease.owner, "fence": str(lease.fence)}
    return of_lease if until is None else of_lease | {"until": rows.without_zone(until)}


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
