"""`turnetl forget`: what it takes, that no byte is found afterwards, and that it stays so."""

import shutil
import stat
from pathlib import Path

import pytest

from tests.cli.command import index_folder, run_in_process
from tests.cli.forgetting import CANARY, LAKE, PIECES, committed_sessions, forget, skipped
from tests.held_bytes import holding
from turnetl.base.damaged_copies import copy_name
from turnetl.index.persistent import index_id

MATCH = "seventh windmill"


@pytest.mark.full
def test_no_byte_of_what_is_forgotten_is_found_in_the_lake(
    filled_zoo: Path, tmp_path: Path, subtests: pytest.Subtests
) -> None:
    selections = (("--session", "three"), ("--match", CANARY), ("--match", MATCH))
    for number, (option, value) in enumerate(selections):
        with subtests.test(option=option, value=value):
            folder = shutil.copytree(filled_zoo, tmp_path / str(number))
            assert MATCH in str(communities(folder, "ValueError"))
            assert communities(folder, "KeyError")
            assert holding(folder / LAKE, PIECES)
            index = index_id(index_folder(folder))
            result = forget(folder, option, value, "--cascade", "--yes", "--json")
            assert result.exit_code == 0, result.stderr
            assert (result.json["proven"], result.json["found"]) == (True, [])
            assert result.json["files_searched"] > 3
            assert holding(folder / LAKE, PIECES) == []
            assert holding(folder / "archives", PIECES) == [str(folder / "archives/three.jsonl")]
            # A SQLite that does not overwrite what it frees would leave bytes of it in the old one.
            assert index_id(index_folder(folder)) != index
            # Communities may quote it.
            assert communities(folder, "KeyError") == []
            assert "one" in committed_sessions(folder)


def communities(folder: Path, query: str) -> list[object]:
    """Return the communities that a search finds."""
    arguments = ("search", query, "--recipe", "COMMUNITY_HYBRID_SEARCH_RRF", "--json")
    hits = run_in_process(*arguments, folder=folder).json["communities"]
    assert isinstance(hits, list)
    return hits


def test_a_session_is_forgotten_in_a_lake_whose_graph_is_missing(zoo: Path) -> None:
    graph = f"ladybug://{zoo / 'missing.lbug'}"
    assert holding(zoo / LAKE / "turns", PIECES)
    forget(zoo, "--session", "three", "--yes", "--graph", graph)
    assert holding(zoo / LAKE / "turns", PIECES) == []


@pytest.mark.full
def test_it_stays_forgotten_when_the_archive_is_read_again(zoo: Path) -> None:
    before = skipped(zoo)
    assert "forgotten" not in before
    assert run_in_process("backfill", "archives", folder=zoo).exit_code == 0
    assert forget(zoo, "--session", "three", "--cascade", "--yes").exit_code == 0
    path = zoo / LAKE / "forgotten.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert "three" not in path.read_text()
    assert skipped(zoo) == {**before, "blank": before["blank"] + 3, "forgotten": 2}
    assert skipped(zoo, "--group", "elsewhere")["forgotten"] == 2
    assert run_in_process("filter", folder=zoo).exit_code == 0
    assert run_in_process("ingest", folder=zoo).exit_code == 0
    assert "three" not in committed_sessions(zoo)
    assert holding(zoo / LAKE, PIECES) == []
    path.write_text("{")
    result = run_in_process("parse", "archives", folder=zoo)
    assert result.exit_code == 1
    assert "the list of forgotten turns" in result.stderr


@pytest.mark.full
def test_later_turns_of_a_forgotten_session_are_forgotten_and_of_a_matched_turn_are_not(
    zoo: Path,
) -> None:
    assert forget(zoo, "--match", "Write into `zebra.md`", "--cascade", "--yes").exit_code == 0
    assert skipped(zoo)["forgotten"] == 1
    assert forget(zoo, "--session", "three", "--cascade", "--yes").exit_code == 0
    archive = zoo / "archives" / "three.jsonl"
    archive.write_text(archive.read_text().replace("three-u1", "three-u7"))
    assert skipped(zoo)["forgotten"] == 2


@pytest.mark.full
def test_turns_that_others_built_on_go_only_with_cascade_and_the_others_come_back(
    zoo: Path,
) -> None:
    refused = forget(zoo, "--session", "one", "--yes", "--json")
    assert refused.exit_code == 1
    assert refused.json["refused"]
    assert "nothing is removed" in refused.stderr
    assert committed_sessions(zoo).keys() >= {"one", "two"}
    assert not (zoo / LAKE / "forgotten.json").exists()
    assert forget(zoo, "--session", "one", "--yes", "--cascade").exit_code == 0
    assert not committed_sessions(zoo).keys() & {"one", "two"}
    assert run_in_process("ingest", folder=zoo).exit_code == 0
    assert committed_sessions(zoo)["two"] == 1
    assert "one" not in committed_sessions(zoo)


def test_a_dry_run_and_a_missing_confirmation_write_nothing(zoo: Path) -> None:
    before = contents(zoo / LAKE)
    shown = forget(zoo, "--session", "three", "--cascade", "--dry-run")
    assert shown.exit_code == 0
    text = shown.stdout.replace("\n", "")
    assert "three.jsonl: lines 1 to 4, 5 to 8" in text
    assert "forgotten turns are never read again" in " ".join(shown.stdout.split())
    assert "pending again" not in text
    asked = forget(zoo, "--session", "three", "--cascade")
    assert asked.exit_code == 1
    assert "add --yes" in asked.stderr
    assert contents(zoo / LAKE) == before


def contents(folder: Path) -> dict[str, bytes]:
    tables = (path for path in folder.rglob("*") if path.suffix in (".parquet", ".json", ".lbug"))
    return {str(path): path.read_bytes() for path in tables}


@pytest.mark.full
def test_what_still_holds_the_text_is_named_and_fails_until_it_is_deleted(zoo: Path) -> None:
    """A file of another program, and two parts of a table that cannot be read."""
    damaged, _ = leave_copies(zoo)
    notes, elsewhere = zoo / LAKE / "notes.txt", zoo / LAKE / "turns" / "elsewhere"
    notes.write_text(f"He said: {MATCH}")
    elsewhere.mkdir()
    unreadable = [elsewhere / damaged.name, elsewhere / f"{damaged.name}-2"]
    for path, kept in zip(unreadable, (slice(0, 300), slice(300, None)), strict=True):
        path.write_bytes(damaged.read_bytes()[kept])
    result = forget(zoo, "--match", MATCH, "--cascade", "--yes", "--json")
    assert (result.exit_code, result.json["proven"]) == (1, False)
    found = result.json["found"]
    assert {place["path"] for place in found} == {str(path) for path in (notes, *unreadable)}
    tables = [place["path"] for place in found if "cannot be read" in place["place"]]
    assert sorted(tables) == sorted(map(str, unreadable))
    for path in (notes, *unreadable):
        path.unlink()
    again = forget(zoo, "--match", MATCH, "--yes", "--json")
    assert (again.exit_code, again.json["proven"]) == (0, True)


@pytest.mark.full
def test_damaged_tables_and_files_of_killed_runs_are_deleted_with_the_turns(zoo: Path) -> None:
    damaged, abandoned = leave_copies(zoo)
    shown = forget(zoo, "--session", "three", "--cascade", "--dry-run", "--json")
    assert shown.json["damaged_tables"] == [str(damaged)]
    assert damaged.exists()
    result = forget(zoo, "--session", "three", "--cascade", "--yes", "--json")
    assert result.exit_code == 0, result.stderr
    assert result.json["damaged_tables"] == [str(damaged)]
    assert not damaged.exists()
    assert not abandoned.exists()
    assert holding(zoo / LAKE, PIECES) == []


def leave_copies(folder: Path) -> tuple[Path, Path]:
    """Copy the turns file with the canary: set aside as damaged, and as a killed run leaves it."""
    [path] = [
        Path(name) for name in holding(folder / LAKE / "turns", PIECES) if name.endswith(".parquet")
    ]
    damaged = copy_name(path)
    abandoned = path.with_name(f".{path.name}.0123456789abcdef.tmp")
    shutil.copy(path, damaged)
    shutil.copy(path, abandoned)
    return damaged, abandoned


@pytest.mark.full
def test_a_group_is_forgotten_and_new_sessions_of_it_are_read(zoo: Path) -> None:
    [group] = run_in_process("status", "--json", folder=zoo).json["groups"]
    assert forget(zoo, "--group", group["group"], "--yes").exit_code == 0
    groups = run_in_process("status", "--json", folder=zoo).json["groups"]
    assert [group["committed"] for group in groups if group["committed"]] == []
    archive = zoo / "archives" / "three.jsonl"
    (zoo / "archives" / "four.jsonl").write_text(archive.read_text().replace("three", "four"))
    assert run_in_process("backfill", "archives", folder=zoo).exit_code == 0
    assert committed_sessions(zoo).keys() == {"four"}


def test_an_invalid_selection_is_refused(zoo: Path, subtests: pytest.Subtests) -> None:
    for arguments, message in (
        ((), "say what to forget"),
        (("--session", "nine"), "no turn in lake or graph"),
        (("--session", "t"), "begins the ids of 2 sessions"),
        (("--group", "other"), "there is no group `other`"),
        (("--match", " "), "the text to forget is empty"),
        (("--session", "one", "--dry-run", "--yes"), "nothing to confirm"),
        (("--match", "-"), "add --yes or --dry-run"),
    ):
        with subtests.test(arguments=arguments):
            result = forget(zoo, *arguments)
            assert result.exit_code == 2
            assert message in result.stderr
