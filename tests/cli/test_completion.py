"""Completion of commands and options in the shell."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cli.command import run_in_process

SHELLS = ["bash", "zsh", "fish", "powershell"]


@pytest.fixture(scope="module")
def home_with_bash(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the home of a user who has installed the completion of bash."""
    folder = tmp_path_factory.mktemp("home")
    result = run_in_process("completion", "install", "--shell", "bash", folder=folder)
    assert result.exit_code == 0, result.stderr
    return folder


@pytest.mark.full
@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_of_every_shell_has_all_commands_and_their_options(
    shell: str, tmp_path: Path
) -> None:
    result = run_in_process("completion", "show", "--shell", shell, folder=tmp_path)
    assert result.exit_code == 0
    for name in ("backfill", "journal", "prune", "older-than", "reflexion", "completion"):
        assert name in result.stdout


@pytest.mark.full
@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_is_installed_at_home(shell: str, tmp_path: Path) -> None:
    result = run_in_process("completion", "install", "--shell", shell, folder=tmp_path)
    assert result.exit_code == 0
    path = Path(result.stdout.partition("installed in ")[2].partition(";")[0])
    assert path.is_relative_to(tmp_path)
    assert "turnetl" in path.read_text()


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["turnetl", "ba"], "backfill"),
        (["turnetl", "journal", "pr"], "prune"),
        (["turnetl", "ingest", "--ref"], "--reflexion"),
        (["turnetl", "ingest", "--extractor", "hy"], "hybrid"),
    ],
)
def test_bash_completes_commands_options_and_values(
    words: list[str], expected: str, home_with_bash: Path
) -> None:
    assert "completions/turnetl" in (home_with_bash / ".bashrc").read_text()
    script = f"""
        source {home_with_bash}/.bashrc
        COMP_WORDS=({" ".join(words)}); COMP_CWORD={len(words) - 1}
        COMP_LINE="{" ".join(words)}"; COMP_POINT=${{#COMP_LINE}}
        _turnetl; printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    process = subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, check=False, cwd=home_with_bash
    )
    assert expected in process.stdout.split(), process.stderr


def test_an_unknown_shell_is_rejected_with_the_known_ones(tmp_path: Path) -> None:
    result = run_in_process("completion", "install", "--shell", "csh", folder=tmp_path)
    assert (result.exit_code, len(result.messages)) == (2, 1)
    assert all(shell in result.messages[0] for shell in SHELLS)
