"""A Prefect server and its clients for a benchmark, in a folder of their own, on a free port."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
_STARTUP_SECONDS = 180
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class LocalPrefect:
    """A running server."""

    url: str
    """Of its API."""
    home: Path
    """Folder of the server, its clients, and their files."""
    pid: int
    """Of the server."""
    settings: dict[str, str] = field(default_factory=dict)

    @property
    def ui(self) -> str:
        """The URL of the user interface."""
        return self.url.removesuffix("/api")

    def environment(self) -> dict[str, str]:
        """Return the environment of clients, with nothing of the user's own settings."""
        return _environment(self.home) | {"PREFECT_API_URL": self.url} | self.settings

    def command(self, *arguments: str) -> list[str]:
        """Return the command line of a module, such as `turnetl` or `prefect`."""
        return [sys.executable, "-m", *arguments]

    def run(self, *arguments: str) -> str:
        """Run a module in the project's folder, and return its standard output."""
        done = subprocess.run(
            self.command(*arguments),
            cwd=ROOT,
            env=self.environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    @contextmanager
    def worker(self) -> Iterator[int]:
        """Run a worker of the pool `etl`, and yield its process id."""
        arguments = ("prefect", "worker", "start", "--pool", "etl", "--type", "process")
        with _process(self.command(*arguments), self.environment(), self.home) as process:
            yield process.pid


@contextmanager
def running(home: Path, *, ui: bool = False, **settings: str) -> Iterator[LocalPrefect]:
    """Start a server with an empty database, and stop it on exit.

    Args:
        home: an empty folder.
        ui: whether it serves the user interface.
        settings: environment variables of its clients.
    """
    port = _free_port()
    command = [sys.executable, "-m", "prefect", "server", "start", "--port", str(port)]
    command += [] if ui else ["--no-ui"]
    url = f"http://127.0.0.1:{port}/api"
    environment = _environment(home) | {"PREFECT_SERVER_UI_API_URL": url}
    with _process(command, environment, home) as process:
        server = LocalPrefect(url, home, process.pid, settings)
        _wait(server)
        yield server


def cpu_seconds(group: int) -> float:
    """Return the CPU time of the living processes of a process group."""
    return sum(_ticks(stat, group) for stat in Path("/proc").glob("[0-9]*/stat")) / _TICKS


def _ticks(stat: Path, group: int) -> int:
    try:
        fields = stat.read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return sum(map(int, fields[11:15])) if int(fields[2]) == group else 0


def _environment(home: Path) -> dict[str, str]:
    inherited = {
        name: os.environ[name]  # noqa: TID251 - processes need to find their programs
        for name in ("PATH", "LANG", "TMPDIR")
        if name in os.environ  # noqa: TID251
    }
    return {
        **inherited,
        "HOME": str(home),
        # The secret scanner compiles its rules for seconds if it finds no cache of them.
        "XDG_CACHE_HOME": str(Path.home() / ".cache"),
        "PREFECT_HOME": str(home / ".prefect"),
        "PYTHONPATH": str(ROOT),
        "DO_NOT_TRACK": "1",
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_SERVER_UI_SHOW_PROMOTIONAL_CONTENT": "false",
        "PREFECT_WORKER_QUERY_SECONDS": "2",
    }


@contextmanager
def _process(
    command: Sequence[str], environment: dict[str, str], home: Path
) -> Iterator["subprocess.Popen[bytes]"]:
    """Run a command in a process group of its own, which is ended on exit."""
    with (home / "output.log").open("ab") as log:
        process = subprocess.Popen(
            command,
            cwd=home,
            env=environment,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _wait(server: LocalPrefect) -> None:
    deadline = time.monotonic() + _STARTUP_SECONDS
    while time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(f"{server.url}/health", timeout=5):  # noqa: S310 - our own
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    raise TimeoutError((server.home / "output.log").read_text()[-4000:])


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
