"""What the command says of itself, and what it costs to ask."""

import re
import shlex
import subprocess
import sys

import pytest
from pydantic import BaseModel

from tests.cli.command import ROOT, run_in_process, turnetl_process
from turnetl import cli
from turnetl.settings import Settings

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
    "templates",
    "model",
    "journal",
)
ROOMS = (
    ("templates", "list"),
    ("templates", "show"),
    ("templates", "check"),
    ("model", "check"),
    ("journal", "stats"),
    ("journal", "prune"),
)
EACH = [*((name,) for name in COMMANDS), *ROOMS]
README = (ROOT / "README.md").read_text()
TYPED = [
    line.partition("#")[0].strip().replace("…", "x")
    for line in README.splitlines()
    if line.startswith("    turnetl ")
]
"""What the README tells people to type."""
SETTING = re.compile(r"TURNETL_[A-Z_]+")


def test_help_names_every_command() -> None:
    said = turnetl_process("--help", folder=ROOT).stdout
    assert [name for name in COMMANDS if f" {name}: " not in said] == []


@pytest.mark.parametrize("command", EACH)
def test_every_command_stands_in_the_readme(command: tuple[str, ...]) -> None:
    assert f"turnetl {' '.join(command)}" in README


@pytest.mark.parametrize("typed", TYPED)
def test_what_the_readme_tells_to_type_is_understood(typed: str) -> None:
    words = shlex.split(typed)[1:]
    cli.app.parse_args(words, exit_on_error=False, print_error=False)


def test_every_option_of_a_run_with_a_model_stands_in_the_readme() -> None:
    said = turnetl_process("ingest", "--help", folder=ROOT).stdout
    options = set(re.findall(r"--[a-z][a-z-]+", said)) - {"--help", "--verbose", "--debug"}
    assert [option for option in sorted(options) if option not in README] == []


def test_every_setting_stands_in_the_readme_and_none_that_is_not_there() -> None:
    told = {name for name in SETTING.findall(README) if not name.startswith("TURNETL_TEST_")}
    for name in _settings():
        # In a row of the table the section is said once.
        below = f"`__{name.partition('__')[2]}" in README
        assert below or any(one == name or one.startswith(f"{name}__") for one in told), name
    assert [one for one in sorted(told) if not one.startswith(tuple(_settings()))] == []


def _settings() -> list[str]:
    """Return the variables that there are; of what has names of its own, the beginning."""
    names = []
    for name, field in Settings.model_fields.items():
        section = field.annotation
        if isinstance(section, type) and issubclass(section, BaseModel):
            names += [f"TURNETL_{name}__{below}".upper() for below in section.model_fields]
        else:
            names.append(f"TURNETL_{name}".upper())
    return names


@pytest.mark.parametrize("command", [(), *EACH])
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
    [
        ("nope",),
        ("backfill",),
        ("search",),
        ("status", "--limit"),
        ("ingest", "--since", "x"),
        ("templates", "show"),
        ("templates", "nope"),
        ("journal", "prune", "--older-than"),
        ("model", "check", "--reflexion", "x"),
    ],
)
def test_wrong_usage_is_one_sentence_and_exit_code_two(wrong: tuple[str, ...]) -> None:
    ran = turnetl_process(*wrong, folder=ROOT)
    assert ran.exit_code == 2
    assert len(ran.messages) == 1


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (("nope",), "unknown command `nope`; see `turnetl --help`"),
        (("fitler",), "unknown command `fitler`; did you mean `filter`? See `turnetl --help`"),
        (
            ("templates", "lst"),
            "unknown command `lst`; did you mean `list`? See `turnetl templates --help`",
        ),
        (
            ("ingest", "all", "of it"),
            "unexpected arguments `all of it`; see `turnetl ingest --help`",
        ),
        (("rules", "copy"), "unexpected argument `copy`; see `turnetl rules --help`"),
        (
            ("parse", ".", "--grop", "x"),
            "unknown option `--grop`; did you mean `--group`? See `turnetl parse --help`",
        ),
        (("status", "--limit"), "unknown option `--limit`; see `turnetl status --help`"),
        (("search",), "`turnetl search` needs QUERY; see `turnetl search --help`"),
        (
            ("ingest", "--limit"),
            "option `--limit` needs a value; see `turnetl ingest --help`",
        ),
        (
            ("ingest", "--limit", "many"),
            'unable to convert "many" into int; see `turnetl ingest --help`',
        ),
    ],
)
def test_what_is_not_understood_is_named_with_what_may_be_meant(
    wrong: tuple[str, ...], said: str
) -> None:
    ran = run_in_process(*wrong, folder=ROOT)
    assert (ran.exit_code, len(ran.messages)) == (2, 1)
    assert ran.messages[0].endswith(said)
