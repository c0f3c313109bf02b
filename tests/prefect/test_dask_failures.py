"""What happens to a backfill on a Dask cluster when parts of the cluster are lost or do not fit.

Each run ends truthfully, and the next one completes the graph of one undisturbed machine.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from prefect import State

from flows.backfill import backfill
from tests.prefect.held_backfill import TURNS, HeldBackfill, held_backfill
from tests.prefect.own_server import eventually
from tests.servers.dask_cluster import DaskCluster, dask_cluster
from tests.servers.neo4j_server import Neo4jServer
from tests.servers.prefect_server import PrefectServer
from tests.servers.provider import FakeProvider

pytestmark = [
    pytest.mark.prefect,
    pytest.mark.xdist_group("prefect"),
    pytest.mark.usefixtures("in_process_flows"),
]


@pytest.fixture
def held(provider: FakeProvider, neo4j: Neo4jServer, tmp_path: Path) -> HeldBackfill:
    return held_backfill(provider, tmp_path, neo4j)


async def run(cluster: DaskCluster, held: HeldBackfill) -> State[Any]:
    state: State[Any] = await backfill(**held.parameters, engine=cluster.engine, return_state=True)
    return state


@asynccontextmanager
async def in_the_middle(
    cluster: DaskCluster, held: HeldBackfill
) -> AsyncIterator[asyncio.Task[State[Any]]]:
    """Start a run, and yield it in the middle; the provider responds again afterwards."""
    held.hold()
    running = asyncio.create_task(run(cluster, held))
    try:
        await asyncio.to_thread(held.wait_for_the_middle)
        yield running
    finally:
        held.release()
        await asyncio.wait({running})


def running_tasks(server: PrefectServer, state: State[Any]) -> list[str]:
    """Return the states of tasks that count as running in the run that ended in a state."""
    states = server.task_states(str(state.state_details.flow_run_id))
    assert states
    return [name for name in states if name not in ("Completed", "Cancelled", "Crashed")]


async def failure(server: PrefectServer, running: asyncio.Task[State[Any]]) -> str:
    """Return the message of a run that failed; soon none of its tasks counts as running."""
    state = running.result()
    assert state.is_failed()
    assert await asyncio.to_thread(eventually, lambda: not running_tasks(server, state))
    return str(state.message)


async def check_next_run(
    cluster: DaskCluster, held: HeldBackfill, *, with_worker: str | None = None
) -> None:
    if with_worker is not None:
        cluster.start_worker(with_worker, {})
        cluster.wait_for(1)
    state = await run(cluster, held)
    assert state.is_completed(), state.message
    await held.check_complete()


@pytest.mark.parametrize(
    "end", [DaskCluster.kill, pytest.param(DaskCluster.stop, marks=pytest.mark.full)]
)
async def test_the_pack_of_a_worker_that_ends_is_done_by_another_one(
    server: PrefectServer, held: HeldBackfill, end: Callable[[DaskCluster, str], None]
) -> None:
    with dask_cluster(server, {}, {}) as cluster:
        async with in_the_middle(cluster, held) as running:
            [busy] = await asyncio.to_thread(cluster.busy)
            end(cluster, busy)
    state = running.result()
    assert state.is_completed(), state.message
    await held.check_complete()


@pytest.mark.full
async def test_a_run_whose_scheduler_is_killed_says_what_to_do_and_the_next_one_completes(
    server: PrefectServer, held: HeldBackfill
) -> None:
    with dask_cluster(server, {}) as cluster:
        async with in_the_middle(cluster, held) as running:
            cluster.kill("scheduler")
            await asyncio.wait({running})
            await asyncio.to_thread(cluster.wait_until_ended, "1")
        message = await failure(server, running)
        assert "connection to the Dask scheduler at `tcp://127.0.0.1:" in message
        assert "start this run again" in message
        cluster.start_scheduler()
        await check_next_run(cluster, held, with_worker="2")


@pytest.mark.full
async def test_a_cancelled_run_ends_on_the_workers_and_the_next_one_completes(
    server: PrefectServer, held: HeldBackfill
) -> None:
    with dask_cluster(server, {}) as cluster:
        async with in_the_middle(cluster, held) as running:
            running.cancel()
            await asyncio.wait({running})
            assert await asyncio.to_thread(eventually, cluster.is_idle)
            assert await held.committed() < TURNS
        await check_next_run(cluster, held)


@pytest.mark.full
async def test_a_run_that_has_lost_all_workers_says_what_to_do_and_the_next_one_completes(
    server: PrefectServer, held: HeldBackfill
) -> None:
    with dask_cluster(server, {}) as cluster:
        async with in_the_middle(cluster, held) as running:
            cluster.kill("1")
        message = await failure(server, running)
        assert "has lost all its workers: start one with `dask worker tcp://" in message
        await check_next_run(cluster, held, with_worker="2")
