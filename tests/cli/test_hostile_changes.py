"""Control characters of archives in the output of commands that change the graph."""

import shutil
from itertools import product
from pathlib import Path

import pytest

from tests.cli.command import run_in_process
from tests.cli.hostile_text import NAME, assert_clean, assert_clean_terminal, write_hostile_archives
from tests.cli.test_console import in_terminal


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder whose ingested texts and names are all hostile; it is only copied."""
    home = tmp_path_factory.mktemp("filled")
    write_hostile_archives(home)
    run_in_process("backfill", ".", folder=home)
    return home


@pytest.mark.full
def test_a_completed_change_prints_no_control_character(
    filled: Path, tmp_path: Path, subtests: pytest.Subtests
) -> None:
    """What was changed, and the message that nothing is left to change."""
    changes: tuple[tuple[str, ...], ...] = (
        ("undo", "--session", "s1"),
        ("redo", "--session", "s1"),
        ("forget", "--session", "s1", "--cascade"),
        ("forget", "--match", NAME, "--cascade"),
    )
    for number, (arguments, options) in enumerate(product(changes, ((), ("--json",)))):
        with subtests.test(arguments=arguments, options=options):
            folder = shutil.copytree(filled, tmp_path / str(number))
            for again in ("--dry-run", "--yes", "--yes"):
                result = run_in_process(*arguments, again, *options, folder=folder)
                assert_clean(result)
                assert result.stdout + result.stderr
            assert_clean(run_in_process("status", *options, folder=folder))


def test_a_change_was_made(filled: Path, tmp_path: Path) -> None:
    """The arguments above are valid, and select turns."""
    folder = shutil.copytree(filled, tmp_path / "home")
    undone = run_in_process("undo", "--session", "s1", "--yes", "--json", folder=folder).json
    selection = ("--session", "s1", "--cascade", "--yes", "--json")
    forgotten = run_in_process("forget", *selection, folder=folder).json
    assert undone["undone"] > 0
    assert len(forgotten["turns"]) > 0


@pytest.mark.full
def test_bars_and_reports_on_a_terminal_are_clean(filled: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(filled, tmp_path / "home")
    for arguments in (("verify",), ("forget", "--session", "s1", "--cascade", "--yes")):
        assert_clean_terminal(in_terminal(*arguments, folder=folder, PAGER="cat"))
