"""The engine `dask`: a backfill on the workers of a real Dask cluster."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from prefect import State

from flows.backfill import backfill
from tests.cli.sharded import LakeAndGraph, write_projects
from tests.prefect.test_setting_sources import save_secret
from tests.servers import connection_audit
from tests.servers.free_port import free_port
from tests.servers.neo4j_server import Neo4jServer
from tests.servers.prefect_server import PrefectServer

pytestmark = [
    pytest.mark.prefect,
    pytest.mark.xdist_group("prefect"),
    pytest.mark.usefixtures("in_process_flows"),
]


@contextmanager
def running(*arguments: str, environment: Mapping[str, str]) -> Iterator[None]:
    process = subprocess.Popen(
        [sys.executable, "-m", *arguments],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield
    finally:
        process.kill()
        process.wait()


@contextmanager
def cluster(server: PrefectServer, *workers: Mapping[str, str]) -> Iterator[str]:
    """Run a scheduler and a worker with each of these settings; yield the engine."""
    address = f"tcp://127.0.0.1:{free_port()}"
    port = address.rpartition(":")[2]
    # The addresses on which the cluster listens are no connections of Prefect.
    environment = {
        name: value for name, value in server.environment.items() if name != connection_audit.LOG
    }
    scheduler = ("distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", port)
    with ExitStack() as stack:
        stack.enter_context(running(*scheduler, "--no-dashboard", environment=environment))
        for settings in workers:
            worker = ("distributed.cli.dask_worker", address, "--nthreads", "1", "--no-nanny")
            stack.enter_context(
                running(*worker, "--no-dashboard", environment={**environment, **settings})
            )
        wait_for(address, len(workers))
        yield f"dask:{address}"


def wait_for(address: str, workers: int) -> None:
    from distributed import Client  # noqa: PLC0415 - imports for a second

    connect: Any = Client
    with connect(address, timeout=120, set_as_default=False) as client:
        if workers:
            client.wait_for_workers(workers, timeout=120)


def run(engine: str, archives: Path, lake: Path, graph: str) -> State[Any]:
    async def flow() -> State[Any]:
        await save_secret("dask-graph", graph)
        state: State[Any] = await backfill(
            [str(archives)],
            lake=str(lake),
            settings_from={"graph": "secret/dask-graph"},
            engine=engine,
            return_state=True,
        )
        return state

    return asyncio.run(flow())


def test_two_workers_make_what_one_machine_makes(
    server: PrefectServer, neo4j: Neo4jServer, tmp_path: Path
) -> None:
    archives = write_projects(tmp_path / "archives", ["shop", "kitchen", "attic"])
    one, many = (LakeAndGraph(tmp_path / name, neo4j.url) for name in ("one", "many"))
    one.folder.mkdir()
    one.run("backfill", archives)
    expected = one.tables(), one.contents()
    neo4j.clear()
    many.with_key_of(one)
    with cluster(server, {}, {}) as engine:
        states = [run(engine, archives, many.lake, neo4j.url) for _ in range(2)]
    committed = len([line for line in expected[1] if line.startswith('[["TurnCommit"]')])
    assert [state.message for state in states] == [
        f"{committed} turns committed, 0 before",
        f"0 turns committed, {committed} before",
    ]
    assert (many.tables(), many.contents()) == expected


def test_a_worker_with_other_settings_refuses_the_run_before_any_work(
    server: PrefectServer, tmp_path: Path
) -> None:
    lake = tmp_path / "lake"
    model = {
        "TURNETL_LLM__PROVIDER": "openai-compatible",
        "TURNETL_LLM__BASE_URL": "http://127.0.0.1:1/v1",
        "TURNETL_LLM__MODEL": "other",
    }
    with cluster(server, {}, model) as engine:
        state = run(engine, tmp_path, lake, "bolt://127.0.0.1:1")
    assert state.is_failed()
    message = str(state.message)
    assert (
        "has other settings than the flow: extractor (llm instead of structural), model" in message
    )
    assert not lake.exists()


def test_a_cluster_without_workers_is_refused(server: PrefectServer, tmp_path: Path) -> None:
    with cluster(server) as engine:
        state = run(engine, tmp_path, tmp_path / "lake", "bolt://127.0.0.1:1")
    assert state.is_failed()
    assert "has no worker: start one with `dask worker tcp://" in str(state.message)


def test_an_embedded_graph_is_refused(tmp_path: Path) -> None:
    graph = f"ladybug://{tmp_path / 'graph.lbug'}"
    state = run("dask:tcp://127.0.0.1:1", tmp_path, tmp_path / "lake", graph)
    assert str(state.message).startswith("an embedded graph has one writer process")


def test_a_scheduler_that_does_not_respond_is_named(tmp_path: Path) -> None:
    state = run(f"dask:tcp://127.0.0.1:{free_port()}", tmp_path, tmp_path, "bolt://127.0.0.1:1")
    assert str(state.message).startswith("no Dask scheduler responds at `tcp://127.0.0.1:")
