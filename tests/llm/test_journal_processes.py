"""A journal of several processes, and of processes that are killed."""

import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.llm.journal_fixtures import NAME, clock, request
from turnetl.llm.journal import Journal, request_key


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "lake" / "journal.sqlite"


def asking(path: Path, first: int, last: int, end: str = "end") -> "subprocess.Popen[str]":
    """Start a program that asks these requests."""
    return subprocess.Popen(
        [sys.executable, "-m", "tests.llm.journal_fixtures", str(path), str(first), str(last), end],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def told(process: "subprocess.Popen[str]") -> list[str]:
    """Return what it said, once it has ended well."""
    out, errors = process.communicate()
    assert process.returncode == 0, errors
    return out.splitlines()


def test_several_processes_write_concurrently_without_loss(path: Path) -> None:
    """They make the file together too; half of the requests are asked by two of them."""
    running = [asking(path, first, first + 200) for first in (0, 100, 200, 300)]
    said = [told(process) for process in running]
    with closing(Journal(path, clock=clock)) as journal:
        assert journal.stats().total.entries == 500
        keys = (request_key(NAME, request(f"number {number}")) for number in range(500))
        assert all(journal.get(key) is not None for key in keys)
    # None asks what it asked or found before.
    assert all(len(lines) == 201 for lines in said)


def test_a_response_of_a_running_process_is_a_hit_in_another(path: Path) -> None:
    first = asking(path, 0, 20, "wait")
    until(first, "asked 20")
    assert told(asking(path, 0, 20))[-1] == "asked 0"
    assert told(first) == []


def test_a_journal_can_be_pruned_during_a_run(path: Path) -> None:
    running = asking(path, 0, 300, "wait")
    until(running, "asked 300")
    with closing(Journal(path, clock=clock)) as journal:
        before = journal.stats().bytes
        pruned = journal.prune(everything=True)
        assert (pruned.entries, pruned.bytes) == (300, before - path.stat().st_size)
    assert told(running) == []
    assert told(asking(path, 0, 300))[-1] == "asked 300"


def test_a_process_killed_before_it_uses_a_response_has_paid_once(path: Path) -> None:
    killed = asking(path, 0, 10, "wait")
    until(killed, "asked 10")
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    assert told(asking(path, 0, 10))[-1] == "asked 0"


def test_a_process_killed_during_a_write_loses_no_response_it_used(path: Path) -> None:
    killed = asking(path, 0, 100_000)
    assert killed.stdout is not None
    used = [killed.stdout.readline().strip() for _ in range(150)]
    killed.send_signal(signal.SIGKILL)
    used += killed.communicate()[0].splitlines()[:-1]
    with closing(Journal(path, clock=clock)) as journal:
        lost = [
            number
            for number in used
            if journal.get(request_key(NAME, request(f"number {number}"))) is None
        ]
        assert lost == []
        assert journal.stats().total.entries >= len(used)


def until(process: "subprocess.Popen[str]", line: str) -> None:
    assert process.stdout is not None
    while (said := process.stdout.readline()) != f"{line}\n":
        assert said, process.communicate()[1]
