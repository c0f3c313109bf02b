"""A commit that crashes at any point writes nothing; the next attempt writes it once."""

import asyncio
import signal
import sys

import pytest
from neo4j.exceptions import IncompleteCommit

from tests.builders import GROUP
from tests.graph.crash_program import crashing_store
from tests.graph.crashes import Countdown, Crash, fail
from tests.graph.sample_changes import NOW, PROFILE, TTL, history, receipt
from turnetl.base.errors import GraphBusy
from turnetl.base.graph_model import Lease
from turnetl.base.model import Change
from turnetl.graph.open import open_graph
from turnetl.graph.port import GraphStore


async def commit(store: GraphStore, lease: Lease, change: Change) -> bool:
    return await store.commit(lease, change, receipt(change), now=NOW, ttl=TTL)


async def acquire(store: GraphStore, owner: str = "host:1") -> Lease:
    return await store.acquire(
        GROUP, PROFILE, owner=owner, now=NOW, ttl=TTL, is_dead=lambda owner: owner == "host:dead"
    )


@pytest.mark.full
async def test_an_error_at_any_statement_writes_nothing_of_the_turn(graph_url: str) -> None:
    store = await open_graph(graph_url, user="", password="")
    await store.prepare()
    lease = await acquire(store)
    first, second, _ = history()
    await commit(store, lease, first)
    before = await store.load(GROUP)
    await store.close()
    statement = 1
    while not await _survives(graph_url, statement, lease, second):
        store = await open_graph(graph_url, user="", password="")
        assert await store.load(GROUP) == before
        await store.close()
        statement += 1
    assert statement > 6
    store = await open_graph(graph_url, user="", password="")
    assert len((await store.load(GROUP)).receipts) == 2
    assert not await commit(store, lease, second)
    await store.close()


async def _survives(url: str, statement: int, lease: Lease, change: Change) -> bool:
    """Return whether the commit completes before its nth statement."""
    store = crashing_store(url, Countdown(statement, fail))
    try:
        return await commit(store, lease, change)
    except Crash:
        return False
    finally:
        await store.close()


@pytest.mark.full
@pytest.mark.parametrize("statement", [2, 4, 6, 7])
async def test_a_killed_process_writes_nothing_of_the_turn(graph_url: str, statement: int) -> None:
    await _kill_during_commit(graph_url, statement)
    store = await open_graph(graph_url, user="", password="")
    await store.prepare()
    first, second, third = history()
    assert list(await store.receipts(GROUP)) == [receipt(first)]
    assert await store.counts(GROUP) == (1, 2, 1)
    lease = await acquire(store, "host:2")
    assert not await commit(store, lease, first)
    assert await commit(store, lease, second)
    assert await commit(store, lease, third)
    assert await store.counts(GROUP) == (3, 3, 3)
    await store.close()


async def _kill_during_commit(url: str, statement: int) -> None:
    program = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.graph.crash_program", url, str(statement)
    )
    assert await program.wait() == -signal.SIGKILL


async def test_a_commit_whose_response_was_lost_is_not_repeated(
    graph_url: str,
) -> None:
    store = await open_graph(graph_url, user="", password="")
    await store.prepare()
    lease = await acquire(store)
    first, *_ = history()
    await commit(store, lease, first)
    await store.close()
    again = await open_graph(graph_url, user="", password="")
    assert not await commit(again, lease, first)
    assert await again.counts(GROUP) == (1, 2, 1)
    await again.close()


@pytest.mark.neo4j
async def test_an_unknown_outcome_is_reported_as_busy_so_that_the_run_retries(
    neo4j_url: str,
) -> None:
    def lose_the_commit_response() -> None:
        raise IncompleteCommit("connection lost")

    healthy = await open_graph(neo4j_url, user="", password="")
    await healthy.prepare()
    lease = await acquire(healthy)
    await healthy.close()
    store = crashing_store(neo4j_url, Countdown(4, lose_the_commit_response))
    with pytest.raises(GraphBusy, match="does not respond"):
        await commit(store, lease, history()[0])
    await store.close()


async def test_a_cancelled_commit_does_not_affect_the_next(store: GraphStore) -> None:
    lease = await acquire(store)
    first, second, _ = history()
    task = asyncio.create_task(commit(store, lease, first))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await commit(store, lease, first)
    assert await commit(store, lease, second)
    assert await store.counts(GROUP) == (2, 3, 2)
