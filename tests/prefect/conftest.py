"""One Prefect server per test run, for flows in this process and for a deployment with a worker."""

import gc
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from prefect.settings import PREFECT_API_URL, PREFECT_LOGGING_TO_API_ENABLED, temporary_settings

from flows.executor import PrefectTasks
from tests.prefect import documented
from tests.servers import connection_audit
from tests.servers.free_port import free_port
from tests.servers.prefect_server import PrefectServer
from turnetl.pipeline import Executor, InProcess

ROOT = Path(__file__).parents[2]


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


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PrefectServer]:
    """A server with an empty database, started in the project's folder as prefect.yaml says."""
    server = new_server(tmp_path_factory.mktemp("prefect"))
    with server.running(documented.SERVER, ROOT):
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
    with server.process("worker", documented.WORKER, server.home):
        yield server


def new_server(home: Path) -> PrefectServer:
    """Return a server that is not started yet, and whose connections are recorded."""
    connection_audit.install_on_path(home)
    settings = {
        "PREFECT_SERVER_SERVICES_SCHEDULER_LOOP_SECONDS": "2",
        "PREFECT_SERVER_CONCURRENCY_LEASE_STORAGE": (
            "prefect.server.concurrency.lease_storage.filesystem"
        ),
        connection_audit.LOG: str(home / "connections.txt"),
    }
    return PrefectServer.of(home, free_port(), settings)
