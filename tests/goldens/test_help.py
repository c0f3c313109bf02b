"""The help of every command, as a terminal of 80 columns shows it."""

from pathlib import Path

import pytest

from tests.cli.command import run_in_process
from tests.goldens.commands import commands, help_file
from tests.goldens.golden_files import GoldenFiles

TERMINAL = {"COLUMNS": "80", "NO_COLOR": "1", "FORCE_COLOR": "", "TERM": "xterm"}


@pytest.mark.parametrize("command", [*commands()], ids=help_file)
def test_the_help_is_the_golden(
    command: tuple[str, ...], golden: GoldenFiles, tmp_path: Path
) -> None:
    result = run_in_process(*command, "--help", folder=tmp_path, **TERMINAL)
    assert result.exit_code == 0, result.stderr
    golden.check(help_file(command), result.stdout)
