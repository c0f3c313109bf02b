"""prefect.yaml, deployed to a real server and run by a real worker."""

import shutil
import time
from pathlib import Path

import httpx
import pytest

from tests.prefect import documented
from tests.prefect.conftest import ROOT, PrefectServer
from turnetl import wiring
from turnetl.settings import Settings

pytestmark = pytest.mark.prefect


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


def test_a_failed_run_fails_in_prefect_too(deployed: PrefectServer, tmp_path: Path) -> None:
    done = deployed.run(*documented.run_of(f"{tmp_path}/nowhere"))
    assert done.returncode == 1, done.stdout + done.stderr


def test_the_schedule_creates_runs(deployed: PrefectServer) -> None:
    """With some versions of SQLAlchemy a schedule never fires, without an error."""
    deadline = time.monotonic() + 60
    while not (names := _scheduled(deployed)) and time.monotonic() < deadline:
        time.sleep(1)
    assert names


def test_no_usage_statistics_are_sent_to_prefect(deployed: PrefectServer) -> None:
    """Neither the server, nor Prefect's commands, the worker and the runs."""
    hosts = {host for host, _ in deployed.connections}
    # The server looks up the types of workers when a work pool is created.
    assert hosts - {"raw.githubusercontent.com"} == {"127.0.0.1"}


def _scheduled(prefect: PrefectServer) -> list[str]:
    answer = httpx.post(
        f"{prefect.url}/flow_runs/filter",
        json={"flow_runs": {"state": {"type": {"any_": ["SCHEDULED"]}}}},
        timeout=30,
    )
    runs = answer.raise_for_status().json()
    return [run["name"] for run in runs if run["auto_scheduled"]]
