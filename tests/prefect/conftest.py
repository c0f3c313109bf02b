"""Prefect for tests: a private server for flows in this process, and a whole one with a worker."""

import gc
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from prefect.settings import PREFECT_LOGGING_TO_API_ENABLED, temporary_settings
from prefect.testing.utilities import prefect_test_harness

ROOT = Path(__file__).parents[2]
QUIET = {
    "DO_NOT_TRACK": "1",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "PREFECT_SERVER_UI_SHOW_PROMOTIONAL_CONTENT": "false",
    "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "180",
}
_SERVER_UP = 180.0
"""Seconds; it takes twenty on two idle cores."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let pass that Prefect's client leaves sockets to the garbage collector."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"))


@pytest.fixture(autouse=True)
def _collected() -> Iterator[None]:
    """Collect what a test leaves while its warnings are let pass, not in the test after it."""
    yield
    gc.collect()


@pytest.fixture(scope="module")
def quiet_prefect() -> Iterator[None]:
    """A private server, for flows that are called in this process.

    Not for the whole session: it would then end in a test that lets no warning pass.
    """
    # A task that is called without its flow has no run to send its log to, and warns.
    silent = temporary_settings({PREFECT_LOGGING_TO_API_ENABLED: False})
    with pytest.MonkeyPatch.context() as environment:
        for name, value in QUIET.items():
            environment.setenv(name, value)
        with silent, prefect_test_harness(server_startup_timeout=int(_SERVER_UP)):
            yield


@dataclass(frozen=True)
class Prefect:
    """A server of our own, and how to speak to it."""

    url: str
    environment: dict[str, str]
    home: Path

    def log(self, name: str) -> str:
        """Return the end of what the `server` or the `worker` said."""
        return (self.home / f"{name}.log").read_text()[-4000:]

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a `prefect` command in the project's folder."""
        return subprocess.run(
            [sys.executable, "-m", "prefect", *arguments],
            cwd=ROOT,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )


@pytest.fixture(scope="module")
def deployed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prefect]:
    """A real server and a real worker, with all of prefect.yaml deployed."""
    home = tmp_path_factory.mktemp("prefect")
    port = _free_port()
    prefect = Prefect(f"http://127.0.0.1:{port}/api", _environment(home, port), home)
    serve = ["server", "start", "--host", "127.0.0.1", "--port", str(port), "--no-ui"]
    with ExitStack() as stack:
        server = stack.enter_context(_running(prefect, "server", serve))
        _wait_for(server, prefect)
        for arguments in (
            ["--no-prompt", "work-pool", "create", "etl", "--type", "process"],
            ["--no-prompt", "deploy", "--all"],
        ):
            done = prefect.run(*arguments)
            assert done.returncode == 0, done.stdout + done.stderr
        stack.enter_context(
            _running(prefect, "worker", ["worker", "start", "--pool", "etl", "--type", "process"])
        )
        yield prefect


def _environment(home: Path, port: int) -> dict[str, str]:
    """What the children get: nothing of the person's own settings."""
    inherited = {
        name: os.environ[name]  # noqa: TID251 - children need to find their programs
        for name in ("PATH", "LANG", "TMPDIR", "SYSTEMROOT")
        if name in os.environ  # noqa: TID251
    }
    return {
        **inherited,
        **QUIET,
        "HOME": str(home),
        "PREFECT_HOME": str(home / ".prefect"),
        "PREFECT_API_URL": f"http://127.0.0.1:{port}/api",
        "PREFECT_WORKER_QUERY_SECONDS": "2",
        "PREFECT_SERVER_SERVICES_SCHEDULER_LOOP_SECONDS": "2",
        "PREFECT_SERVER_CONCURRENCY_LEASE_STORAGE": (
            "prefect.server.concurrency.lease_storage.filesystem"
        ),
    }


@contextmanager
def _running(
    prefect: Prefect, name: str, arguments: list[str]
) -> Iterator[subprocess.Popen[bytes]]:
    """A child in a process group of its own, which is gone afterwards, whatever happened."""
    with (prefect.home / f"{name}.log").open("wb") as log:
        child = subprocess.Popen(
            [sys.executable, "-m", "prefect", *arguments],
            cwd=prefect.home,
            env=prefect.environment,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            yield child
        finally:
            _end(child)


def _end(child: subprocess.Popen[bytes]) -> None:
    for way in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(child.pid, way)
        except ProcessLookupError:
            break
        try:
            child.wait(20)
        except subprocess.TimeoutExpired:
            continue
    child.wait()


def _wait_for(server: subprocess.Popen[bytes], prefect: Prefect) -> None:
    deadline = time.monotonic() + _SERVER_UP
    while time.monotonic() < deadline and server.poll() is None:
        try:
            if httpx.get(f"{prefect.url}/health", timeout=5).is_success:
                return
        except httpx.TransportError:
            time.sleep(0.5)
    pytest.fail(f"no Prefect server:\n{prefect.log('server')}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
