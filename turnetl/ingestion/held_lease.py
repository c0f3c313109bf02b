"""Hold the lease of a group while turns are written, and renew it in the background."""

import asyncio
import os
import platform
import sys
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager, suppress

from turnetl.base.errors import GraphUnusable, TurnetlError
from turnetl.base.graph_model import GroupProfile, Lease
from turnetl.base.ids import final_group
from turnetl.base.model import GroupId
from turnetl.graph.migrations import MigrationPhase
from turnetl.graph.port import TurnStore
from turnetl.ingestion.ingest_run import IngestRun

_WRITABLE = (MigrationPhase.CUT_OVER, MigrationPhase.FINISHING, MigrationPhase.FINISHED)
"""Phases of a migration in which the group belongs to its turns."""


@asynccontextmanager
async def held_lease(
    store: TurnStore,
    group: GroupId,
    profile: GroupProfile,
    run: IngestRun,
    *,
    migrates: bool = False,
) -> AsyncIterator[Lease]:
    """Take the lease, and release it at the end of the block.

    Args:
        migrates: whether the lease is that of the migration of the group, which excludes others.
    """
    if not migrates:
        await _check_not_migrated(store, group)
    lease = await store.acquire(
        group, profile, owner=run.owner, now=run.clock(), ttl=run.lease_ttl, is_dead=is_dead
    )
    renewal = asyncio.create_task(_renew(store, lease, run))
    try:
        if not migrates:
            # A migration may have begun before the lease was taken; none begins under it.
            await _check_not_migrated(store, group)
        yield lease
    finally:
        renewal.cancel()
        with suppress(asyncio.CancelledError):
            await renewal
        # The graph itself may have failed; the lease then expires.
        with suppress(TurnetlError):
            await store.release(lease)


@asynccontextmanager
async def migration_leases(
    store: TurnStore, groups: Iterable[GroupId], profile: GroupProfile, run: IngestRun
) -> AsyncIterator[list[Lease]]:
    """Hold the leases of a group and of its shadow group, so that no other command writes one."""
    async with AsyncExitStack() as held:
        yield [
            await held.enter_async_context(held_lease(store, name, profile, run, migrates=True))
            for name in sorted(groups)
        ]


async def _check_not_migrated(store: TurnStore, group: GroupId) -> None:
    """Raise GraphUnusable if a writer would mix the turns of a migration with other data."""
    final = final_group(group)
    for migration in await store.migration_summaries():
        phase = migration.phase
        if final == group:
            is_writable = phase in _WRITABLE
        else:
            is_writable = phase.precedes_cutover or phase is MigrationPhase.FINISHED
        if migration.group_id == final and not is_writable:
            raise GraphUnusable(
                f"group `{final}` is being migrated: finish that with `turnetl migrate cutover "
                f"--group {final}`, or take it back with `turnetl migrate rollback --group {final} "
                "--discard`"
            )


async def _renew(store: TurnStore, lease: Lease, run: IngestRun) -> None:
    """Renew the lease during long requests; the fence protects the group, not the renewal."""
    while True:
        await asyncio.sleep(run.lease_ttl.total_seconds() / 3)
        with suppress(TurnetlError):
            await store.renew(lease, now=run.clock(), ttl=run.lease_ttl)


def owner_name(run_id: str) -> str:
    """Return `host:pid:run`: it tells a user who writes, and a run that was killed."""
    return f"{platform.node()}:{os.getpid()}:{run_id[:8]}"


def is_dead(owner: str, *, system: str = sys.platform) -> bool:
    """Return whether the owner's process is known to have ended: on another host it is not known.

    On Windows neither: `os.kill(pid, 0)` would terminate the process.
    """
    host, _, rest = owner.partition(":")
    pid = rest.partition(":")[0]
    if system == "win32" or host != platform.node() or not pid.isdigit():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False
