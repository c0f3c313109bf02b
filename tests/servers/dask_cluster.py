"""A real Dask cluster, whose processes a test may kill."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

from tests.servers import connection_audit
from tests.servers.free_port import free_port
from tests.servers.prefect_server import PrefectServer


class DaskCluster:
    """A scheduler and workers with one thread, in process groups of their own."""

    def __init__(self, server: PrefectServer, stack: ExitStack) -> None:
        self.address = f"tcp://127.0.0.1:{free_port()}"
        self._stack = stack
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        # The addresses on which the cluster listens are no connections of Prefect.
        self._environment = {
            name: value
            for name, value in server.environment.items()
            if name != connection_audit.LOG
        }

    @property
    def engine(self) -> str:
        """The parameter of the flow."""
        return f"dask:{self.address}"

    def start_scheduler(self) -> None:
        """Start the scheduler, also again after it was killed."""
        port = self.address.rpartition(":")[2]
        command = ("distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", port)
        self._start("scheduler", command, {})

    def start_worker(self, name: str, settings: Mapping[str, str]) -> None:
        """Start a worker with these variables in its environment."""
        command = ("distributed.cli.dask_worker", self.address, "--name", name)
        self._start(name, (*command, "--nthreads", "1", "--no-nanny"), settings)

    def kill(self, name: str) -> None:
        """Kill the `scheduler` or a worker, and what it started."""
        os.killpg(self._processes[name].pid, signal.SIGKILL)
        self._processes[name].wait()

    def stop(self, name: str) -> None:
        """Ask a worker to end, as Kubernetes does."""
        self._processes[name].terminate()

    def wait_until_ended(self, name: str) -> None:
        """Wait until a worker has ended by itself."""
        self._processes[name].wait(120)

    def wait_for(self, workers: int) -> None:
        """Wait until the scheduler knows this number of workers."""
        with _connected(self.address) as client:
            if workers:
                client.wait_for_workers(workers, timeout=120)

    def busy(self) -> list[str]:
        """Return the names of the workers that do a pack."""
        with _connected(self.address) as client:
            workers = client.scheduler_info(n_workers=-1)["workers"]
            return [str(workers[one]["name"]) for one, keys in client.processing().items() if keys]

    def is_idle(self) -> bool:
        """Return whether no worker executes anything, also nothing that was cancelled."""
        with _connected(self.address) as client:
            tasks = client.run(lambda dask_worker: len(dask_worker.state.tasks))
            return not any(tasks.values())

    def _start(self, name: str, command: tuple[str, ...], settings: Mapping[str, str]) -> None:
        process = subprocess.Popen(
            [sys.executable, "-m", *command, "--no-dashboard"],
            env={**self._environment, **settings},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._processes[name] = process
        self._stack.callback(process.wait)
        self._stack.callback(process.kill)


@contextmanager
def dask_cluster(server: PrefectServer, *workers: Mapping[str, str]) -> Iterator[DaskCluster]:
    """Run a scheduler and a worker with each of these settings, named `1`, `2` and so on."""
    with ExitStack() as stack:
        cluster = DaskCluster(server, stack)
        cluster.start_scheduler()
        for number, settings in enumerate(workers, start=1):
            cluster.start_worker(str(number), settings)
        cluster.wait_for(len(workers))
        yield cluster


@contextmanager
def _connected(address: str) -> Iterator[Any]:
    from distributed import Client  # noqa: PLC0415 - imports for a second

    connect: Any = Client
    with connect(address, timeout=120, set_as_default=False) as client:
        yield client
