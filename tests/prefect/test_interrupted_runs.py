"""Runs that a person or a failure interrupts: each ends truthfully, and the next one completes.

The provider holds its responses in the middle of a run, so that it is interrupted there.
"""

import asyncio
import json
import shutil
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.cli import command
from tests.cli.provider_setup import model_environment, write_session
from tests.prefect.own_server import OwnServer, eventually, own_server
from tests.prefect.stored_graph import stored_graph, stored_tables
from tests.servers.provider import KEY, FakeProvider, Fault

pytestmark = pytest.mark.prefect

TURNS = 4
BACKFILL = "backfill/backfill"
BEFORE_THE_HOLD = 6
"""Requests that are answered; at least one turn is committed, and not all of them."""


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnServer]:
    """A server and a worker without the settings of a model."""
    with own_server(tmp_path_factory.mktemp("own_prefect")) as server:
        server.start_worker()
        yield server


@dataclass(frozen=True)
class Backfill:
    """A backfill of a session with a model, and the lake of an undisturbed one."""

    server: OwnServer
    provider: FakeProvider
    folder: Path
    undisturbed: Path

    @property
    def lake(self) -> Path:
        return self.folder / "lake"

    def start(self, **parameters: Any) -> str:
        """Create a run, and return its id."""
        given = {
            "archives": [str(self.folder / "a.jsonl")],
            "lake": str(self.lake),
            "config": str(self.folder / "config.json"),
            **parameters,
        }
        answer = self.server.api.create_run(BACKFILL, given).raise_for_status()
        return str(answer.json()["id"])

    def start_and_hold(self) -> str:
        """Start a run, and return when the provider holds a response in the middle of it."""
        self.provider.hold = threading.Event()
        self.provider.hold.set()
        run = self.start()
        for number in range(BEFORE_THE_HOLD):
            assert self.provider.arrived.acquire(timeout=120), self.server.api.log("worker")
            if number == BEFORE_THE_HOLD - 2:
                self.provider.hold.clear()
        return run

    def release(self) -> None:
        assert self.provider.hold is not None
        self.provider.hold.set()

    def finish(self, run: str) -> tuple[str, str]:
        """Return type and name of the state of a run, as soon as it has ended."""
        done = self.server.api.final_run(run)
        return done["state_type"], done["state_name"]

    def check_complete(self) -> None:
        """Check that tables and graph are those of an undisturbed run."""
        assert stored_tables(self.lake) == stored_tables(self.undisturbed)
        graph = asyncio.run(stored_graph(self.lake))
        assert graph == asyncio.run(stored_graph(self.undisturbed))
        assert [len(group.receipts) for group in graph] == [TURNS]


@pytest.fixture
def backfill(own: OwnServer, provider: FakeProvider, tmp_path: Path) -> Backfill:
    archive = write_session(tmp_path / "a.jsonl", TURNS)
    lake = tmp_path / "undisturbed"
    ran = command.run_in_process(
        "backfill", archive, "--lake", lake, folder=tmp_path, **model_environment(provider)
    )
    assert ran.exit_code == 0, ran.stderr
    provider.arrived = threading.Semaphore(0)
    (tmp_path / "lake").mkdir()
    # Placeholders and versions depend on the key of the lake.
    shutil.copy(lake / "redaction.key", tmp_path / "lake")
    model = {"base_url": f"{provider.url}/v1", "model": "canned", "api_key": KEY}
    llm = {"provider": "openai-compatible", **model}
    (tmp_path / "config.json").write_text(json.dumps({"turnetl": {"llm": llm}}))
    (tmp_path / "config.json").chmod(0o600)
    return Backfill(own, provider, tmp_path, lake)


@pytest.mark.parametrize("way", ["command", pytest.param("ui", marks=pytest.mark.full)])
def test_a_cancelled_run_ends_as_cancelled_and_the_next_one_completes_the_graph(
    backfill: Backfill, way: str
) -> None:
    run = backfill.start_and_hold()
    if way == "command":
        done = backfill.server.api.run("prefect", "flow-run", "cancel", run)
        assert done.returncode == 0, done.stdout + done.stderr
    else:
        backfill.server.set_state(run, "CANCELLING")
    assert backfill.finish(run) == ("CANCELLED", "Cancelled")
    backfill.release()
    assert backfill.finish(backfill.start())[0] == "COMPLETED"
    backfill.check_complete()


def test_a_run_whose_process_is_killed_ends_as_crashed_and_the_next_one_completes_the_graph(
    backfill: Backfill,
) -> None:
    run = backfill.start_and_hold()
    backfill.server.kill_run(run)
    assert backfill.finish(run) == ("CRASHED", "Crashed")
    backfill.release()
    assert backfill.finish(backfill.start())[0] == "COMPLETED"
    backfill.check_complete()


@pytest.mark.full
def test_a_run_whose_worker_is_killed_ends_as_crashed_and_the_next_one_completes_the_graph(
    backfill: Backfill,
) -> None:
    run = backfill.start_and_hold()
    backfill.server.kill("worker")
    try:
        assert backfill.finish(run) == ("CRASHED", "Crashed")
    finally:
        backfill.server.start_worker()
    backfill.release()
    assert backfill.finish(backfill.start())[0] == "COMPLETED"
    backfill.check_complete()


def test_a_run_completes_although_the_server_is_restarted_meanwhile(backfill: Backfill) -> None:
    run = backfill.start_and_hold()
    backfill.server.kill("server")
    backfill.release()
    backfill.server.start_server()
    assert backfill.finish(run)[0] == "COMPLETED"
    backfill.check_complete()


def test_the_second_of_two_runs_waits_for_the_first_and_commits_nothing(
    backfill: Backfill,
) -> None:
    first = backfill.start_and_hold()
    second = backfill.start()
    assert eventually(lambda: backfill.server.state(second) == "AwaitingConcurrencySlot")
    backfill.release()
    assert backfill.finish(first)[0] == "COMPLETED"
    assert backfill.finish(second)[0] == "COMPLETED"
    message = backfill.server.api.read(f"flow_runs/{second}")["state"]["message"]
    assert message == f"0 turns committed, {TURNS} before"
    backfill.check_complete()


@pytest.mark.full
def test_a_failed_run_that_is_retried_completes(backfill: Backfill) -> None:
    backfill.provider.faults += [Fault(401, '{"error": {"message": "no such key"}}')] * 20
    run = backfill.start()
    assert backfill.finish(run) == ("FAILED", "Failed")
    backfill.provider.faults.clear()
    done = backfill.server.api.run("prefect", "flow-run", "retry", run)
    assert done.returncode == 0, done.stdout + done.stderr
    assert eventually(lambda: backfill.server.state(run) == "Completed")
    backfill.check_complete()


def test_a_worker_without_the_settings_of_the_model_uses_no_other_extractor(
    backfill: Backfill,
) -> None:
    run = backfill.start(config=None, extractor="llm")
    assert backfill.finish(run)[0] == "FAILED"
    message = backfill.server.api.read(f"flow_runs/{run}")["state"]["message"]
    assert "TURNETL_LLM__MODEL" in message
    assert not (backfill.lake / "graph").exists()
    assert not (backfill.lake / "turns").exists()


def test_a_worker_with_an_older_turnetl_is_refused_before_any_work(
    backfill: Backfill, tmp_path: Path
) -> None:
    older = tmp_path / "older" / "turnetl-0.0.1.dist-info"
    older.mkdir(parents=True)
    (older / "METADATA").write_text("Metadata-Version: 2.1\nName: turnetl\nVersion: 0.0.1\n")
    path = f"{older.parent}:{backfill.server.api.environment['PYTHONPATH']}"
    backfill.server.start_worker(PYTHONPATH=path)
    try:
        run = backfill.start()
        assert backfill.finish(run)[0] == "FAILED"
    finally:
        backfill.server.start_worker()
    message = backfill.server.api.read(f"flow_runs/{run}")["state"]["message"]
    assert message.startswith("this worker has turnetl 0.0.1, and the deployment is of turnetl ")
    assert not (backfill.lake / "turns").exists()
