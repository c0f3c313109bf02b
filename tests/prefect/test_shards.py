"""The flow `backfill-sharded`: it starts shards on workers, and ends as they do."""

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest
from prefect.client.schemas.objects import FlowRun, State, StateType

from flows.run_flow import budget_stopped
from flows.shard_runs import divided_budget, state_of
from tests.cli.sharded import LakeAndGraph, write_projects
from tests.prefect.test_setting_sources import save_secret
from tests.servers.neo4j_server import Neo4jServer
from tests.servers.prefect_server import PrefectServer
from turnetl.base.shard import Shard
from turnetl.settings import Settings
from turnetl.settings.sections import BudgetSettings

NAME = "backfill-sharded/backfill-sharded"
OF_SERVER = pytest.mark.prefect
# One group for both servers: another Prefect server would start for the tests with Neo4j.
pytestmark = pytest.mark.xdist_group("prefect")


def ended(*states: State[Any]) -> dict[Shard, FlowRun]:
    return {
        Shard(number, len(states)): FlowRun(flow_id=uuid4(), state=state, name="one")
        for number, state in enumerate(states, start=1)
    }


@pytest.mark.full
def test_a_run_is_completed_if_all_of_its_shards_are() -> None:
    done = State(type=StateType.COMPLETED, message="3 turns committed, 0 before")
    state = state_of(ended(done, done))
    assert (state.type, state.message) == (StateType.COMPLETED, "all 2 shards completed")


@pytest.mark.full
@pytest.mark.parametrize("kind", [StateType.FAILED, StateType.CRASHED, StateType.CANCELLED])
def test_a_run_fails_with_the_reason_of_its_first_shard_that_was_not_completed(
    kind: StateType,
) -> None:
    done, stopped = State(type=StateType.COMPLETED), budget_stopped("the budget is used up")
    lost = State(type=kind, message="the worker died")
    state = state_of(ended(done, lost, stopped, lost))
    assert state.type == StateType.FAILED
    assert state.message == f"shard 2/4 {lost.name}: the worker died (and 1 more)"


@pytest.mark.full
def test_a_run_whose_shard_the_budget_ended_is_budget_stopped() -> None:
    done, stopped = State(type=StateType.COMPLETED), budget_stopped("the budget is used up")
    state = state_of(ended(done, stopped))
    assert (state.name, state.message) == ("BudgetStopped", "shard 2/2: the budget is used up")


@pytest.mark.full
def test_each_shard_gets_its_part_of_the_budget_and_together_they_never_exceed_it() -> None:
    budget = Settings(budget=BudgetSettings(usd=1, tokens=100))
    assert divided_budget(budget, 3) == {"budget": ["0.333333usd", "33 tokens"]}
    assert divided_budget(Settings(), 3) == {}


@pytest.fixture
def paused_shards(deployed: PrefectServer) -> Iterator[PrefectServer]:
    """The server whose queue of shards no worker serves."""
    queue = f"{deployed.url}/work_pools/etl/queues/shard"
    httpx.patch(queue, json={"is_paused": True}, timeout=30).raise_for_status()
    yield deployed
    httpx.patch(queue, json={"is_paused": False}, timeout=30).raise_for_status()


def parameters(server: Neo4jServer, archives: Path, lake: Path) -> dict[str, Any]:
    asyncio.run(save_secret("sharded-graph", server.url))
    return {
        "archives": [str(archives)],
        "lake": str(lake),
        "shards": 2,
        "settings_from": {"graph": "secret/sharded-graph"},
    }


def children(server: PrefectServer, parent: str) -> list[dict[str, Any]]:
    selected = {"flow_runs": {"parent_flow_run_id": {"any_": [parent]}}}
    answer = httpx.post(f"{server.url}/flow_runs/filter", json=selected, timeout=30)
    found: list[dict[str, Any]] = answer.raise_for_status().json()
    return sorted(found, key=lambda run: str(run["parameters"]["shard"]))


def start(server: PrefectServer, given: dict[str, Any]) -> str:
    created = server.create_run(NAME, given).raise_for_status().json()
    return str(UUID(created["id"]))


@OF_SERVER
@pytest.mark.usefixtures("in_process_flows")
def test_the_shards_of_a_deployment_make_what_one_machine_makes(
    deployed: PrefectServer, neo4j: Neo4jServer, tmp_path: Path
) -> None:
    archives = write_projects(tmp_path / "archives", ["shop", "kitchen", "attic"])
    one, many = (LakeAndGraph(tmp_path / name, neo4j.url) for name in ("one", "many"))
    one.folder.mkdir()
    one.run("backfill", archives)
    expected = one.tables(), one.contents()
    neo4j.clear()
    many.with_key_of(one)
    run = start(deployed, parameters(neo4j, archives, many.lake))
    done = deployed.final_run(run, timeout=600)
    assert done["state"]["message"] == "all 2 shards completed", deployed.log("worker")
    names = [child["name"] for child in children(deployed, run)]
    assert [name.split()[1] for name in names] == ["1/2", "2/2"]
    assert all(name.endswith(f"/{archives.name}") for name in names)
    assert (many.tables(), many.contents()) == expected


@OF_SERVER
@pytest.mark.usefixtures("in_process_flows")
def test_a_run_whose_shards_fail_fails_with_the_reason_of_the_first(
    deployed: PrefectServer, neo4j: Neo4jServer, tmp_path: Path
) -> None:
    run = start(deployed, parameters(neo4j, tmp_path / "nowhere", tmp_path / "lake"))
    state = deployed.final_run(run, timeout=600)["state"]
    assert state["type"] == "FAILED"
    assert state["message"].startswith(f"shard 1/2 Failed: `{tmp_path}/nowhere` does not exist")


@pytest.mark.full
@OF_SERVER
def test_an_embedded_graph_is_refused_before_a_shard_starts(
    deployed: PrefectServer, tmp_path: Path
) -> None:
    run = start(deployed, {"archives": [str(tmp_path)], "lake": str(tmp_path / "lake")})
    state = deployed.final_run(run)["state"]
    assert state["type"] == "FAILED"
    assert state["message"].startswith("an embedded graph has one writer process")
    assert children(deployed, run) == []


@OF_SERVER
@pytest.mark.usefixtures("in_process_flows")
def test_a_cancelled_run_cancels_its_shards(
    paused_shards: PrefectServer, neo4j: Neo4jServer, tmp_path: Path
) -> None:
    given = parameters(neo4j, write_projects(tmp_path, ["shop"]), tmp_path / "lake")
    run = start(paused_shards, given)
    deadline = time.monotonic() + 300
    while len(children(paused_shards, run)) < 2 and time.monotonic() < deadline:
        time.sleep(0.5)
    cancelling = {"state": {"type": "CANCELLING"}}
    path = f"{paused_shards.url}/flow_runs/{run}/set_state"
    httpx.post(path, json=cancelling, timeout=30).raise_for_status()
    assert paused_shards.final_run(run)["state_type"] == "CANCELLED"
    states = [child["state_type"] for child in children(paused_shards, run)]
    assert states == ["CANCELLED", "CANCELLED"]
