"""`turnetl undo`: what it shows, when it writes, and what it refuses."""

import json
import re
import shutil
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import pytest

from tests.cli.archives import conversation, row, tool_call, tool_result, write_archive
from tests.cli.command import CommandResult, run_in_process
from tests.cli.provider_setup import SESSION_START

AT = SESSION_START


def backfill(folder: Path, name: str, rows: Sequence[str]) -> str:
    """Ingest an archive in a run of its own; return the id of the run."""
    archive = write_archive(folder / "archives" / f"{name}.jsonl", list(rows))
    result = run_in_process("backfill", archive, "--json", folder=folder)
    assert result.exit_code == 0
    run = result.json["run_id"]
    assert isinstance(run, str)
    return run


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """Fill a graph in three runs, the second built on the first; return folder and run ids."""
    folder = tmp_path_factory.mktemp("filled")
    later = AT + timedelta(hours=1)
    cart = "/home/dev/shop/cart.py"
    failed = [
        row("user", "Run the tests", "u1", AT),
        tool_call("e1", "Edit", AT, file_path=cart, old_string="total = 0", new_string="total = 1"),
        tool_result("s1", "e1", "Edited", AT),
        tool_call("c1", "Bash", AT, command="pytest -q"),
        tool_result("r1", "c1", "KeyError: 'price'", AT),
        row("assistant", "They fail with KeyError in cart.py.", "a1", AT),
    ]
    passed = [
        row("user", "Run the tests again", "u2", later),
        tool_call("e2", "Edit", later, file_path=cart, old_string="total = 1", new_string="total"),
        tool_result("s2", "e2", "Edited", later),
        tool_call("c2", "Bash", later, command="pytest -q"),
        tool_result("r2", "c2", "12 passed", later),
        row("assistant", "All tests pass.", "a2", later),
    ]
    other = conversation("Explain `zebra.md`", session="three", at=later + timedelta(hours=1))
    archives = (("a", of("one", failed)), ("b", of("two", passed)), ("c", other))
    return folder, [backfill(folder, name, rows) for name, rows in archives]


@pytest.fixture
def runs(filled: tuple[Path, list[str]], tmp_path: Path) -> list[str]:
    """Copy the graph to the folder of the test; return the ids of its runs."""
    folder, ids = filled
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    return ids


def of(session: str, rows: Sequence[str]) -> list[str]:
    """Return the rows, of the session `s1`, as rows of another one."""
    return [text.replace('"s1"', f'"{session}"') for text in rows]


def undo(folder: Path, *arguments: str) -> CommandResult:
    return run_in_process("undo", *arguments, folder=folder)


def committed(folder: Path) -> int:
    [group] = run_in_process("status", "--json", folder=folder).json["groups"]
    return int(group["committed"])


@pytest.mark.full
def test_a_run_is_undone_and_its_turns_are_pending_again(runs: list[str], tmp_path: Path) -> None:
    result = undo(tmp_path, runs[2][:8], "--yes")
    assert result.exit_code == 0
    assert "pending again: the next `turnetl ingest` takes them" in result.stdout
    assert committed(tmp_path) == 2
    gone = run_in_process("search", "zebra", folder=tmp_path).stdout
    assert gone.startswith("no turn contains `zebra`")
    repeated = undo(tmp_path, runs[2][:8], "--yes")
    assert repeated.exit_code == 2
    [message] = repeated.messages
    assert re.fullmatch(
        f"turnetl: run `{runs[2]}` was undone at [-0-9]+ [0-9]+:[0-9]+ UTC: "
        "nothing of it is left to undo; if that command was stopped, `turnetl index` brings the "
        "search index up to date",
        message,
    )
    again = run_in_process("ingest", "--json", folder=tmp_path)
    assert again.json["committed"] == 1
    assert run_in_process("search", "zebra", folder=tmp_path).stdout.startswith(" 1. ")


@pytest.mark.full
def test_the_search_index_follows_and_none_is_created(runs: list[str], tmp_path: Path) -> None:
    assert run_in_process("search", "zebra", folder=tmp_path).exit_code == 0
    assert undo(tmp_path, runs[2], "--yes").exit_code == 0
    index = run_in_process("status", "--json", folder=tmp_path).json["index"]
    assert (index["turns"], index["turns_behind"]) == (2, 0)
    assert run_in_process("verify", folder=tmp_path).exit_code == 0
    shutil.rmtree(tmp_path / ".turnetl" / "lake" / "index")
    assert undo(tmp_path, runs[1], "--yes").exit_code == 0
    assert not (tmp_path / ".turnetl" / "lake" / "index").exists()


def test_an_index_that_cannot_be_updated_fails_no_undo(runs: list[str], tmp_path: Path) -> None:
    [catalog] = (tmp_path / ".turnetl" / "lake" / "index").glob("*/catalog.sqlite")
    catalog.write_bytes(b"no database" * 1000)
    result = undo(tmp_path, runs[2], "--yes")
    assert (result.exit_code, committed(tmp_path)) == (0, 2)


def test_a_dry_run_and_an_undo_without_yes_say_everything_and_write_nothing(
    runs: list[str], tmp_path: Path
) -> None:
    result = undo(tmp_path, runs[1], "--dry-run")
    assert result.exit_code == 0
    assert "Run the tests again" in result.stdout
    assert "turns would be pending again, for the next `turnetl ingest`" in result.stdout
    assert "are pending" not in result.stdout
    assert committed(tmp_path) == 3
    [group] = undo(tmp_path, runs[1], "--dry-run", "--json").json["groups"]
    [turn] = group["turns"]
    assert (turn["run_id"], turn["prompt"]) == (runs[1], "Run the tests again")
    assert group["undone"] == 0
    for output in ((), ("--json",)):
        result = undo(tmp_path, runs[2], *output)
        assert result.exit_code == 1
        assert result.messages == [
            "turnetl: nothing was undone: confirm it on a terminal, or add --yes"
        ]
    assert committed(tmp_path) == 3


@pytest.mark.full
def test_turns_that_others_built_on_are_undone_only_with_cascade(
    runs: list[str], tmp_path: Path
) -> None:
    refused = undo(tmp_path, runs[0], "--yes")
    assert refused.exit_code == 1
    assert "built on these turns: nothing is undone; --cascade" in refused.stderr
    assert "later turns that built on them" in refused.stdout
    assert "Run the tests again" in refused.stdout
    assert undo(tmp_path, runs[0], "--yes", "--json").json["refused"]
    assert committed(tmp_path) == 3
    done = undo(tmp_path, runs[0], "--cascade", "--yes", "--json")
    assert done.exit_code == 0
    assert done.json["undone"] >= 2
    assert committed(tmp_path) == 3 - done.json["undone"]


@pytest.mark.full
def test_turns_are_selected_by_session_turn_and_time_of_commit(
    runs: list[str], tmp_path: Path
) -> None:
    assert len(runs) == 3
    [group] = undo(tmp_path, "--session", "three", "--dry-run", "--json").json["groups"]
    [turn] = group["turns"]
    assert turn["session_id"] == "three"
    [other] = undo(tmp_path, "--turn", turn["id"], "--dry-run", "--json").json["groups"]
    assert other["turns"] == [turn]
    since = undo(tmp_path, "--since", "1h", "--dry-run", "--json").json
    assert since["turns"] == 3
    nothing = undo(tmp_path, "--turn", turn["id"], "--session", "one", "--dry-run")
    assert nothing.exit_code == 2
    assert "meets all of these conditions" in nothing.stderr


def test_a_selection_that_is_not_valid_is_a_usage_error(
    subtests: pytest.Subtests, filled: tuple[Path, list[str]]
) -> None:
    for arguments, message in (
        ((), "say what to undo"),
        (("nothing",), "there is no run `nothing`; `turnetl runs` lists the runs"),
        (("--group", "unknown"), "there is no group `unknown`"),
        (("--session", ""), "begins the ids of 3 sessions"),
        (("--session", "one", "--dry-run", "--yes"), "nothing to confirm"),
    ):
        with subtests.test(arguments=arguments):
            result = undo(filled[0], *arguments)
            assert result.exit_code == 2
            assert message in result.stderr


@pytest.mark.full
def test_the_quarantine_entries_of_a_run_go_with_it(runs: list[str], tmp_path: Path) -> None:
    entry = {
        "turn_id": "of-the-run",
        "error": "the model gave no JSON",
        "archive": "a.jsonl",
        "first_line": 1,
        "run_id": runs[2],
        "failed_at": AT.isoformat(),
    }
    folder = tmp_path / ".turnetl" / "lake" / "quarantine" / "shop"
    folder.mkdir(parents=True)
    for name, run in (("of-the-run", runs[2]), ("other", "another-run")):
        text = json.dumps(entry | {"turn_id": name, "run_id": run})
        (folder / f"{name}.json").write_text(text)
    result = undo(tmp_path, runs[2], "--yes", "--json")
    assert [group["quarantined"] for group in result.json["groups"]] == [1]
    assert [path.stem for path in folder.iterdir()] == ["other"]
