"""Long results on a terminal, and control characters in them."""

import os
import pty
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.text import Text

from tests.cli.command import clean_environment, command_line
from turnetl.base.control_characters import displayed_text
from turnetl.base.exit_code import ExitCode
from turnetl.console.output import Displayed, pager_command, show_in_pager
from turnetl.console.terminal import rich_console


def test_without_a_terminal_there_is_no_pager() -> None:
    assert pager_command() == []


@pytest.mark.parametrize(("pager", "shown"), [("sed s/^/paged:/", "paged:"), ("no-such-pager", "")])
def test_on_a_terminal_the_result_is_shown_in_the_users_pager(
    pager: str, shown: str, tmp_path: Path
) -> None:
    """A program that imports nothing heavy prints a result as the commands do."""
    call = "print_result('hello', None, as_json=False, paged=True)"
    code = f"from turnetl.console import print_result; {call}"
    terminal, end = pty.openpty()
    environment = clean_environment(tmp_path) | {"PAGER": pager, "TERM": "dumb"}
    process = subprocess.run(
        [command_line()[0], "-c", code],
        stdin=end,
        stdout=end,
        stderr=subprocess.PIPE,
        env=environment,
        check=True,
    )
    os.close(end)
    output = os.read(terminal, 1000).decode()
    os.close(terminal)
    assert (process.stderr, output.strip()) == (b"", f"{shown}hello")


def test_a_pager_that_the_user_leaves_is_no_error() -> None:
    assert show_in_pager("line\n" * 100_000, ["true"])


PAGER = """#!/bin/sh
trap 'echo interrupted >> interrupts' INT
cat > text
echo ready
until test -e left; do sleep 0.05; done
echo "the pager ends"
"""


class PagedCommand:
    """A command with a result of many lines, in a terminal, whose pager ends when it is told to."""

    def __init__(self, folder: Path) -> None:
        pager = folder / "pager"
        pager.write_text(PAGER)
        pager.chmod(0o755)
        self.folder = folder
        self.terminal, end = pty.openpty()
        call = "print_result('line\\n' * 100_000, None, as_json=False, paged=True)"
        code = (
            "import os, sys; os.login_tty(0); from turnetl.console import print_result, run; "
            f"sys.exit(run(lambda *_, **__: {call}, []))"
        )
        self.process = subprocess.Popen(
            [command_line()[0], "-c", code],
            stdin=end,
            stdout=end,
            stderr=end,
            cwd=folder,
            env=clean_environment(folder) | {"PAGER": str(pager)},
        )
        os.close(end)
        self.output = ""

    def wait_for(self, text: str) -> None:
        while text not in self.output:
            self.output += os.read(self.terminal, 1000).decode()

    def press_ctrl_c(self) -> None:
        """Press Ctrl-C, and wait until the pager has handled it."""
        before = self._interrupts()
        os.write(self.terminal, b"\x03")
        while self._interrupts() == before:
            time.sleep(0.01)

    def leave_pager(self) -> None:
        (self.folder / "left").touch()
        self.wait_for("the pager ends")

    def _interrupts(self) -> int:
        log = self.folder / "interrupts"
        return log.read_text().count("interrupted") if log.exists() else 0


@pytest.fixture
def paged(tmp_path: Path) -> Iterator[PagedCommand]:
    command = PagedCommand(tmp_path)
    yield command
    command.process.kill()
    command.process.wait()
    os.close(command.terminal)


def test_only_the_pager_handles_ctrl_c_however_often_it_is_pressed(paged: PagedCommand) -> None:
    paged.wait_for("ready")
    for _ in range(3):
        paged.press_ctrl_c()
    assert paged.process.poll() is None
    paged.leave_pager()
    assert paged.process.wait() == 0
    assert (paged.folder / "text").read_text() == "line\n" * 100_000
    assert "Traceback" not in paged.output
    assert "turnetl:" not in paged.output


def test_a_command_that_is_terminated_ends_its_pager(paged: PagedCommand) -> None:
    paged.wait_for("ready")
    paged.process.terminate()
    assert paged.process.wait() == ExitCode.INTERRUPTED
    paged.wait_for("turnetl: stopped")
    assert "the pager ends" not in paged.output


def test_after_the_pager_ctrl_c_is_handled_as_before() -> None:
    handler = signal.getsignal(signal.SIGINT)
    assert show_in_pager("line", ["true"])
    assert not show_in_pager("line", ["no-such-pager"])
    assert signal.getsignal(signal.SIGINT) is handler


@given(st.text())
def test_no_control_character_reaches_the_terminal(text: str) -> None:
    shown = displayed_text(text)
    assert displayed_text(shown) == shown
    shown.encode()
    assert not any(ord(character) < 32 and character not in "\t\n" for character in shown)


def test_the_styles_of_a_view_stay() -> None:
    console = rich_console()
    segments = list(console.render(Displayed(Text("a\x1b[2J", "bold"))))
    assert [(part.text, str(part.style)) for part in segments[:1]] == [("a\\x1b[2J", "bold")]
