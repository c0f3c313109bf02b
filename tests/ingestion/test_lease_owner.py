"""Who holds a lease, and whether that process has ended."""

import os
import platform
import subprocess
import sys

import pytest

from turnetl.ingestion.held_lease import is_dead, owner_name

HERE = platform.node()


@pytest.fixture
def ended_pid() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_the_owner_names_host_process_and_run() -> None:
    assert owner_name("0123456789abcdef") == f"{HERE}:{os.getpid()}:01234567"


def test_a_running_process_is_not_dead() -> None:
    assert not is_dead(owner_name("run"))


def test_a_process_of_another_user_is_not_dead() -> None:
    assert not is_dead(f"{HERE}:1:run")


@pytest.mark.skipif(sys.platform == "win32", reason="no process is known to have ended there")
def test_a_process_that_ended_is_dead(ended_pid: int) -> None:
    assert is_dead(f"{HERE}:{ended_pid}:run")


def test_nothing_is_known_of_a_process_on_another_host(ended_pid: int) -> None:
    assert not is_dead(f"another-{HERE}:{ended_pid}:run")


@pytest.mark.parametrize("owner", ["", "nobody", f"{HERE}", f"{HERE}:", f"{HERE}:x:run"])
def test_nothing_is_known_of_an_owner_without_a_process(owner: str) -> None:
    assert not is_dead(owner)


def test_on_windows_no_process_is_known_to_have_ended(ended_pid: int) -> None:
    """Where a signal that only asks does not exist, none is sent: it would end the process."""
    assert not is_dead(f"{HERE}:{ended_pid}:run", system="win32")
    assert not is_dead(owner_name("run"), system="win32")
