"""Of several processes with one journal, one sends a request, and the others use its response."""

import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path

import pytest

from tests.cli.command import clean_environment, command_line, run_in_process
from tests.cli.provider_setup import model_environment, write_session
from tests.llm.journal_fixtures import NOON, chat_request, fake_model
from tests.servers.provider import FakeProvider
from turnetl.base.errors import ModelBusy
from turnetl.llm.journal import Journal, JournaledModel, request_key
from turnetl.llm.journal.store import TTL


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.sqlite"


@contextmanager
def program(path: Path, first: str) -> Iterator["subprocess.Popen[str]"]:
    """Start a process that sends a request, and wait until it has printed the first line."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.llm.claim_program", str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == f"{first}\n"
        yield process
        process.kill()


def claims(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        (count,) = connection.execute("SELECT count(*) FROM claims").fetchone()
        return int(count)


@pytest.mark.full
def test_a_process_waits_for_the_response_to_a_request_that_another_has_sent(path: Path) -> None:
    with program(path, "sending") as sender, program(path, "asked") as waiting:
        assert claims(path) == 1
        assert sender.communicate("\n")[0] == "asked\nsent 1\n"
        assert waiting.communicate("\n")[0] == "sent 0\n"
    assert claims(path) == 0


@pytest.mark.full
def test_a_process_sends_the_request_of_one_that_was_killed(path: Path) -> None:
    with program(path, "sending") as sender, program(path, "asked") as waiting:
        sender.send_signal(signal.SIGKILL)
        sender.wait()
        assert waiting.communicate("\n")[0] == "sending\nsent 1\n"
    assert claims(path) == 0


@pytest.mark.full
def test_no_claim_stays_after_ctrl_c(path: Path) -> None:
    with program(path, "sending") as sender:
        assert claims(path) == 1
        sender.send_signal(signal.SIGINT)
        sender.wait()
        assert claims(path) == 0


async def test_a_claim_that_is_not_renewed_expires(path: Path) -> None:
    times = [NOON]
    with (
        closing(Journal(path, clock=lambda: times[0])) as stopped,
        closing(Journal(path, clock=lambda: times[0])) as waiting,
    ):
        assert await stopped.claim("key")
        assert not await waiting.claim("key")
        await stopped.renew_claim("key")
        times[0] += TTL
        assert await waiting.claim("key")
        stopped.release_claim("key")
        assert not await stopped.claim("key")


async def test_a_request_that_failed_may_be_sent_by_another_process(path: Path) -> None:
    def clock() -> datetime:
        return NOON

    key = request_key(fake_model().name, chat_request())
    with closing(Journal(path, clock=clock)) as first, closing(Journal(path, clock=clock)) as other:
        with pytest.raises(ModelBusy):
            await JournaledModel(fake_model(ModelBusy("no")), first).complete(chat_request())
        # The claim is released after the error is raised.
        while not await other.claim(key):
            pass


@pytest.mark.full
def test_two_runs_with_one_journal_and_two_graphs_send_no_request_twice(
    provider: FakeProvider, tmp_path: Path
) -> None:
    write_session(tmp_path / "a.jsonl", 3)
    run_in_process("parse", "a.jsonl", folder=tmp_path)
    run_in_process("filter", folder=tmp_path)
    environment = clean_environment(tmp_path) | model_environment(provider)
    runs = [
        subprocess.Popen(
            command_line("ingest", "--graph", f"ladybug://{tmp_path}/{name}.lbug"),
            cwd=tmp_path,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for name in ("one", "two")
    ]
    assert [run.wait() for run in runs] == [0, 0]
    bodies = [str(request.body) for request in provider.requests]
    assert sorted(set(bodies)) == sorted(bodies)
    assert len(bodies) > len(runs)
