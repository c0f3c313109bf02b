"""docs/ documents every command, option, setting, exit code and JSON key."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cyclopts import App
from pydantic import BaseModel

from docs.generate.__main__ import PAGES
from tests.cli.command import ROOT
from turnetl.base.exit_code import ExitCode
from turnetl.base.schema import EPISODES, TURN_COLUMNS, TURNS
from turnetl.cli import app
from turnetl.json_output.schemas import OUTPUTS
from turnetl.settings import Settings
from turnetl.settings.sections import default_lake

DOCS = ROOT / "docs"
USAGE = (DOCS / "usage.md").read_text(encoding="utf-8")
CONFIGURATION = (DOCS / "configuration.md").read_text(encoding="utf-8")


def commands(parent: App = app, path: tuple[str, ...] = ()) -> Iterator[tuple[str, App]]:
    """Yield every command with its name, as `journal stats`."""
    for name in parent:
        if name.startswith("-"):
            continue
        command = parent[name]
        if command.default_command is not None:
            yield " ".join((*path, name)), command
        yield from commands(command, (*path, name))


COMMANDS = dict(commands())


def options(command: App) -> set[str]:
    """Return the options of a command; positional arguments are in capitals."""
    arguments = command.assemble_argument_collection()
    return {name for argument in arguments if argument.parse for name in argument.names} - {"*"}


def sections(page: str) -> dict[str, str]:
    """Return the text below each heading of the second level, by the heading's anchor."""
    parts = re.split(r"^## (.+)\n", page, flags=re.MULTILINE)[1:]
    pairs = zip(parts[::2], parts[1::2], strict=True)
    return {title.lower().replace(" ", "-"): text for title, text in pairs}


SECTIONS = sections(USAGE)


@pytest.mark.parametrize("page", PAGES)
def test_a_generated_page_is_current(page: str) -> None:
    assert (DOCS / page).read_text(encoding="utf-8") == PAGES[page](), "run `make docs`"


def test_the_reference_has_every_option_and_argument_of_every_command() -> None:
    page = sections((DOCS / "commands.md").read_text(encoding="utf-8"))
    listed = {
        name: set(
            re.findall(r"[^ `,]+", " ".join(re.findall(r"^\* (`[^`]+`)", text, re.MULTILINE)))
        )
        for name, text in page.items()
    }
    missing = [
        (name, option)
        for name, command in COMMANDS.items()
        for option in options(command) - listed[f"turnetl-{name.replace(' ', '-')}"]
    ]
    assert missing == []


def test_every_command_has_a_section_that_says_how_to_work_with_it() -> None:
    assert [name for name in COMMANDS if f"turnetl-{name.replace(' ', '-')}" not in SECTIONS] == []


def test_every_command_is_in_the_table_of_commands(subtests: pytest.Subtests) -> None:
    for name in COMMANDS:
        with subtests.test(name=name):
            table = USAGE.partition("| command | does |")[2].partition("\n\n")[0]
            assert f"`turnetl {name.split(maxsplit=1)[0]}`" in table


@pytest.mark.parametrize("code", ExitCode, ids=lambda code: code.name)
def test_every_exit_code_is_documented_with_its_sentence(code: ExitCode) -> None:
    assert f"| {code.value} | `{code.name}` | {code.sentence} |" in SECTIONS["exit-codes"]


def test_no_other_exit_code_is_documented() -> None:
    codes = re.findall(r"^\| (\d+) \|", SECTIONS["exit-codes"], flags=re.MULTILINE)
    assert codes == [str(code.value) for code in ExitCode]


def leaves(model: type[BaseModel], path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every setting with its default."""
    for name, field in model.model_fields.items():
        section = field.annotation
        if isinstance(section, type) and issubclass(section, BaseModel):
            yield from leaves(section, f"{path}{name}.")
        else:
            yield f"{path}{name}", field.get_default(call_default_factory=True)


def default_cell(value: Any) -> str:
    if value is None or value in ((), {}):
        return "none"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


SETTINGS = dict(leaves(Settings)) | {"lake": default_lake({}, Path("~"))}
"""The default lake is that of a user without `XDG_DATA_HOME`."""


def test_every_setting_is_documented_with_its_variable_and_default_and_no_other() -> None:
    rows = re.findall(
        r"^\| `([a-z_.]+)` \| `(TURNETL_\w+)` \| ([^|]+) \| \S", CONFIGURATION, flags=re.MULTILINE
    )
    expected = {
        (name, f"TURNETL_{name.replace('.', '__')}".upper(), default_cell(default))
        for name, default in SETTINGS.items()
    }
    assert set(rows) == expected
    assert len(rows) == len(expected)


def test_no_page_names_a_variable_that_does_not_exist(subtests: pytest.Subtests) -> None:
    for page in sorted(DOCS.rglob("*.md")):
        with subtests.test(page=page):
            known = tuple(f"TURNETL_{name.replace('.', '__')}".upper() for name in SETTINGS)
            named = re.findall(r"TURNETL_[A-Z_]*[A-Z]", page.read_text(encoding="utf-8"))
            allowed = (*known, "TURNETL_TEST_")
            assert [name for name in named if not name.startswith(allowed)] == []


def test_every_command_with_json_has_a_schema() -> None:
    with_json = {name for name, command in COMMANDS.items() if "--json" in options(command)}
    assert set(OUTPUTS) == with_json


def test_every_column_of_a_table_is_in_the_reference() -> None:
    page = sections((DOCS / "columns.md").read_text(encoding="utf-8"))
    turns, episodes = (
        re.findall(r"^\| `(\w+)` \|", page[table.name], flags=re.MULTILINE)
        for table in (TURNS, EPISODES)
    )
    assert turns == [column.name for column in TURNS.columns]
    assert [*(column.name for column in TURN_COLUMNS), *episodes] == [
        column.name for column in EPISODES.columns
    ]


def test_every_setting_is_in_the_table_of_what_an_untrusted_folder_could_do() -> None:
    page = (DOCS / "security.md").read_text(encoding="utf-8")
    table = page.partition("### Settings of an untrusted folder")[2].partition("### ")[0]
    cells = re.findall(r"^\| (`[^|]+) \|", table, flags=re.MULTILINE)
    listed = [name for cell in cells for name in re.findall(r"`([a-z_.]+)`", cell)]
    assert sorted(listed) == sorted(SETTINGS)
