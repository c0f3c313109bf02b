"""What the command says of itself, and what it costs to ask."""

import subprocess
import sys

import pytest

from tests.cli.command import ROOT, turnetl

COMMANDS = (
    "backfill",
    "parse",
    "filter",
    "ingest",
    "retry",
    "status",
    "search",
    "formats",
    "rules",
)


def test_help_names_every_command() -> None:
    said = turnetl("--help", folder=ROOT).out
    assert [name for name in COMMANDS if f" {name} " not in said] == []


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_stands_in_the_readme(command: str) -> None:
    assert f"turnetl {command}" in (ROOT / "README.md").read_text()


@pytest.mark.parametrize("command", [(), *((name,) for name in COMMANDS)])
def test_asking_for_help_imports_nothing_heavy(command: tuple[str, ...]) -> None:
    probe = (
        "import sys; from turnetl import cli, console;"
        f"console.run(cli.app, {[*command, '--help']});"
        "heavy = {'graphiti_core', 'polars', 'prefect', 'neo4j', 'numpy', 'pydantic'};"
        "sys.exit(', '.join(heavy & sys.modules.keys()) or 0)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", probe], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert (ran.returncode, ran.stderr) == (0, "")


@pytest.mark.parametrize(
    "wrong",
    [("nope",), ("backfill",), ("search",), ("status", "--limit"), ("ingest", "--since", "x")],
)
def test_wrong_usage_is_one_sentence_and_exit_code_two(wrong: tuple[str, ...]) -> None:
    ran = turnetl(*wrong, folder=ROOT)
    assert ran.code == 2
    assert len(ran.said) == 1
