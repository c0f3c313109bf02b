"""What a run shows in Prefect: names, tags, progress, report, log, events and its state."""

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest
from prefect import State, flow
from prefect.artifacts import Artifact

from flows.artifacts import REPORT
from flows.backfill import backfill
from flows.progress import ProgressArtifacts, artifact_key
from flows.run_flow import VERSION, is_older
from tests.cli.provider_setup import model_environment, write_session
from tests.servers.prefect_server import PrefectServer
from tests.servers.provider import KEY, FakeProvider, Fault
from turnetl.base.progress import ProgressUpdate
from turnetl.pipeline.parse_plan import batch_name

pytestmark = [pytest.mark.prefect, pytest.mark.usefixtures("in_process_flows")]

BAD_REQUEST = Fault(400, '{"error": {"message": "no such question"}}')
WRONG_KEY = Fault(401, '{"error": {"message": "no such key"}}')


@pytest.fixture
def archive(tmp_path: Path, provider: FakeProvider, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An archive of two turns, and the environment of the model."""
    for name, value in model_environment(provider).items():
        monkeypatch.setenv(name, value)
    return write_session(tmp_path / "a.jsonl", 2)


async def run(archive: Path, **parameters: Any) -> State[Any]:
    state: State[Any] = await backfill(
        [str(archive)], lake=str(archive.parent / "lake"), **parameters, return_state=True
    )
    return state


async def artifact(key: str) -> str:
    found = await Artifact.aget(key)
    assert found is not None
    return str(found.data)


def run_id(state: State[Any]) -> str:
    return str(state.state_details.flow_run_id)


def read(server: PrefectServer, path: str, selected: dict[str, Any]) -> list[dict[str, Any]]:
    answer = httpx.post(f"{server.url}/{path}/filter", json=selected, timeout=30)
    found: Any = answer.raise_for_status().json()
    rows: list[dict[str, Any]] = found["events"] if path == "events" else found
    return rows


async def tasks(server: PrefectServer, run: str, count: int) -> dict[str, list[str]]:
    """Return the tags of each task run by its name, as soon as the server has recorded them."""
    for _ in range(100):
        found = read(server, "task_runs", {"flow_runs": {"id": {"any_": [run]}}})
        if len(found) >= count:
            break
        await asyncio.sleep(0.2)
    return {task["name"]: sorted(task["tags"]) for task in found}


async def events(server: PrefectServer, run: str, names: Sequence[str]) -> list[dict[str, Any]]:
    """Return the events of turnetl of a run, as soon as the server has one of each name."""
    deadline = time.monotonic() + 60
    selected = {"filter": {"event": {"prefix": ["turnetl."]}}, "limit": 50}
    while time.monotonic() < deadline:
        found = [
            event
            for event in read(server, "events", selected)
            if event["payload"]["flow_run_id"] == run
        ]
        if {event["event"] for event in found} >= {*names}:
            return found
        await asyncio.sleep(0.3)
    pytest.fail(f"no events {names}: {found}")


@pytest.mark.full
async def test_a_quarantined_turn_is_in_the_report_with_its_reason_in_the_log_and_an_event(
    archive: Path,
    provider: FakeProvider,
    server: PrefectServer,
    flow_log: pytest.LogCaptureFixture,
) -> None:
    provider.faults += [BAD_REQUEST] * 20
    state = await run(archive)
    assert state.is_completed(), state.message
    [group] = (await state.aresult())["groups"]
    turns = [turn["turn_id"] for turn in group["quarantined_turns"]]
    assert len(turns) == 2
    report = await artifact(REPORT)
    assert "## Quarantined turns" in report
    assert report.count("no such question") >= len(turns)
    lines = [line for line in flow_log.messages if line.startswith("turn quarantined turn_id=")]
    assert all(any(turn in line for line in lines) for turn in turns)
    found = await events(
        server, run_id(state), ["turnetl.run.finished", "turnetl.turn.quarantined"]
    )
    resources = {one["resource"]["prefect.resource.id"]: one["payload"] for one in found}
    for turn in turns:
        payload = resources[f"turnetl.turn.{turn}"]
        assert (payload["group"], payload["line"] > 0) == (group["group"], True)
        assert "no such question" in payload["error"]
    assert resources[f"turnetl.run.{run_id(state)}"]["quarantined"] == len(turns)


@pytest.mark.full
async def test_names_tags_progress_and_cost_are_those_of_the_groups(
    archive: Path, server: PrefectServer
) -> None:
    state = await run(archive)
    assert state.is_completed(), state.message
    [group] = [one["group"] for one in (await state.aresult())["groups"]]
    found = await tasks(server, run_id(state), 3)
    assert found == {
        f"parse {batch_name([archive], 0, 1)}": ["parse"],
        "filter 1 group": ["filter"],
        f"ingest {group}": [f"group:{group}", "ingest"],
    }
    assert float(await artifact(artifact_key(group))) == 100
    report = await artifact(REPORT)
    assert "| prompt | calls | tokens in | cached | tokens out | seconds | cost |" in report
    assert "| extract_nodes." in report
    [of_run] = read(server, "flow_runs", {"flow_runs": {"id": {"any_": [run_id(state)]}}})
    assert of_run["name"].startswith("backfill ")
    assert of_run["name"].endswith(str(archive)[-60:])
    assert of_run["flow_version"] == VERSION
    text = str(of_run) + report
    assert KEY not in text


@pytest.mark.full
async def test_a_budget_stop_is_a_state_of_its_own_and_no_failure(
    archive: Path, provider: FakeProvider, server: PrefectServer
) -> None:
    state = await run(archive, budget=["1 token"])
    assert (state.name, state.is_completed()) == ("BudgetStopped", True)
    assert "budget is too small" in (state.message or "")
    assert provider.requests == []
    found = await events(server, run_id(state), ["turnetl.budget.stopped", "turnetl.run.finished"])
    [stopped] = [one["payload"] for one in found if one["event"] == "turnetl.budget.stopped"]
    assert "budget is too small" in stopped["error"]
    assert len(stopped["groups"]) == 1


@pytest.mark.full
async def test_a_provider_that_refuses_the_key_fails_the_run_with_an_event(
    archive: Path, provider: FakeProvider, server: PrefectServer
) -> None:
    provider.faults += [WRONG_KEY] * 20
    state = await run(archive)
    assert state.is_failed()
    found = await events(server, run_id(state), ["turnetl.provider.refused"])
    [refused] = [one["payload"] for one in found if one["event"] == "turnetl.provider.refused"]
    assert refused["error"] in (state.message or "")
    assert KEY not in str(found)


@pytest.mark.full
async def test_only_the_last_of_many_updates_is_published(server: PrefectServer) -> None:
    @flow
    async def work() -> None:
        progress = ProgressArtifacts()
        async with progress.publishing():
            for done in range(1, 500):
                progress(ProgressUpdate("ingest", "Hof & Garten", done, 1000))

    newest = {"sort": "CREATED_DESC"}
    before = {artifact["id"] for artifact in read(server, "artifacts", newest)}
    await work()
    artifacts = read(server, "artifacts", newest)
    created = [artifact for artifact in artifacts if artifact["id"] not in before]
    assert len(created) == 1
    assert created[0]["key"] == artifact_key("Hof & Garten")
    assert float(created[0]["data"]) == pytest.approx(49.9)
    assert created[0]["description"] == "ingest Hof & Garten: 499 of 1,000 turns"


def test_two_groups_never_share_the_key_of_an_artifact() -> None:
    names = ("shop", "Shop", "s-hop", "s_hop", "s.hop", "日本", "")
    keys = {artifact_key(name) for name in names}
    assert len(keys) == len(names)
    assert all(key.replace("-", "").isalnum() and key.isascii() for key in keys)


def test_a_batch_is_named_by_its_archives_unless_a_name_may_hold_a_secret(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("one.jsonl", "two.jsonl", "x4Kq9zPw7Lm2Vt8Rb3Nc.jsonl")]
    for path in paths:
        path.write_bytes(b"x" * 2000)
    assert (
        batch_name(paths[:2], 200, 1234)
        == "archives 201-202 of 1,234, 4 kB: one.jsonl to two.jsonl"
    )
    assert batch_name(paths, 0, 3) == "archives 1-3 of 3, 6 kB"
    assert batch_name(paths[:1], 0, 1, with_files=False) == "archives 1 of 1, 2 kB"
    assert batch_name([], 0, 0) == "no archives"


def test_a_worker_with_an_older_turnetl_is_recognised() -> None:
    assert is_older("0.9.1", "0.10.0")
    assert not is_older("0.10.0", "0.10.0")
    assert not is_older("0.10.0", "0.9.1")
    assert not is_older("0.10.0", "12345678")
    assert not is_older("0.10.0", "not.a.version")
