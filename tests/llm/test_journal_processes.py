"""A journal of several processes and of killed processes."""

import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.llm.journal_fixtures import NAME, chat_request, clock
from turnetl.llm.journal import Journal, request_key


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "lake" / "journal.sqlite"


def start(path: Path, first: int, last: int, end: str = "end") -> "subprocess.Popen[str]":
    """Start a program that sends these requests."""
    return subprocess.Popen(
        [sys.executable, "-m", "tests.llm.journal_fixtures", str(path), str(first), str(last), end],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def output_of(process: "subprocess.Popen[str]") -> list[str]:
    """Return the output after a successful exit."""
    output, errors = process.communicate()
    assert process.returncode == 0, errors
    return output.splitlines()


@pytest.mark.full
def test_several_processes_write_concurrently_without_loss(path: Path) -> None:
    """They also create the file concurrently; two of them send half of the requests."""
    process = [start(path, first, first + 200) for first in (0, 100, 200, 300)]
    outputs = [output_of(process) for process in process]
    with closing(Journal(path, clock=clock)) as journal:
        assert journal.stats().total.entries == 500
        keys = (request_key(NAME, chat_request(f"number {number}")) for number in range(500))
        assert all(journal.get(key) is not None for key in keys)
    # Each process handles each of its requests once.
    assert all(len(lines) == 201 for lines in outputs)


@pytest.mark.full
def test_a_response_of_a_running_process_is_a_hit_in_another(path: Path) -> None:
    first = start(path, 0, 20, "wait")
    wait_for(first, "sent 20")
    assert output_of(start(path, 0, 20))[-1] == "sent 0"
    assert output_of(first) == []


@pytest.mark.full
def test_a_journal_can_be_pruned_during_a_run(path: Path) -> None:
    process = start(path, 0, 300, "wait")
    wait_for(process, "sent 300")
    with closing(Journal(path, clock=clock)) as journal:
        before = journal.stats().bytes
        pruned = journal.prune(everything=True)
        assert (pruned.entries, pruned.bytes) == (300, before - path.stat().st_size)
    assert output_of(process) == []
    assert output_of(start(path, 0, 300))[-1] == "sent 300"


def test_a_process_killed_before_it_uses_a_response_has_paid_once(path: Path) -> None:
    killed = start(path, 0, 10, "wait")
    wait_for(killed, "sent 10")
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    assert output_of(start(path, 0, 10))[-1] == "sent 0"


def test_a_process_killed_during_a_write_loses_no_response_it_used(path: Path) -> None:
    killed = start(path, 0, 100_000)
    assert killed.stdout is not None
    printed = [killed.stdout.readline().strip() for _ in range(150)]
    killed.send_signal(signal.SIGKILL)
    printed += killed.communicate()[0].splitlines()[:-1]
    with closing(Journal(path, clock=clock)) as journal:
        lost = [
            number
            for number in printed
            if journal.get(request_key(NAME, chat_request(f"number {number}"))) is None
        ]
        assert lost == []
        assert journal.stats().total.entries >= len(printed)


def wait_for(process: "subprocess.Popen[str]", line: str) -> None:
    assert process.stdout is not None
    while (outputs := process.stdout.readline()) != f"{line}\n":
        assert outputs, process.communicate()[1]
