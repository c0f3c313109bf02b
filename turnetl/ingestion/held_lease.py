"""Hold the lease of a group while turns are written, and renew it in the background."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from datetime import datetime, timedelta

from turnetl.errors import TurnetlError
from turnetl.graph.port import GraphStore
from turnetl.graph_model import GroupProfile, Lease
from turnetl.ingestion import lease_owner
from turnetl.model import GroupId


@asynccontextmanager
async def held_lease(
    store: GraphStore,
    group: GroupId,
    profile: GroupProfile,
    *,
    owner: str,
    clock: Callable[[], datetime],
    ttl: timedelta,
) -> AsyncIterator[Lease]:
    """Take the lease, and release it at the end of the block; arguments as of `acquire`.

    Raises:
        GraphBusy: the lease of another owner has not expired; says whose and until when.
        GraphUnusable: the group was created with another embedder or other dimensions.
    """
    lease = await store.acquire(
        group, profile, owner=owner, now=clock(), ttl=ttl, is_dead=lease_owner.is_dead
    )
    renewal = asyncio.create_task(_renew(store, lease, clock, ttl))
    try:
        yield lease
    finally:
        renewal.cancel()
        with suppress(asyncio.CancelledError):
            await renewal
        # The graph itself may have failed; the lease then expires.
        with suppress(TurnetlError):
            await store.release(lease)


async def _renew(
    store: GraphStore, lease: Lease, clock: Callable[[], datetime], ttl: timedelta
) -> None:
    """Renew the lease during long requests; the fence protects the group, not the renewal."""
    while True:
        await asyncio.sleep(ttl.total_seconds() / 3)
        with suppress(TurnetlError):
            await store.renew(lease, now=clock(), ttl=ttl)
