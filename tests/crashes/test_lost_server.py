"""A Neo4j that is killed or frozen while turns are committed, and then serves again."""

import asyncio
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.cli.command import CommandResult, clean_environment, command_line, run_in_process
from tests.cli.provider_setup import write_session
from tests.crashes.results import canonical_graph
from tests.servers import neo4j_server
from tests.servers.neo4j_server import Neo4jServer

TURNS = 150
FROZEN = 120.0
"""Seconds."""
TIMEOUT = {"TURNETL_GRAPH_TIMEOUT_SECONDS": "5"}

pytestmark = [
    pytest.mark.full,
    pytest.mark.neo4j,
    pytest.mark.skipif(
        not neo4j_server.CAN_START,
        reason="a server that the test may kill needs Java and Maven",
    ),
]


class LosableServer:
    """A server that tests may kill, and then start again with its data."""

    def __init__(self, home: Path, stack: ExitStack) -> None:
        self._home = home
        self._stack = stack
        self.server = stack.enter_context(neo4j_server.started(home))

    def restart(self) -> None:
        restarted = neo4j_server.restarted(self.server, self._home)
        self.server = self._stack.enter_context(restarted)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LosableServer]:
    with ExitStack() as stack:
        yield LosableServer(tmp_path_factory.mktemp("losable"), stack)


@pytest.fixture
def own(running: LosableServer) -> LosableServer:
    running.server.clear()
    return running


def backfill(folder: Path, server: Neo4jServer) -> CommandResult:
    return run_in_process(
        "backfill", "a.jsonl", "--json", "--graph", server.url, folder=folder, **TIMEOUT
    )


def committed(server: Neo4jServer) -> int:
    rows = server.run("MATCH (c:TurnCommit) RETURN count(c) AS turns")
    return int(str(rows[0]["turns"]))


@contextmanager
def running_backfill(folder: Path, server: Neo4jServer) -> Iterator["subprocess.Popen[str]"]:
    """Run a backfill in a process of its own; yield it when it has committed some turns."""
    command = command_line("backfill", "a.jsonl", "--graph", server.url)
    environment = clean_environment(folder) | TIMEOUT
    with subprocess.Popen(
        command, cwd=folder, env=environment, stderr=subprocess.PIPE, text=True
    ) as process:
        while not 0 < committed(server) < TURNS:
            assert process.poll() is None
        yield process


def signalled(server: Neo4jServer, number: signal.Signals) -> None:
    assert server.pid is not None
    os.kill(server.pid, number)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_session(tmp_path / "a.jsonl", TURNS)
    return tmp_path


def check_completion(folder: Path, server: Neo4jServer) -> None:
    """Repeat the backfill, and compare with the graph of a run that nothing disturbed."""
    result = backfill(folder, server)
    assert result.exit_code == 0, result.stderr
    assert committed(server) == TURNS
    disturbed = asyncio.run(canonical_graph(server.url))
    server.clear()
    assert backfill(folder, server).exit_code == 0
    assert asyncio.run(canonical_graph(server.url)) == disturbed


def check_message(process: "subprocess.Popen[str]") -> None:
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 1
    assert "does not respond" in errors
    assert "Traceback" not in errors


def test_a_run_whose_server_is_killed_is_completed_after_a_restart(
    own: LosableServer, folder: Path
) -> None:
    with running_backfill(folder, own.server) as process:
        signalled(own.server, signal.SIGKILL)
        check_message(process)
    own.restart()
    assert 0 < committed(own.server) < TURNS
    check_completion(folder, own.server)


def test_a_run_whose_server_is_frozen_for_two_minutes_ends_and_is_completed(
    own: LosableServer, folder: Path
) -> None:
    with running_backfill(folder, own.server) as process:
        frozen_at = time.monotonic()
        signalled(own.server, signal.SIGSTOP)
        check_message(process)
    time.sleep(max(0.0, frozen_at + FROZEN - time.monotonic()))
    signalled(own.server, signal.SIGCONT)
    check_completion(folder, own.server)
