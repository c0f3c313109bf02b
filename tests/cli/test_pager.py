"""Long results on a terminal, and control characters in them."""

import os
import pty
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.text import Text

from tests.cli.command import clean_environment, command_line
from turnetl.console.displayed import Displayed, displayed_text
from turnetl.console.pager import pager_command, show_in_pager
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
