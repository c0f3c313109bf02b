"""A writer that is stopped inside an open transaction delays another run for a bounded time."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.builders import GROUP
from tests.graph.sample_changes import NOW, PROFILE, TTL, history, receipt
from tests.graph.stopped_writer import OWNER
from turnetl.base.errors import GraphBusy
from turnetl.base.graph_model import Lease
from turnetl.graph.open import open_graph
from turnetl.graph.port import GraphStore

pytestmark = pytest.mark.neo4j

SHORT, LONG = 1.0, 600.0
"""Seconds: of the run that waits, and of a writer that nothing else would end."""
ACQUIRE = 3
"""Statements of `acquire`, with its commit."""
IN_ACQUIRE, IN_COMMIT, BEFORE_COMMIT_ENDS = 2, ACQUIRE + 3, ACQUIRE + 5


@asynccontextmanager
async def stopped_writer(
    url: str, statement: int, timeout_seconds: float
) -> AsyncIterator[asyncio.subprocess.Process]:
    """Start a writer and wait until it is stopped; kill it afterwards."""
    program = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.graph.stopped_writer"),
        *(url, str(statement), str(timeout_seconds)),
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        _, status = await asyncio.to_thread(os.waitpid, program.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status), "it ended and was not stopped"
        yield program
    finally:
        program.send_signal(signal.SIGKILL)
        await program.wait()


@pytest.fixture
async def waiting(neo4j_url: str) -> AsyncIterator[GraphStore]:
    """The store of the run that waits, with a short limit."""
    store = await open_graph(neo4j_url, user="", password="", timeout_seconds=SHORT)
    await store.prepare()
    yield store
    await store.close()


async def acquire(store: GraphStore) -> Lease:
    later = NOW + 2 * TTL
    return await store.acquire(
        GROUP, PROFILE, owner="host:2", now=later, ttl=TTL, is_dead=lambda _: False
    )


@pytest.mark.parametrize("statement", [IN_COMMIT, BEFORE_COMMIT_ENDS])
async def test_a_run_that_gets_no_lock_in_time_says_who_holds_the_group(
    neo4j_url: str, waiting: GraphStore, statement: int
) -> None:
    async with stopped_writer(neo4j_url, statement, LONG):
        with pytest.raises(GraphBusy, match=f"locked by an open .*`{OWNER}` has the lease until"):
            await acquire(waiting)
        assert await waiting.counts(GROUP) == (0, 0, 0)


async def test_a_run_that_gets_no_lock_in_a_group_without_a_lease_says_so(
    neo4j_url: str, waiting: GraphStore
) -> None:
    async with stopped_writer(neo4j_url, IN_ACQUIRE, LONG):
        with pytest.raises(GraphBusy, match=r"another process: .* TURNETL_GRAPH_TIMEOUT_SECONDS"):
            await acquire(waiting)


async def test_the_transaction_of_a_stopped_writer_ends_and_another_run_takes_the_group(
    neo4j_url: str, waiting: GraphStore
) -> None:
    first = history()[0]
    async with stopped_writer(neo4j_url, IN_COMMIT, SHORT) as writer:
        lease = await _acquire_in_the_end(waiting)
        assert await waiting.commit(lease, first, receipt(first), now=NOW, ttl=TTL)
        writer.send_signal(signal.SIGCONT)
        assert writer.stdout is not None
        assert b"run again" in await writer.stdout.readline()
        assert await waiting.counts(GROUP) == (1, 2, 1)


async def _acquire_in_the_end(store: GraphStore) -> Lease:
    """Acquire as soon as the server has ended the stopped transaction."""
    while True:
        try:
            return await acquire(store)
        except GraphBusy as error:
            assert "locked by an open transaction" in str(error)  # noqa: PT017 - until it ends
