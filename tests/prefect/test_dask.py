"""The engine `dask`: a backfill on the workers of a real Dask cluster."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from prefect import State

from flows.backfill import backfill
from tests.cli.sharded import LakeAndGraph, write_projects
from tests.prefect.older_turnetl import older_path
from tests.prefect.test_setting_sources import save_secret
from tests.servers.dask_cluster import dask_cluster
from tests.servers.free_port import free_port
from tests.servers.neo4j_server import Neo4jServer
from tests.servers.prefect_server import PrefectServer

pytestmark = [
    pytest.mark.prefect,
    pytest.mark.xdist_group("prefect"),
    pytest.mark.usefixtures("in_process_flows"),
]


MODEL = {
    "TURNETL_LLM__PROVIDER": "openai-compatible",
    "TURNETL_LLM__BASE_URL": "http://127.0.0.1:1/v1",
    "TURNETL_LLM__MODEL": "other",
}


def run(engine: str, archives: Path, lake: Path, graph: str, **parameters: Any) -> State[Any]:
    async def flow() -> State[Any]:
        await save_secret("dask-graph", graph)
        state: State[Any] = await backfill(
            [str(archives)],
            lake=str(lake),
            settings_from={"graph": "secret/dask-graph"},
            engine=engine,
            return_state=True,
            **parameters,
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
    with dask_cluster(server, {}, {}) as cluster:
        states = [run(cluster.engine, archives, many.lake, neo4j.url) for _ in range(2)]
    committed = len([line for line in expected[1] if line.startswith('[["TurnCommit"]')])
    assert [state.message for state in states] == [
        f"{committed} turns committed, 0 before",
        f"0 turns committed, {committed} before",
    ]
    assert (many.tables(), many.contents()) == expected


@pytest.mark.full
def test_a_worker_with_other_settings_refuses_the_run_before_any_work(
    server: PrefectServer, tmp_path: Path
) -> None:
    lake = tmp_path / "lake"
    with dask_cluster(server, {}, MODEL) as cluster:
        state = run(cluster.engine, tmp_path, lake, "bolt://127.0.0.1:1")
    assert state.is_failed()
    message = str(state.message)
    assert (
        "has other settings than the flow: extractor (llm instead of structural), model" in message
    )
    assert not lake.exists()


@pytest.mark.full
@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({}, "has other settings than the flow: extractor (structural instead of llm), model"),
        ({"extractor": "llm"}, "TURNETL_LLM__MODEL"),
    ],
    ids=["extractor by the settings", "extractor by a parameter"],
)
def test_a_worker_without_the_settings_of_the_model_uses_no_other_extractor(
    server: PrefectServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    parameters: dict[str, Any],
    message: str,
) -> None:
    for name, value in MODEL.items():
        monkeypatch.setenv(name, value)
    lake = tmp_path / "lake"
    with dask_cluster(server, {}) as cluster:
        state = run(cluster.engine, tmp_path, lake, "bolt://127.0.0.1:1", **parameters)
    assert state.is_failed()
    assert str(state.message).startswith("the Dask worker tcp://127.0.0.1:")
    assert message in str(state.message)
    assert not lake.exists()


@pytest.mark.full
def test_a_worker_with_an_older_turnetl_refuses_the_run_before_any_work(
    server: PrefectServer, tmp_path: Path
) -> None:
    path = older_path(tmp_path, server.environment["PYTHONPATH"])
    lake = tmp_path / "lake"
    with dask_cluster(server, {}, {"PYTHONPATH": path}) as cluster:
        state = run(cluster.engine, tmp_path, lake, "bolt://127.0.0.1:1")
    assert state.is_failed()
    assert "has other settings than the flow: turnetl (0.0.1 instead of " in str(state.message)
    assert not lake.exists()


@pytest.mark.full
def test_a_cluster_without_workers_is_refused(server: PrefectServer, tmp_path: Path) -> None:
    with dask_cluster(server) as cluster:
        state = run(cluster.engine, tmp_path, tmp_path / "lake", "bolt://127.0.0.1:1")
    assert state.is_failed()
    assert "has no worker: start one with `dask worker tcp://" in str(state.message)


@pytest.mark.full
def test_an_embedded_graph_is_refused(tmp_path: Path) -> None:
    graph = f"ladybug://{tmp_path / 'graph.lbug'}"
    state = run("dask:tcp://127.0.0.1:1", tmp_path, tmp_path / "lake", graph)
    assert str(state.message).startswith("an embedded graph has one writer process")


@pytest.mark.full
def test_a_scheduler_that_does_not_respond_is_named(tmp_path: Path) -> None:
    state = run(f"dask:tcp://127.0.0.1:{free_port()}", tmp_path, tmp_path, "bolt://127.0.0.1:1")
    assert str(state.message).startswith("no Dask scheduler responds at `tcp://127.0.0.1:")
