"""Control characters of archives in the output of commands that change the graph."""

import shutil
from pathlib import Path

import pytest

from tests.cli.command import run_in_process
from tests.cli.hostile_text import NAME, assert_clean, assert_clean_terminal, write_hostile_archives
from tests.cli.test_console import in_terminal


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("filled")
    write_hostile_archives(home)
    run_in_process("backfill", ".", folder=home)
    return home


@pytest.fixture
def folder(filled: Path, tmp_path: Path) -> Path:
    """Return a copy of a folder whose ingested texts and names are all hostile."""
    return shutil.copytree(filled, tmp_path / "home")


@pytest.mark.full
@pytest.mark.parametrize("options", [(), ("--json",)], ids=["text", "json"])
@pytest.mark.parametrize(
    "arguments",
    [
        ("undo", "--session", "s1"),
        ("forget", "--session", "s1", "--cascade"),
        ("forget", "--match", "cart", "--cascade"),
        ("forget", "--match", NAME, "--cascade"),
        ("redo", "--session", "s1"),
    ],
    ids=["undo", "forget", "forget a word", "forget a hostile word", "redo"],
)
def test_a_completed_change_prints_no_control_character(
    arguments: tuple[str, ...], options: tuple[str, ...], folder: Path
) -> None:
    for again in (("--dry-run",), ("--yes",), ("--yes",)):
        result = run_in_process(*arguments, *again, *options, folder=folder)
        assert_clean(result)
        assert result.stdout + result.stderr
    assert_clean(run_in_process("status", *options, folder=folder))


def test_a_change_was_made(folder: Path) -> None:
    """The arguments above are valid, and select turns."""
    undone = run_in_process("undo", "--session", "s1", "--yes", "--json", folder=folder).json
    forgotten = run_in_process(
        "forget", "--session", "s1", "--cascade", "--yes", "--json", folder=folder
    ).json
    assert undone["undone"] > 0
    assert len(forgotten["turns"]) > 0


@pytest.mark.full
@pytest.mark.parametrize(
    "arguments",
    [
        ("backfill", "."),
        ("undo", "--session", "s1", "--yes"),
        ("forget", "--session", "s1", "--cascade", "--yes"),
        ("verify",),
    ],
    ids=lambda arguments: arguments[0],
)
def test_bars_and_reports_on_a_terminal_are_clean(arguments: tuple[str, ...], folder: Path) -> None:
    if arguments[0] == "backfill":
        shutil.rmtree(folder / ".turnetl")
    assert_clean_terminal(in_terminal(*arguments, folder=folder, PAGER="cat"))
