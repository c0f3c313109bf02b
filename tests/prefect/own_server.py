"""A server and a worker of a test module's own, whose processes its tests may kill."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.prefect import documented
from tests.prefect.conftest import ROOT, new_server

_EVENTUALLY = 120.0
"""Seconds until a test gives up; no test measures time."""


class OwnServer:
    """A server with all of prefect.yaml deployed, and at most one worker."""

    def __init__(self, home: Path) -> None:
        self.api = new_server(home)
        self._processes: dict[str, ExitStack] = {}
        self._groups: dict[str, int] = {}

    def start_server(self) -> None:
        """Start the server, also again: its database is in its home."""
        self._start("server", self.api.running(documented.SERVER, ROOT))

    def deploy(self) -> None:
        for arguments in (documented.SETUP, documented.DEPLOY):
            done = self.api.run(*arguments)
            assert done.returncode == 0, done.stdout + done.stderr

    def start_worker(self, **environment: str) -> None:
        """Start the worker, with more variables in its environment."""
        own = replace(self.api, environment={**self.api.environment, **environment})
        self._start("worker", own.process("worker", documented.WORKER, own.home))

    def kill(self, name: str) -> None:
        """Kill the `server` or the `worker`, without the runs that a worker started."""
        os.kill(self._groups[name], signal.SIGKILL)

    def stop(self, *names: str) -> None:
        """Stop processes with their children."""
        for name in names:
            self._processes.pop(name, ExitStack()).close()

    def kill_run(self, run: str) -> None:
        """Kill the process of a flow run."""
        os.kill(self.process_of(run), signal.SIGKILL)

    def process_of(self, run: str) -> int:
        """Return the process of a flow run."""
        process: str = eventually(lambda: self.api.read(f"flow_runs/{run}")["infrastructure_pid"])
        return int(process.rpartition(":")[2])

    def set_state(self, run: str, kind: str) -> None:
        """Ask for a state, as the UI does."""
        path = f"flow_runs/{run}/set_state"
        self.api.post(path, {"state": {"type": kind}}).raise_for_status()

    def state(self, run: str) -> str:
        """Return the name of the state of a run."""
        return str(self.api.read(f"flow_runs/{run}")["state_name"])

    def _start(self, name: str, running: AbstractContextManager["subprocess.Popen[bytes]"]) -> None:
        self.stop(name)
        self._processes[name] = ExitStack()
        self._groups[name] = self._processes[name].enter_context(running).pid


@contextmanager
def own_server(home: Path) -> Iterator[OwnServer]:
    """Start a server, deploy, and stop everything in the end."""
    server = OwnServer(home)
    try:
        server.start_server()
        server.deploy()
        yield server
    finally:
        server.stop("worker", "server")


def eventually(read: Any) -> Any:
    """Return the first true result of a call that is repeated."""
    deadline = time.monotonic() + _EVENTUALLY
    while time.monotonic() < deadline:
        if found := read():
            return found
        time.sleep(0.2)
    raise AssertionError("it never was")
