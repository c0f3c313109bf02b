"""prefect.yaml, deployed to a real server and run by a real worker."""

import shutil
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.legacy import migrating
from tests.legacy.sessions import legacy_sessions
from tests.prefect import documented
from tests.prefect.own_server import eventually
from tests.servers.prefect_server import ROOT, PrefectServer
from turnetl import wiring
from turnetl.base.clock import now
from turnetl.settings import Settings

pytestmark = pytest.mark.prefect


@pytest.mark.full
async def test_a_deployed_run_commits_the_turns_to_the_lake_of_the_workers_user(
    deployed: PrefectServer, tmp_path: Path
) -> None:
    archive = shutil.copy(ROOT / "data/archives/shoebox/2026-04-19-heic.jsonl", tmp_path)
    done = deployed.run(*documented.run_of(str(archive)))
    assert done.returncode == 0, done.stdout + done.stderr + deployed.log("worker")
    lake = deployed.home / ".turnetl" / "lake"
    async with wiring.store(Settings(lake=lake), write=False) as store:
        (group,) = await store.groups()
        assert len(await store.receipts(group)) == 3


@pytest.mark.full
def test_a_failed_run_fails_in_prefect_too(deployed: PrefectServer, tmp_path: Path) -> None:
    done = deployed.run(*documented.run_of(f"{tmp_path}/nowhere"))
    assert done.returncode == 1, done.stdout + done.stderr


@pytest.mark.full
def test_a_folder_that_the_worker_cannot_see_is_named_in_the_state_of_the_run(
    deployed: PrefectServer, tmp_path: Path
) -> None:
    unseen = tmp_path / "of-another-machine"
    created = deployed.create_run("rescue/rescue", {"archives": [str(unseen)]})
    done = deployed.final_run(created.raise_for_status().json()["id"])
    assert done["state_type"] == "FAILED"
    assert f"`{unseen}` does not exist; check the path" in done["state"]["message"]


WRONG: dict[str, list[dict[str, Any]]] = {
    "backfill/backfill": [
        {"extractor": "gpt"},
        {"limit": 0},
        {"reflexion": 4},
        {"close_after": -1},
        {"batch_size": 0},
        {"since": 3},
        {"archives": []},
        {"archives": ["relative/path"]},
        {"lake": "relative/path"},
        {"graph": "bolt://neo4j:some-password@localhost:7687"},
        {"graph": "https://localhost"},
        {"budget": "5 euro"},
        {"budget": ["5usd", "1m tokens", "1m tokens"]},
        {"assume_time": "yesterday"},
        {"engine": "spark"},
        {"engine": "dask:tcp://localhost"},
        {"engine": "dask:tcp://user:secret@localhost:8786"},
    ],
    "backfill-sharded/backfill-sharded": [{"shards": 1}, {"shards": 65}, {"shards": "two"}],
    "shard/shard": [{"shard": "x"}, {"shard": "0/2"}, {"shard": "1/0"}, {}],
    "nightly/nightly": [
        {"digest_days": 0},
        {"summarize": "no"},
        {"report_file": "report.html"},
        {"settings_from": {"llm.api_key": "the-key-itself"}},
        {"settings_from": {"llm.effort": "secret/x"}},
    ],
    "rescue/rescue": [{"jobs": 0}, {"group_map": "groups.toml"}],
    "summarize/summarize": [{"edited": "yes"}, {"groups": [""]}],
    "migrate/migrate": [
        {"cutover": "yes"},
        {"accept": 1},
        {"groups": []},
        {"plan_file": "plan.tsv"},
        {"questions": 5},
    ],
}


@pytest.mark.full
@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_parameter_is_refused_before_a_run_exists(
    deployed: PrefectServer, name: str
) -> None:
    before = _runs(deployed)
    for wrong in WRONG[name]:
        answer = deployed.create_run(name, {"archives": ["/nowhere"], **wrong})
        assert (wrong, answer.status_code) == (wrong, 409)
    assert _runs(deployed) == before


@pytest.mark.full
def test_a_deployed_migration_compares_and_does_not_cut_over(
    deployed: PrefectServer, tmp_path: Path
) -> None:
    url, archives = f"ladybug://{tmp_path / 'graph.lbug'}", ROOT / "data/archives/bookshop"
    migrating.fill(url, legacy_sessions(archives))
    before = migrating.of_readers(url)
    parameters = {"archives": [str(archives)], "graph": url, "lake": str(tmp_path / "lake")}
    run = deployed.create_run("migrate/migrate", parameters).raise_for_status().json()["id"]
    done = deployed.final_run(run)
    assert done["state_type"] == "COMPLETED", done["state"]["message"] + deployed.log("worker")
    assert migrating.of_readers(url) == before
    assert migrating.state_of(url).phase == "ready"
    assert _task_runs(deployed, run) == ["compare", "plan", "run"]


@pytest.mark.full
def test_the_schedule_creates_runs(deployed: PrefectServer) -> None:
    """With some versions of SQLAlchemy a schedule never fires, without an error."""
    deadline = time.monotonic() + 60
    while not (names := _scheduled(deployed)) and time.monotonic() < deadline:
        time.sleep(1)
    assert names


@pytest.mark.full
def test_no_usage_statistics_are_sent_to_prefect(deployed: PrefectServer) -> None:
    """Neither the server, nor Prefect's commands, the worker and the runs."""
    hosts = {host for host, _ in deployed.connections}
    assert hosts == {"127.0.0.1"}


@pytest.mark.full
def test_a_schedule_starts_a_run_without_anybody(deployed: PrefectServer, tmp_path: Path) -> None:
    archive = shutil.copy(ROOT / "data/archives/shoebox/2026-04-19-heic.jsonl", tmp_path)
    deployment = deployed.deployment("rescue/rescue")
    soon = now() + timedelta(seconds=5)
    daily = {
        "schedule": {"interval": 86_400, "anchor_date": soon.isoformat()},
        "active": True,
        "parameters": {"archives": [str(archive)], "lake": str(tmp_path / "lake")},
    }
    path = f"deployments/{deployment}/schedules"
    (schedule,) = deployed.post(path, [daily]).raise_for_status().json()
    try:
        done = eventually(lambda: _done_by_schedule(deployed, deployment, str(archive)))
    finally:
        deployed.delete(f"{path}/{schedule['id']}").raise_for_status()
    assert done["state_type"] == "COMPLETED", done["state"]
    assert done["auto_scheduled"]
    assert list((tmp_path / "lake" / "turns" / "shoebox").glob("*.parquet"))


def _done_by_schedule(
    prefect: PrefectServer, deployment: str, archive: str
) -> dict[str, Any] | None:
    """Return a run that ended, and that the schedule of this archive created."""
    ended = {"type": {"any_": ["COMPLETED", "FAILED", "CRASHED"]}}
    runs = {"flow_runs": {"deployment_id": {"any_": [deployment]}, "state": ended}}
    found: list[dict[str, Any]] = prefect.post("flow_runs/filter", runs).json()
    return next((run for run in found if run["parameters"]["archives"] == [archive]), None)


def _scheduled(prefect: PrefectServer) -> list[str]:
    answer = httpx.post(
        f"{prefect.url}/flow_runs/filter",
        json={"flow_runs": {"state": {"type": {"any_": ["SCHEDULED"]}}}},
        timeout=30,
    )
    runs = answer.raise_for_status().json()
    return [run["name"] for run in runs if run["auto_scheduled"]]


def _runs(prefect: PrefectServer) -> int:
    """Return the number of runs that no schedule made."""
    answer = httpx.post(f"{prefect.url}/flow_runs/filter", json={}, timeout=30)
    return sum(not run["auto_scheduled"] for run in answer.raise_for_status().json())


def _task_runs(prefect: PrefectServer, run: str) -> list[str]:
    """Return the names of the tasks of a run, as soon as the server has recorded them."""
    selected = {"flow_runs": {"id": {"any_": [run]}}}
    for _ in range(50):
        answer = httpx.post(f"{prefect.url}/task_runs/filter", json=selected, timeout=30)
        tasks = answer.raise_for_status().json()
        if len(tasks) == 3:
            break
        time.sleep(0.2)
    return sorted(task["name"] for task in tasks)
