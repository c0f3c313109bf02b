"""A real Prefect server and its clients, on a free port, with their files in one folder."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import httpx

from tests.servers import connection_audit

ROOT = Path(__file__).parents[2]
"""The folder of the project."""
_ATTEMPTS = 20
_STARTUP_TIMEOUT = 180.0
"""Seconds; the server needs ten on two idle cores."""
_FINAL = ("COMPLETED", "FAILED", "CRASHED", "CANCELLED")


@dataclass(frozen=True)
class PrefectServer:
    """A server, which may be running, and the environment of its clients."""

    port: int
    environment: dict[str, str]
    home: Path

    @classmethod
    def of(cls, home: Path, port: int, settings: Mapping[str, str]) -> Self:
        """Return a server that is not started yet.

        Args:
            home: an empty folder, for the files of the server and its clients.
            port: of the server.
            settings: more environment variables of the server and its clients.
        """
        return cls(port, process_environment(home, port) | dict(settings), home)

    @property
    def url(self) -> str:
        """The URL of its API."""
        return f"http://127.0.0.1:{self.port}/api"

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
        return self.post(path, {"parameters": parameters})

    def post(self, path: str, content: Any) -> httpx.Response:
        """Send a request, and again while the database is locked, as Prefect's client does."""
        return self._send("POST", path, json=content)

    def delete(self, path: str) -> httpx.Response:
        return self._send("DELETE", path)

    def _send(self, method: str, path: str, **content: Any) -> httpx.Response:
        for _ in range(_ATTEMPTS):
            response = httpx.request(method, f"{self.url}/{path}", timeout=30, **content)
            if response.status_code != httpx.codes.SERVICE_UNAVAILABLE:
                break
            time.sleep(1)
        return response

    def task_states(self, run: str) -> list[str]:
        """Return the names of the states of the tasks of a run."""
        answer = self.post("task_runs/filter", {"flow_runs": {"id": {"any_": [run]}}})
        return [str(task["state_name"]) for task in answer.raise_for_status().json()]

    def final_run(self, run: str, timeout: float = 180) -> dict[str, Any]:
        """Wait until a run has ended, and return it."""
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            found = self.read(f"flow_runs/{run}")
            if found["state_type"] in _FINAL:
                return found
            time.sleep(0.5)
        raise TimeoutError(f"the run has not ended:\n{self.log('worker')}")

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a module, such as `turnetl` or `prefect`, in the project's folder."""
        return subprocess.run(
            [sys.executable, "-m", *arguments],
            cwd=ROOT,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    @contextmanager
    def process(
        self, name: str, arguments: list[str], folder: Path
    ) -> Iterator["subprocess.Popen[bytes]"]:
        """Run a module in a process group of its own, which is ended on exit.

        Args:
            name: of its log.
            arguments: the module and its arguments.
            folder: its working directory.
        """
        with (self.home / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", *arguments],
                cwd=folder,
                env=self.environment,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                yield process
            finally:
                _end(process)

    @contextmanager
    def running(
        self, command: list[str], folder: Path, *, ui: bool = False
    ) -> Iterator["subprocess.Popen[bytes]"]:
        """Run the server, also again: its database is in its home.

        Args:
            command: the module that starts a server, and its arguments.
            folder: its working directory.
            ui: whether it serves the user interface.
        """
        address = ["--host", "127.0.0.1", "--port", str(self.port)]
        start = [*command, *address, *([] if ui else ["--no-ui"])]
        with self.process("server", start, folder) as process:
            self._wait(process)
            yield process

    def _wait(self, process: "subprocess.Popen[bytes]") -> None:
        deadline = time.monotonic() + _STARTUP_TIMEOUT
        while time.monotonic() < deadline and process.poll() is None:
            try:
                if httpx.get(f"{self.url}/health", timeout=5).is_success:
                    return
            except httpx.TransportError:
                time.sleep(0.2)
        raise RuntimeError(f"no Prefect server:\n{self.log('server')}")


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
        "PYTHONPATH": os.pathsep.join([str(home), str(ROOT)]),
    }


def _end(process: "subprocess.Popen[bytes]") -> None:
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
