"""Everything in a lake is private, unless the lake was opened to a group."""

import os
import secrets
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from stat import S_IMODE

import pytest

from tests.cli.archives import two_turns
from tests.cli.command import CommandResult, index_folder, run_in_process, write_config
from turnetl.base.model import GroupId, TurnId
from turnetl.graph.ladybug.file import LadybugFile
from turnetl.ingestion.quarantine import Quarantine, QuarantineEntry
from turnetl.lake import LocalFiles
from turnetl.lake.forgotten import NOTHING, write_forgotten
from turnetl.llm.journal.file import JournalFile

MARCH = datetime(2026, 3, 2, 9, tzinfo=UTC)
ENTRY = QuarantineEntry(TurnId("turn"), "too long", "a.jsonl", 1, "run", MARCH)


@pytest.fixture(autouse=True)
def umask() -> Iterator[None]:
    """Set an umask that takes no right away: whatever is private was made private."""
    before = os.umask(0)
    yield
    os.umask(before)


def fill(lake: Path) -> dict[str, int]:
    """Fill a lake with everything that can be in it; return the modes while it is written."""
    home = lake.parent
    for _ in range(2):
        arguments = ("backfill", two_turns(home, MARCH), "--lake", lake)
        assert run_in_process(*arguments, folder=home).exit_code == 0
    Quarantine(LocalFiles(lake), GroupId("shop")).add(ENTRY)
    write_forgotten(LocalFiles(lake), NOTHING)
    journal = JournalFile.open(lake / "journal.sqlite", 1)
    graph = LadybugFile.open(lake / "graph.lbug", write=True)
    graph.connection.execute("CREATE NODE TABLE Note (id INT64, PRIMARY KEY (id))")
    try:
        return modes(lake)
    finally:
        graph.close()
        journal.close()


def modes(lake: Path) -> dict[str, int]:
    paths = (lake, *lake.rglob("*"))
    return {str(path.relative_to(lake)): S_IMODE(path.stat().st_mode) for path in paths}


def is_folder(lake: Path, name: str) -> bool:
    return (lake / name).is_dir()


@pytest.mark.full
@pytest.mark.parametrize("mask", [0o022, 0o000], ids=oct)
def test_nobody_else_may_read_anything_in_a_lake(mask: int, tmp_path: Path) -> None:
    os.umask(mask)
    tmp_path.chmod(0o755)
    lake = tmp_path / "data" / "lake"
    lake.parent.mkdir()
    found = fill(lake)
    assert {"graph.lbug", "graph.lbug.wal", "graph.lbug.lock", "journal.sqlite"} <= set(found)
    assert {name.split("/")[0] for name in found} >= {"turns", "episodes", "index", "quarantine"}
    assert {name: oct(mode) for name, mode in found.items() if mode & 0o077} == {}


@pytest.mark.full
def test_the_group_of_a_lake_that_was_opened_to_it_may_read_everything_but_the_key(
    tmp_path: Path,
) -> None:
    lake = tmp_path / "lake"
    lake.mkdir()
    lake.chmod(0o750)
    expected = {True: 0o750, False: 0o640}
    found = fill(lake)
    others = {
        name: oct(mode)
        for name, mode in found.items()
        if name in modes(lake) and mode != expected[is_folder(lake, name)]
    }
    assert others == {"redaction.key": "0o600"}
    assert found["graph.lbug.wal"] == 0o640


def plant_rights(home: Path) -> dict[str, int]:
    """Let others read one file of each kind; return their new modes by path."""
    lake = home / ".turnetl" / "lake"
    config = write_config(home, turnetl={"llm": {"api_key": secrets.token_hex(16)}})
    project = home / "project"
    project.mkdir()
    (project / "graphiti.config.json").write_text("{}")
    assert run_in_process("trust", project, folder=home).exit_code == 0
    (table,) = lake.glob("turns/*/*.parquet")
    planted = {
        lake: 0o755,
        table.parent: 0o701,
        table: 0o604,
        lake / "graph.lbug": 0o644,
        lake / "journal.sqlite": 0o666,
        index_folder(home) / "catalog.sqlite": 0o640,
        home / ".local" / "state" / "turnetl" / "trust.json": 0o604,
        config: 0o644,
    }
    for path, mode in planted.items():
        path.chmod(mode)
    return {str(path): mode for path, mode in planted.items()}


def loose_files(result: CommandResult) -> dict[str, str]:
    """Return what is wrong by path."""
    found = result.json["permissions"]
    return dict(line.split(": ") for line in found["examples"]) if found else {}


@pytest.mark.full
def test_what_others_may_use_is_found_and_made_private(shop: Path) -> None:
    JournalFile.open(shop / ".turnetl" / "lake" / "journal.sqlite", 1).close()
    assert run_in_process("verify", folder=shop).exit_code == 0
    planted = plant_rights(shop)
    arguments = ("verify", "--json", "--examples", "20")
    found = run_in_process(*arguments, folder=shop)
    private = {path: "0700" if Path(path).is_dir() else "0600" for path in planted}
    assert loose_files(found) == {
        path: f"{mode:04o} instead of {private[path]}" for path, mode in planted.items()
    }
    assert (found.exit_code, found.json["wrong"]) == (3, len(planted))
    shown = run_in_process("verify", "--fix", folder=shop)
    assert shown.exit_code == 1
    assert f"loose_permissions {len(planted)}" in shown.stdout
    assert loose_files(run_in_process(*arguments, folder=shop)) == loose_files(found)
    fixed = run_in_process(*arguments, "--fix", "--yes", folder=shop)
    assert (fixed.exit_code, fixed.json["permissions"]) == (0, None)
    assert fixed.json["repaired"] == len(planted)
    assert {path: f"{S_IMODE(Path(path).stat().st_mode):04o}" for path in planted} == private


def test_a_file_of_a_lake_of_a_group_may_be_read_by_the_group_only(shop: Path) -> None:
    lake = shop / ".turnetl" / "lake"
    lake.chmod(0o750)
    (lake / "graph.lbug").chmod(0o640)
    assert run_in_process("verify", folder=shop).exit_code == 0
    (lake / "graph.lbug").chmod(0o664)
    found = run_in_process("verify", "--json", folder=shop)
    assert loose_files(found) == {str(lake / "graph.lbug"): "0664 instead of 0640"}


def test_a_graph_outside_the_lake_is_checked_and_a_config_file_without_keys_is_not(
    shop: Path,
) -> None:
    graph = (shop / ".turnetl" / "lake" / "graph.lbug").rename(shop / "graph.lbug")
    write_config(shop, turnetl={"prefetch": 3}).chmod(0o644)
    named = shop / "named.json"
    named.write_text('{"turnetl": {"graph_password": "given"}}')
    named.chmod(0o644)
    graph.chmod(0o644)
    command = ("verify", "--graph", f"ladybug://{graph}", "--config", named, "--json")
    found = loose_files(run_in_process(*command, folder=shop))
    lock = f"{graph}.lock"
    assert found.pop(lock) == "0640 instead of 0600"
    assert found == {str(path): "0644 instead of 0600" for path in (graph, named)}


def test_a_link_in_a_lake_leads_to_no_other_file(shop: Path) -> None:
    target = shop / "target"
    target.touch()
    target.chmod(0o644)
    (shop / ".turnetl" / "lake" / "turns" / "link").symlink_to(target)
    run_in_process("verify", "--fix", "--yes", folder=shop)
    assert S_IMODE(target.stat().st_mode) == 0o644
