"""Lease the sample group and commit sample changes to a store."""

from datetime import datetime

from tests.builders import GROUP
from tests.graph.sample_changes import NOW, PROFILE, TTL, history, receipt
from turnetl.graph.port import GraphStore
from turnetl.graph_model import Lease
from turnetl.model import Change, GroupId


def no_owner_is_dead(_: str) -> bool:
    return False


async def acquire(
    store: GraphStore, owner: str = "host:1", *, group: GroupId = GROUP, now: datetime = NOW
) -> Lease:
    return await store.acquire(
        group, PROFILE, owner=owner, now=now, ttl=TTL, is_dead=no_owner_is_dead
    )


async def commit(store: GraphStore, lease: Lease, change: Change) -> bool:
    return await store.commit(lease, change, receipt(change), now=NOW, ttl=TTL)


async def commit_history(store: GraphStore) -> Lease:
    lease = await acquire(store)
    for sample in history():
        assert await commit(store, lease, sample)
    return lease
