"""One Prefect server per test run, for flows in this process and for a deployment with a worker."""

import gc
import logging
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from prefect.settings import (
    PREFECT_API_URL,
    PREFECT_LOGGING_TO_API_ENABLED,
    temporary_settings,
)

from flows.executor import PrefectTasks
from tests.prefect import documented
from tests.servers import connection_audit
from turnetl.pipeline import Executor, InProcess

ROOT = Path(__file__).parents[2]
_STARTUP_TIMEOUT = 180.0
"""Seconds; the server needs ten on two idle cores."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Ignore that Prefect's client leaves sockets to the garbage collector."""
    folder = Path(__file__).parent
    here = {path for path in {item.path for item in items} if folder in path.parents}
    for item in items:
        if item.path in here:
            item.add_marker(pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"))


@pytest.fixture(autouse=True)
def _collect_garbage() -> Iterator[None]:
    """Collect the garbage of a test while its warnings are ignored, not in the next test."""
    yield
    gc.collect()


@dataclass(frozen=True)
class PrefectServer:
    """A running server, and the environment of its clients."""

    url: str
    environment: dict[str, str]
    home: Path

    def log(self, name: str) -> str:
        """Return the end of the log of the `server` or the `worker`."""
        return (self.home / f"{name}.log").read_text()[-4000:]

    @property
    def connections(self) -> set[tuple[str, int]]:
        """Host and port that the server and its clients connected to."""
        return connection_audit.connections(Path(self.environment[connection_audit.LOG]))

    def read(self, path: str) -> dict[str, Any]:
        """Return an object of the API."""
        found: dict[str, Any] = (
            httpx.get(f"{self.url}/{path}", timeout=30).raise_for_status().json()
        )
        return found

    def deployment(self, name: str) -> str:
        """Return the id of the deployment with this name, as `flow/deployment`."""
        return str(self.read(f"deployments/name/{name}")["id"])

    def create_run(self, name: str, parameters: dict[str, Any]) -> httpx.Response:
        """Ask for a run of a deployment."""
        path = f"deployments/{self.deployment(name)}/create_flow_run"
        return httpx.post(f"{self.url}/{path}", json={"parameters": parameters}, timeout=30)

    def final_run(self, run: str, timeout: float = 180) -> dict[str, Any]:
        """Wait until a run has ended, and return it."""
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            found = self.read(f"flow_runs/{run}")
            if found["state_type"] in ("COMPLETED", "FAILED", "CRASHED", "CANCELLED"):
                return found
            time.sleep(0.5)
        pytest.fail(f"the run has not ended:\n{self.log('worker')}")

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a command of the page in the project's folder."""
        return subprocess.run(
            [sys.executable, "-m", *arguments],
            cwd=ROOT,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PrefectServer]:
    """A server with an empty database, started in the project's folder as prefect.yaml says."""
    home = tmp_path_factory.mktemp("prefect")
    port = free_port()
    server = PrefectServer(f"http://127.0.0.1:{port}/api", process_environment(home, port), home)
    connection_audit.install_on_path(home)
    start = [*documented.SERVER, "--host", "127.0.0.1", "--port", str(port), "--no-ui"]
    with running(server, "server", start, ROOT) as process:
        wait_for(process, server)
        yield server


@pytest.fixture(scope="module")
def in_process_flows(server: PrefectServer) -> Iterator[None]:
    """Connect the flows that are called in this process to the server."""
    # A task that is called without its flow has no run to send its log to, and warns.
    settings = {PREFECT_API_URL: server.url, PREFECT_LOGGING_TO_API_ENABLED: False}
    with temporary_settings(settings):
        yield


@pytest.fixture
def flow_log(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    """The log of flow runs, which Prefect does not propagate to the root logger."""
    logger = logging.getLogger("prefect.flow_runs")
    logger.addHandler(caplog.handler)
    yield caplog
    logger.removeHandler(caplog.handler)


@pytest.fixture(params=["in_process", pytest.param("prefect", marks=pytest.mark.prefect)])
def executor(request: pytest.FixtureRequest) -> Executor:
    """Each executor."""
    if request.param == "in_process":
        return InProcess()
    request.getfixturevalue("in_process_flows")
    return PrefectTasks(batch_size=2, retry_delay=0)


@pytest.fixture(scope="session")
def deployed(server: PrefectServer) -> Iterator[PrefectServer]:
    """The server with all of prefect.yaml deployed, and a worker that runs it."""
    for arguments in (documented.SETUP, documented.DEPLOY):
        done = server.run(*arguments)
        assert done.returncode == 0, done.stdout + done.stderr
    with running(server, "worker", documented.WORKER, server.home):
        yield server


def process_environment(home: Path, port: int) -> dict[str, str]:
    """Return the environment of the processes, without the user's own settings."""
    inherited = {
        name: os.environ[name]  # noqa: TID251 - processes need to find their programs
        for name in ("PATH", "LANG", "TMPDIR", "SYSTEMROOT", "XDG_CACHE_HOME")
        if name in os.environ  # noqa: TID251
    }
    return {
        **inherited,
        "HOME": str(home),
        # The secret scanner compiles its rules for seconds if it finds no cache of them.
        "XDG_CACHE_HOME": inherited.get("XDG_CACHE_HOME", str(Path.home() / ".cache")),
        "PREFECT_HOME": str(home / ".prefect"),
        "PREFECT_API_URL": f"http://127.0.0.1:{port}/api",
        "PREFECT_WORKER_QUERY_SECONDS": "2",
        "PREFECT_SERVER_SERVICES_SCHEDULER_LOOP_SECONDS": "2",
        "PREFECT_SERVER_CONCURRENCY_LEASE_STORAGE": (
            "prefect.server.concurrency.lease_storage.filesystem"
        ),
        "PYTHONPATH": os.pathsep.join([str(home), str(ROOT)]),
        connection_audit.LOG: str(home / "connections.txt"),
    }


@contextmanager
def running(
    server: PrefectServer, name: str, arguments: list[str], folder: Path
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a command in a process group of its own, which is killed in the end."""
    with (server.home / f"{name}.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", *arguments],
            cwd=folder,
            env=server.environment,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            yield process
        finally:
            _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            break
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            continue
    process.wait()


def wait_for(process: subprocess.Popen[bytes], server: PrefectServer) -> None:
    deadline = time.monotonic() + _STARTUP_TIMEOUT
    while time.monotonic() < deadline and process.poll() is None:
        try:
            if httpx.get(f"{server.url}/health", timeout=5).is_success:
                return
        except httpx.TransportError:
            time.sleep(0.2)
    pytest.fail(f"no Prefect server:\n{server.log('server')}")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
