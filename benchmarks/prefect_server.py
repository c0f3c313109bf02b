"""A Prefect server for a benchmark, in a folder of its own, and the CPU time of its processes."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from tests.servers.free_port import free_port
from tests.servers.prefect_server import PrefectServer

_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class LocalPrefect(PrefectServer):
    """A running server."""

    pid: int = 0
    """Of the server."""

    @property
    def ui(self) -> str:
        """The URL of the user interface."""
        return self.url.removesuffix("/api")

    def command(self, *arguments: str) -> list[str]:
        """Return the command line of a module, such as `turnetl` or `prefect`."""
        return [sys.executable, "-m", *arguments]

    def output(self, *arguments: str) -> str:
        """Run a module in the project's folder, and return its standard output."""
        done = self.run(*arguments)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    @contextmanager
    def worker(self) -> Iterator[int]:
        """Run a worker of the pool `etl`, and yield its process id."""
        arguments = ["prefect", "worker", "start", "--pool", "etl", "--type", "process"]
        with self.process("worker", arguments, self.home) as process:
            yield process.pid


@contextmanager
def running(home: Path, *, ui: bool = False, **settings: str) -> Iterator[LocalPrefect]:
    """Start a server with an empty database, and stop it on exit.

    Args:
        home: an empty folder.
        ui: whether it serves the user interface.
        settings: environment variables of its clients.
    """
    port = free_port()
    own = {
        "DO_NOT_TRACK": "1",
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_SERVER_UI_SHOW_PROMOTIONAL_CONTENT": "false",
        "PREFECT_SERVER_UI_API_URL": f"http://127.0.0.1:{port}/api",
    }
    server = LocalPrefect.of(home, port, own | settings)
    with server.running(["prefect", "server", "start"], home, ui=ui) as process:
        yield replace(server, pid=process.pid)


def cpu_seconds(group: int) -> float:
    """Return the CPU time of the living processes of a process group."""
    return sum(_ticks(stat, group) for stat in Path("/proc").glob("[0-9]*/stat")) / _TICKS


def _ticks(stat: Path, group: int) -> int:
    try:
        fields = stat.read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return sum(map(int, fields[11:15])) if int(fields[2]) == group else 0
