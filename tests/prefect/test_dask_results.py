"""What a run learns of its packs: each result or error, and that the cluster was lost."""

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
from distributed import Client, LocalCluster
from distributed.scheduler import KilledWorker
from prefect_dask.task_runners import DaskTaskRunner

from flows.dask_engine import DaskPacks, Pack, PackResults
from turnetl.base.errors import BadUsage, Fatal, Retryable

pytestmark = [pytest.mark.prefect, pytest.mark.full]


@pytest.fixture
def cluster() -> Iterator[Any]:
    make: Any = LocalCluster
    with make(n_workers=0, processes=False, threads_per_worker=1, dashboard_address=None) as made:
        yield made


@pytest.fixture
def client(cluster: Any) -> Iterator[Any]:
    connect: Any = Client
    with connect(cluster, set_as_default=False) as opened:
        yield opened


def submitted(client: Any, work: Callable[[], object]) -> Pack:
    return Pack(task_run_id=uuid4(), wrapped_future=client.submit(work, pure=False))


def failing(error: Exception) -> Callable[[], object]:
    def work() -> object:
        raise error

    return work


async def test_packs_of_a_cluster_without_workers_end_with_what_to_do(client: Any) -> None:
    packs = [submitted(client, lambda: 1)]
    [error] = await PackResults(client, "tcp://scheduler:8786", absence=0.2).wait(packs)
    assert isinstance(error, Retryable)
    assert str(error).startswith("the Dask cluster at `tcp://scheduler:8786` has lost all its")
    assert "`dask worker tcp://scheduler:8786`" in str(error)


async def test_packs_of_a_lost_scheduler_end_with_what_to_do(client: Any) -> None:
    """Dask cancels the packs of a client that is not connected any more."""
    packs = [submitted(client, lambda: 1)]
    client.cancel([pack.wrapped_future for pack in packs])
    [error] = await PackResults(client, "tcp://scheduler:8786").wait(packs)
    assert isinstance(error, Retryable)
    assert "connection to the Dask scheduler at `tcp://scheduler:8786` was lost" in str(error)
    assert "start this run again" in str(error)


async def test_a_scheduler_that_was_lost_between_two_stages_is_named(cluster: Any) -> None:
    with DaskTaskRunner(address=cluster.scheduler_address) as runner:
        runner.client.close()
        parameters: Any = None
        packs = DaskPacks(runner, parameters, expected={}, processes=1)
        with pytest.raises(Retryable, match=r"scheduler at `.*` was lost"):
            await packs.parse([("/archives/a.jsonl",)])


async def test_each_pack_has_its_result_or_its_error(cluster: Any, client: Any) -> None:
    cluster.scale(1)
    worker: Any = SimpleNamespace(address="tcp://worker:1")
    works = [
        lambda: 1,
        failing(BadUsage("not this")),
        lambda: 2,
        failing(KilledWorker("pack", worker, 4)),
    ]
    packs = [submitted(client, work) for work in works]
    one, refused, two, killed = await PackResults(client, "tcp://scheduler:8786").wait(packs)
    assert (one, two) == (1, 2)
    assert isinstance(refused, BadUsage)
    assert isinstance(killed, Fatal)
    assert "the Dask workers that did it ended one after the other" in str(killed)
