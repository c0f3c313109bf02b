"""The help, and usage errors."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import pytest

from tests.cli.command import ROOT, clean_environment, run_in_process, turnetl_process
from turnetl.cli import EVERY_DAY, app

COMMANDS = (
    "backfill",
    "parse",
    "filter",
    "ingest",
    "retry",
    "status",
    "runs",
    "search",
    "show",
    "timeline",
    "entity",
    "file",
    "fix",
    "why",
    "serve",
    "mcp",
    "formats",
    "rules",
    "templates",
    "model",
    "journal",
    "config",
    "trust",
    "schema",
    "completion",
)
SUBCOMMANDS = (
    ("templates", "list"),
    ("templates", "show"),
    ("templates", "check"),
    ("model", "check"),
    ("runs", "show"),
    ("journal", "stats"),
    ("journal", "prune"),
    ("config", "show"),
    ("completion", "install"),
    ("completion", "show"),
)
MORE = "\nAll other commands: turnetl --help --all. Options: turnetl COMMAND --help.\n"
HELP_PAGES = [(), *((name,) for name in COMMANDS), *SUBCOMMANDS]


READ_PAGES = """
import json, sys
from turnetl.cli import main
heavy = {"graphiti_core", "polars", "prefect", "neo4j", "numpy", "pydantic"}
for command in json.loads(sys.argv[1]):
    sys.argv = ["turnetl", *command, "--help"]
    try:
        main()
    except SystemExit as end:
        code = end.code
    print(json.dumps([code, sorted(heavy & sys.modules.keys())]), end="\\0")
"""


@dataclass(frozen=True)
class HelpPage:
    text: str
    """As a pipe receives it, in a narrow window."""
    exit_code: int
    heavy: list[str]
    """The large libraries that are imported when it has been printed."""


@cache
def help_pages() -> dict[tuple[str, ...], HelpPage]:
    """Return every page, printed one after the other by one process."""
    process = subprocess.run(
        [sys.executable, "-c", READ_PAGES, json.dumps(HELP_PAGES)],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        env=clean_environment(ROOT) | {"COLUMNS": "40"},
    )
    assert process.stderr == ""
    return dict(zip(HELP_PAGES, _split(process.stdout), strict=True))


def _split(output: str) -> Iterator[HelpPage]:
    for page in output.split("\0")[:-1]:
        text, _, values = page.rpartition("\n")
        yield HelpPage(f"{text}\n", *json.loads(values))


def help_page(command: tuple[str, ...]) -> str:
    return help_pages()[command].text


def test_the_help_lists_the_commands_for_every_day_and_all_of_them_on_request() -> None:
    # In a process of its own, as a user reads it.
    text = turnetl_process("--help", folder=ROOT).stdout
    listed = re.findall(r"^  (\w+): ", text, re.MULTILINE)
    registered = [name for name in EVERY_DAY if name in app]
    assert listed == registered
    assert len(registered) >= 7
    assert "turnetl --help --all" in text.splitlines()[-1]
    every = turnetl_process("--help", "--all", folder=ROOT).stdout
    names = [name for name in app if not name.startswith("-")]
    # A command that is in no group would be among the options.
    assert re.findall(r"^  (\w+): ", every.partition("Options:")[0], re.MULTILINE) != []
    assert [name for name in names if f"  {name}: " not in every.partition("\nOptions:")[0]] == []


def test_the_help_in_a_pipe_is_not_wrapped(subtests: pytest.Subtests) -> None:
    for command in HELP_PAGES:
        with subtests.test(command=command):
            """A wrapped line would begin without the indentation of an option or a command."""
            text = help_page(command)
            panels = text.split(":\n", maxsplit=1)[1].removesuffix(MORE)
            lines = [line for line in panels.splitlines() if line and not line.endswith(":")]
            assert [line for line in lines if not line.startswith("  ")] == []
            assert all(": " in line or line.startswith("  --") for line in lines)


def test_the_help_of_every_option_and_command_is_a_complete_sentence(
    subtests: pytest.Subtests,
) -> None:
    for command in HELP_PAGES:
        with subtests.test(command=command):
            """The help of an option ends with its sentence, its default or its source."""
            text = help_page(command)
            entries = [line for line in text.splitlines() if line.startswith("  ") and ": " in line]
            assert entries
            assert [line for line in entries if not line.endswith((".", "]", ")"))] == []


def test_the_help_imports_nothing_heavy(subtests: pytest.Subtests) -> None:
    for command in HELP_PAGES:
        with subtests.test(command=command):
            page = help_pages()[command]
            assert (page.exit_code, page.heavy) == (0, [])


def test_a_usage_error_names_the_argument_and_the_nearest_known_one(
    subtests: pytest.Subtests,
) -> None:
    for wrong, message in [
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
        (("parse",), "`turnetl parse` needs ARCHIVES; see `turnetl parse --help`"),
        (
            ("ingest", "--limit"),
            "option `--limit` needs a value; see `turnetl ingest --help`",
        ),
        (
            ("ingest", "--limit", "many"),
            "`--limit` takes a whole number, not `many`; see `turnetl ingest --help`",
        ),
        (
            ("ingest", "--limit", "0"),
            "`--limit` must be at least 1, not 0; see `turnetl ingest --help`",
        ),
        (
            ("parse", ".", "--jobs", "0"),
            "`--jobs` must be at least 1, not 0; see `turnetl parse --help`",
        ),
        (
            ("model", "check", "--reflexion", "4"),
            "`--reflexion` must be from 0 to 3, not 4; see `turnetl model check --help`",
        ),
        (
            ("search", "cart", "--since", "spring"),
            "7d, yesterday, `last tuesday` or `3 weeks ago`, not `spring`; see",
        ),
        (
            ("ingest", "--extractor", "hibrid"),
            "takes `structural`, `llm` or `hybrid`, not `hibrid`; did you mean `hybrid`? See",
        ),
        (
            ("status", "--json=maybe"),
            "`--json` takes `true` or `false`, not `maybe`; see `turnetl status --help`",
        ),
        (
            ("-v", "status"),
            "options follow the command: `turnetl status -v`; see `turnetl --help`",
        ),
        (
            ("--lake", "x", "--debug", "status"),
            "options follow the command: `turnetl status --lake x --debug`; see `turnetl --help`",
        ),
        (
            ("journal", "--json", "stats"),
            "options follow the command: `turnetl journal stats --json`; see",
        ),
        (("-v",), "options follow the command: `turnetl COMMAND -v`; see `turnetl --help`"),
    ]:
        with subtests.test(wrong=wrong):
            result = run_in_process(*wrong, folder=ROOT)
            assert (result.exit_code, len(result.messages)) == (2, 1)
            assert message in result.messages[0]
            assert result.messages[0].endswith(" --help`")
