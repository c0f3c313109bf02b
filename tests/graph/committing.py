"""Open a graph, lease the sample group and commit sample changes."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from datetime import datetime

from tests.builders import GROUP
from tests.graph.sample_changes import NOW, PROFILE, TTL, history, receipt
from turnetl.base.graph_model import Lease
from turnetl.base.model import Change, GroupId
from turnetl.graph.open import open_graph
from turnetl.graph.port import GraphStore, TurnStore


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[GraphStore]:
    """Open and prepare a graph for writing."""
    store = await open_graph(url, user="", password="", write=True)
    await store.prepare()
    try:
        yield store
    finally:
        await store.close()


def no_owner_is_dead(_: str) -> bool:
    return False


async def acquire(
    store: TurnStore, owner: str = "host:1", *, group: GroupId = GROUP, now: datetime = NOW
) -> Lease:
    return await store.acquire(
        group, PROFILE, owner=owner, now=now, ttl=TTL, is_dead=no_owner_is_dead
    )


async def commit(store: TurnStore, lease: Lease, change: Change) -> bool:
    return await store.commit(lease, change, receipt(change), now=NOW, ttl=TTL)


async def commit_history(store: GraphStore) -> Lease:
    return await commit_all(store, history())


async def commit_all(store: TurnStore, changes: Iterable[Change]) -> Lease:
    """Commit the changes under a new lease, and return it."""
    lease = await acquire(store)
    for each in changes:
        assert await commit(store, lease, each)
    return lease


async def fill(url: str, changes: Iterable[Change]) -> None:
    """Commit the changes to a graph that no other process has open."""
    async with opened(url) as store:
        await store.release(await commit_all(store, changes))
