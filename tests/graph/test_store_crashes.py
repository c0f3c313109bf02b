"""A commit that dies, wherever it dies, leaves nothing behind; the next one writes it once."""

import asyncio
import signal
import sys

import pytest
from neo4j.exceptions import IncompleteCommit

from tests.builders import GROUP
from tests.graph.crash_program import crashing_store
from tests.graph.crashes import Countdown, Crash, fail
from tests.graph.sample_changes import NOW, PROFILE, TTL, history, receipt
from turnetl.errors import GraphBusy
from turnetl.graph.open import open_graph
from turnetl.graph.port import GraphStore
from turnetl.model import Change, Lease


async def commit(store: GraphStore, lease: Lease, of: Change) -> bool:
    return await store.commit(lease, of, receipt(of), now=NOW, ttl=TTL)


async def take(store: GraphStore, owner: str = "host:1") -> Lease:
    return await store.acquire(
        GROUP, PROFILE, owner=owner, now=NOW, ttl=TTL, is_dead=lambda of: of == "host:dead"
    )


async def test_an_error_at_any_statement_leaves_nothing_half_written(graph_url: str) -> None:
    store = await open_graph(graph_url, user="", password="")
    await store.prepare()
    lease = await take(store)
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


async def _survives(url: str, statement: int, lease: Lease, of: Change) -> bool:
    """Whether the commit is through before its nth statement dies."""
    store = crashing_store(url, Countdown(statement, fail))
    try:
        return await commit(store, lease, of)
    except Crash:
        return False
    finally:
        await store.close()


@pytest.mark.parametrize("statement", [2, 4, 6, 8])
async def test_a_killed_process_leaves_nothing_half_written(graph_url: str, statement: int) -> None:
    await _killed_while_committing(graph_url, statement)
    store = await open_graph(graph_url, user="", password="")
    await store.prepare()
    first, second, third = history()
    assert list(await store.receipts(GROUP)) == [receipt(first)]
    assert await store.counts(GROUP) == (1, 2, 1)
    lease = await take(store, "host:2")
    assert not await commit(store, lease, first)
    assert await commit(store, lease, second)
    assert await commit(store, lease, third)
    assert await store.counts(GROUP) == (3, 3, 3)
    await store.close()


async def _killed_while_committing(url: str, statement: int) -> None:
    program = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.graph.crash_program", url, str(statement)
    )
    assert await program.wait() == -signal.SIGKILL


async def test_a_commit_that_got_through_without_an_answer_is_not_done_twice(
    graph_url: str,
) -> None:
    store = await open_graph(graph_url, user="", password="")
    await store.prepare()
    lease = await take(store)
    first, *_ = history()
    await commit(store, lease, first)
    await store.close()
    again = await open_graph(graph_url, user="", password="")
    assert not await commit(again, lease, first)
    assert await again.counts(GROUP) == (1, 2, 1)
    await again.close()


@pytest.mark.neo4j
async def test_an_unknown_outcome_is_busy_so_that_the_run_looks_again(neo4j_url: str) -> None:
    def lose_the_answer() -> None:
        raise IncompleteCommit("connection lost")

    healthy = await open_graph(neo4j_url, user="", password="")
    await healthy.prepare()
    lease = await take(healthy)
    await healthy.close()
    store = crashing_store(neo4j_url, Countdown(4, lose_the_answer))
    with pytest.raises(GraphBusy, match="does not answer"):
        await commit(store, lease, history()[0])
    await store.close()


async def test_a_cancelled_commit_does_not_disturb_the_next(store: GraphStore) -> None:
    lease = await take(store)
    first, second, _ = history()
    task = asyncio.create_task(commit(store, lease, first))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await commit(store, lease, first)
    assert await commit(store, lease, second)
    assert await store.counts(GROUP) == (2, 3, 2)
