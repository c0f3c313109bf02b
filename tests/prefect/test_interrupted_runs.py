"""Runs that a person or a failure interrupts: each ends truthfully, and the next one completes.

The provider holds its responses in the middle of a run, so that it is interrupted there.
"""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.prefect.held_backfill import TURNS, HeldBackfill, held_backfill
from tests.prefect.older_turnetl import older_path
from tests.prefect.own_server import OwnServer, eventually, own_server
from tests.servers.dask_cluster import dask_cluster
from tests.servers.neo4j_server import Neo4jServer
from tests.servers.provider import FakeProvider, Fault

pytestmark = [pytest.mark.prefect, pytest.mark.xdist_group("own-prefect"), pytest.mark.full]

BACKFILL = "backfill/backfill"


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnServer]:
    """A server and a worker without the settings of a model."""
    with own_server(tmp_path_factory.mktemp("own_prefect")) as server:
        server.start_worker()
        yield server


@dataclass(frozen=True)
class Backfill:
    """A backfill that a worker of Prefect runs."""

    server: OwnServer
    held: HeldBackfill

    def start(self, **parameters: Any) -> str:
        """Create a run, and return its id."""
        given = {**self.held.parameters, **parameters}
        answer = self.server.api.create_run(BACKFILL, given).raise_for_status()
        return str(answer.json()["id"])

    def start_and_hold(self, **parameters: Any) -> str:
        """Start a run, and return when the provider holds a response in the middle of it."""
        self.held.hold()
        run = self.start(**parameters)
        self.held.wait_for_the_middle(self.server.api.log("worker"))
        return run

    def release(self) -> None:
        self.held.release()

    def finish(self, run: str) -> tuple[str, str]:
        """Return type and name of the state of a run, as soon as it has ended."""
        done = self.server.api.final_run(run)
        return done["state_type"], done["state_name"]

    def committed(self) -> int:
        """Return the number of turns in the graph."""
        return asyncio.run(self.held.committed())

    def check_complete(self) -> None:
        asyncio.run(self.held.check_complete())


@pytest.fixture
def backfill(own: OwnServer, provider: FakeProvider, tmp_path: Path) -> Backfill:
    return Backfill(own, held_backfill(provider, tmp_path))


@pytest.fixture
def dask_backfill(
    own: OwnServer, provider: FakeProvider, neo4j: Neo4jServer, tmp_path: Path
) -> Backfill:
    """With a graph that the workers of a cluster can share."""
    return Backfill(own, held_backfill(provider, tmp_path, neo4j))


def test_a_cancelled_run_ends_as_cancelled_and_the_next_one_completes_the_graph(
    backfill: Backfill,
) -> None:
    """It is cancelled by Prefect's command, which asks for the same state as its pages."""
    run = backfill.start_and_hold()
    done = backfill.server.api.run("prefect", "flow-run", "cancel", run)
    assert done.returncode == 0, done.stdout + done.stderr
    assert backfill.finish(run) == ("CANCELLED", "Cancelled")
    # Its log is sent in batches; its end is among the last lines.
    of_run = {"logs": {"flow_run_id": {"any_": [run]}}}
    log = eventually(lambda: backfill.server.api.post("logs/filter", of_run).json())
    assert [one["message"] for one in log if "Crash detected!" in one["message"]] == []
    backfill.release()
    assert backfill.finish(backfill.start())[0] == "COMPLETED"
    backfill.check_complete()


def test_a_cancelled_run_ends_on_the_workers_of_dask_too_and_the_next_one_completes_the_graph(
    dask_backfill: Backfill,
) -> None:
    backfill = dask_backfill
    with dask_cluster(backfill.server.api, {}) as cluster:
        run = backfill.start_and_hold(engine=cluster.engine)
        backfill.server.set_state(run, "CANCELLING")
        assert backfill.finish(run) == ("CANCELLED", "Cancelled")
        assert eventually(cluster.is_idle)
        assert backfill.committed() < TURNS
        assert "Cancelled" in backfill.server.api.task_states(run)
        backfill.release()
        assert backfill.finish(backfill.start(engine=cluster.engine))[0] == "COMPLETED"
    backfill.check_complete()


def test_a_run_on_dask_whose_process_is_killed_ends_on_the_workers_too(
    dask_backfill: Backfill,
) -> None:
    backfill = dask_backfill
    with dask_cluster(backfill.server.api, {}) as cluster:
        run = backfill.start_and_hold(engine=cluster.engine)
        backfill.server.kill_run(run)
        assert backfill.finish(run) == ("CRASHED", "Crashed")
        assert eventually(cluster.is_idle)
        assert backfill.committed() < TURNS
        backfill.release()
        assert backfill.finish(backfill.start(engine=cluster.engine))[0] == "COMPLETED"
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


def test_a_failed_run_that_is_retried_completes(backfill: Backfill) -> None:
    backfill.held.provider.faults += [Fault(401, '{"error": {"message": "no such key"}}')] * 20
    run = backfill.start()
    assert backfill.finish(run) == ("FAILED", "Failed")
    backfill.held.provider.faults.clear()
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
    assert not (backfill.held.lake / "graph").exists()
    assert not (backfill.held.lake / "turns").exists()


def test_a_worker_with_an_older_turnetl_is_refused_before_any_work(
    backfill: Backfill, tmp_path: Path
) -> None:
    path = older_path(tmp_path, backfill.server.api.environment["PYTHONPATH"])
    backfill.server.start_worker(PYTHONPATH=path)
    try:
        run = backfill.start()
        assert backfill.finish(run)[0] == "FAILED"
    finally:
        backfill.server.start_worker()
    message = backfill.server.api.read(f"flow_runs/{run}")["state"]["message"]
    assert message.startswith("this worker has turnetl 0.0.1, and the deployment is of turnetl ")
    assert not (backfill.held.lake / "turns").exists()
