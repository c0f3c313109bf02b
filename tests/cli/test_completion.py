"""Completion of commands and options in the shell."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cli.command import run_in_process

SHELLS = ["bash", "zsh", "fish", "powershell"]


@pytest.mark.full
def test_the_script_of_every_shell_has_all_commands_and_options_and_is_installed_at_home(
    tmp_path: Path, subtests: pytest.Subtests
) -> None:
    for shell in SHELLS:
        with subtests.test(shell=shell):
            result = run_in_process("completion", "install", "--shell", shell, folder=tmp_path)
            assert result.exit_code == 0
            path = Path(result.stdout.partition("installed in ")[2].partition(";")[0])
            assert path.is_relative_to(tmp_path)
            script = path.read_text()
            for name in ("backfill", "journal", "prune", "older-than", "reflexion", "completion"):
                assert name in script
    shown = run_in_process("completion", "show", "--shell", SHELLS[-1], folder=tmp_path)
    assert (shown.exit_code, shown.stdout.strip()) == (0, script.strip())


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_completes_commands_options_and_values(
    tmp_path: Path, subtests: pytest.Subtests
) -> None:
    result = run_in_process("completion", "install", "--shell", "bash", folder=tmp_path)
    assert result.exit_code == 0, result.stderr
    assert "completions/turnetl" in (tmp_path / ".bashrc").read_text()
    for words, expected in (
        (["turnetl", "ba"], "backfill"),
        (["turnetl", "journal", "pr"], "prune"),
        (["turnetl", "ingest", "--ref"], "--reflexion"),
        (["turnetl", "ingest", "--extractor", "hy"], "hybrid"),
    ):
        with subtests.test(words=words):
            assert expected in completed(words, tmp_path)


def completed(words: list[str], home: Path) -> list[str]:
    """Return what bash proposes for the last word."""
    script = f"""
        source {home}/.bashrc
        COMP_WORDS=({" ".join(words)}); COMP_CWORD={len(words) - 1}
        COMP_LINE="{" ".join(words)}"; COMP_POINT=${{#COMP_LINE}}
        _turnetl; printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    process = subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, check=False, cwd=home
    )
    assert process.returncode == 0, process.stderr
    return process.stdout.split()


def test_an_unknown_shell_is_rejected_with_the_known_ones(tmp_path: Path) -> None:
    result = run_in_process("completion", "install", "--shell", "csh", folder=tmp_path)
    assert (result.exit_code, len(result.messages)) == (2, 1)
    assert all(shell in result.messages[0] for shell in SHELLS)
