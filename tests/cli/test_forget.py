"""`turnetl forget`: what it takes, that no byte is found afterwards, and that it stays so."""

import shutil
import stat
from pathlib import Path

import pytest

from tests.cli.command import run_in_process
from tests.cli.forgetting import CANARY, LAKE, PIECES, committed_sessions, fill, forget, skipped
from tests.held_bytes import holding
from turnetl.base.damaged_copies import copy_name


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("filled")
    fill(folder)
    return folder


@pytest.fixture
def folder(filled: Path, tmp_path: Path) -> Path:
    shutil.copytree(filled, tmp_path, dirs_exist_ok=True)
    return tmp_path


@pytest.mark.full
@pytest.mark.parametrize(
    "selection", [("--session", "three"), ("--match", CANARY), ("--match", "seventh windmill")]
)
def test_no_byte_of_what_is_forgotten_is_found_in_the_lake(
    selection: tuple[str, ...], folder: Path
) -> None:
    assert holding(folder / LAKE, PIECES)
    result = forget(folder, *selection, "--cascade", "--yes", "--json")
    assert result.exit_code == 0, result.stderr
    assert result.json["proven"]
    assert result.json["found"] == []
    assert result.json["files_searched"] > 3
    assert holding(folder / LAKE, PIECES) == []
    assert holding(folder / "archives", PIECES) == [str(folder / "archives" / "three.jsonl")]
    assert not [hit for hit in search(folder, "seventh windmill") if "windmill" in str(hit)]
    assert "one" in committed_sessions(folder)


def search(folder: Path, query: str, *options: str) -> list[object]:
    found = run_in_process("search", query, *options, "--json", folder=folder).json
    hits = found["communities" if options else "hits"]
    assert isinstance(hits, list)
    return hits


def test_a_session_is_forgotten_in_a_lake_whose_graph_is_missing(folder: Path) -> None:
    graph = f"ladybug://{folder / 'missing.lbug'}"
    assert holding(folder / LAKE / "turns", PIECES)
    forget(folder, "--session", "three", "--yes", "--graph", graph)
    assert holding(folder / LAKE / "turns", PIECES) == []


@pytest.mark.full
def test_communities_that_may_quote_what_is_forgotten_are_removed(folder: Path) -> None:
    before = search(folder, "windmill", "--recipe", "COMMUNITY_HYBRID_SEARCH_RRF")
    assert "seventh windmill" in str(before)
    assert forget(folder, "--session", "three", "--cascade", "--yes").exit_code == 0
    assert search(folder, "pytest", "--recipe", "COMMUNITY_HYBRID_SEARCH_RRF") == []


@pytest.mark.full
def test_it_stays_forgotten_when_the_archive_is_read_again(folder: Path) -> None:
    before = skipped(folder)
    assert "forgotten" not in before
    assert run_in_process("backfill", "archives", folder=folder).exit_code == 0
    assert forget(folder, "--session", "three", "--cascade", "--yes").exit_code == 0
    assert skipped(folder) == {**before, "blank": before["blank"] + 3, "forgotten": 2}
    assert skipped(folder, "--group", "elsewhere")["forgotten"] == 2
    assert run_in_process("filter", folder=folder).exit_code == 0
    assert run_in_process("ingest", folder=folder).exit_code == 0
    assert "three" not in committed_sessions(folder)
    assert holding(folder / LAKE, PIECES) == []


@pytest.mark.full
def test_later_turns_of_a_forgotten_session_are_forgotten_and_of_a_matched_turn_are_not(
    folder: Path,
) -> None:
    assert forget(folder, "--match", CANARY, "--cascade", "--yes").exit_code == 0
    assert skipped(folder)["forgotten"] == 1
    assert forget(folder, "--session", "three", "--cascade", "--yes").exit_code == 0
    assert skipped(folder)["forgotten"] == 2
    archive = folder / "archives" / "three.jsonl"
    archive.write_text(archive.read_text().replace("three-u1", "three-u7"))
    assert skipped(folder)["forgotten"] == 2


@pytest.mark.full
def test_the_list_names_nothing_and_only_its_owner_reads_it(folder: Path) -> None:
    assert forget(folder, "--session", "three", "--cascade", "--yes").exit_code == 0
    path = folder / LAKE / "forgotten.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert "three" not in path.read_text()
    path.write_text("{")
    result = run_in_process("parse", "archives", folder=folder)
    assert result.exit_code == 1
    assert "the list of forgotten turns" in result.stderr


@pytest.mark.full
def test_turns_that_others_built_on_go_only_with_cascade_and_the_others_come_back(
    folder: Path,
) -> None:
    refused = forget(folder, "--session", "one", "--yes", "--json")
    assert refused.exit_code == 1
    assert refused.json["refused"]
    assert "nothing is removed" in refused.stderr
    assert committed_sessions(folder).keys() >= {"one", "two"}
    assert not (folder / LAKE / "forgotten.json").exists()
    assert forget(folder, "--session", "one", "--yes", "--cascade").exit_code == 0
    assert not committed_sessions(folder).keys() & {"one", "two"}
    assert run_in_process("ingest", folder=folder).exit_code == 0
    assert committed_sessions(folder)["two"] == 1
    assert "one" not in committed_sessions(folder)


def test_a_dry_run_and_a_missing_confirmation_write_nothing(folder: Path) -> None:
    before = contents(folder / LAKE)
    shown = forget(folder, "--session", "three", "--cascade", "--dry-run")
    assert shown.exit_code == 0
    text = shown.stdout.replace("\n", "")
    assert "three.jsonl: lines 1 to 2, 3 to 4" in text
    assert "forgotten turns are never read again" in " ".join(shown.stdout.split())
    assert "pending again" not in text
    asked = forget(folder, "--session", "three", "--cascade")
    assert asked.exit_code == 1
    assert "add --yes" in asked.stderr
    assert contents(folder / LAKE) == before


def contents(folder: Path) -> dict[str, bytes]:
    tables = (path for path in folder.rglob("*") if path.suffix in (".parquet", ".json", ".lbug"))
    return {str(path): path.read_bytes() for path in tables}


@pytest.mark.full
def test_what_the_search_still_finds_is_named_and_fails(folder: Path) -> None:
    (folder / LAKE / "notes.txt").write_text("He said: seventh windmill")
    result = forget(folder, "--match", "seventh windmill", "--cascade", "--yes", "--json")
    assert result.exit_code == 1
    assert not result.json["proven"]
    [found] = result.json["found"]
    assert found["path"].endswith("notes.txt")
    (folder / LAKE / "notes.txt").unlink()
    again = forget(folder, "--match", "seventh windmill", "--yes", "--json")
    assert again.exit_code == 0
    assert again.json["proven"]


@pytest.mark.full
def test_damaged_tables_and_files_of_killed_runs_are_deleted_with_the_turns(folder: Path) -> None:
    damaged, abandoned = leave_copies(folder)
    shown = forget(folder, "--session", "three", "--cascade", "--dry-run", "--json")
    assert shown.json["damaged_tables"] == [str(damaged)]
    assert damaged.exists()
    result = forget(folder, "--session", "three", "--cascade", "--yes", "--json")
    assert result.exit_code == 0, result.stderr
    assert result.json["damaged_tables"] == [str(damaged)]
    assert not damaged.exists()
    assert not abandoned.exists()
    assert holding(folder / LAKE, PIECES) == []


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
@pytest.mark.parametrize("kept", [slice(0, 300), slice(300, None)], ids=["start", "end"])
def test_a_table_that_cannot_be_read_is_a_place_that_may_hold_the_text(
    kept: slice, folder: Path
) -> None:
    damaged, _ = leave_copies(folder)
    elsewhere = folder / LAKE / "turns" / "elsewhere" / damaged.name
    elsewhere.parent.mkdir()
    elsewhere.write_bytes(damaged.read_bytes()[kept])
    result = forget(folder, "--match", "seventh windmill", "--cascade", "--yes", "--json")
    assert result.exit_code == 1
    found = result.json["found"]
    assert {place["path"] for place in found} == {str(elsewhere)}
    assert "table that cannot be read" in [place["place"] for place in found]


@pytest.mark.full
def test_a_group_is_forgotten_and_new_sessions_of_it_are_read(folder: Path) -> None:
    [group] = run_in_process("status", "--json", folder=folder).json["groups"]
    assert forget(folder, "--group", group["group"], "--yes").exit_code == 0
    assert committed_sessions_or_none(folder) == {}
    archive = folder / "archives" / "three.jsonl"
    (folder / "archives" / "four.jsonl").write_text(archive.read_text().replace("three", "four"))
    assert run_in_process("backfill", "archives", folder=folder).exit_code == 0
    assert committed_sessions(folder).keys() == {"four"}


def committed_sessions_or_none(folder: Path) -> dict[str, int]:
    groups = run_in_process("status", "--json", folder=folder).json["groups"]
    assert all(group["committed"] == 0 for group in groups)
    return {}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "say what to forget"),
        (("--session", "nine"), "no turn in lake or graph"),
        (("--session", "t"), "begins the ids of 2 sessions"),
        (("--group", "other"), "there is no group `other`"),
        (("--match", " "), "the text to forget is empty"),
        (("--session", "one", "--dry-run", "--yes"), "nothing to confirm"),
        (("--match", "-"), "add --yes or --dry-run"),
    ],
)
def test_an_invalid_selection_is_refused(
    arguments: tuple[str, ...], message: str, folder: Path
) -> None:
    result = forget(folder, *arguments)
    assert result.exit_code == 2
    assert message in result.stderr
