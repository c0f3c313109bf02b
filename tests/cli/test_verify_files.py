"""`turnetl verify` reads everything in the lake, and what it advises makes it whole again."""

import asyncio
import json
import os
import random
import shutil
import sqlite3
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from tests.cli.archives import conversation, write_archive
from tests.cli.command import CommandResult, index_folder, run_in_process
from tests.cli.provider_setup import SESSION_START
from tests.graph.statements import run_statement
from turnetl.base.model import GroupId, TurnId
from turnetl.ingestion.quarantine import Quarantine, QuarantineEntry
from turnetl.lake import LocalFiles
from turnetl.lake.forgotten import ForgottenTurns, write_forgotten

LAKE = ("--lake", "lake")
READING = (("status",), ("search", "cart"), ("verify",), ("filter",), ("ingest",))


def turnetl(folder: Path, *arguments: str | Path) -> CommandResult:
    return run_in_process(*arguments, *LAKE, folder=folder)


def archive(folder: Path, project: str) -> Path:
    rows = conversation(f"why does {project} round?", "fix it", session=project, at=SESSION_START)
    rows = [row.replace("/home/dev/shop", f"/home/dev/{project}") for row in rows]
    return write_archive(folder / "archives" / project / "session.jsonl", rows)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    for project in ("shop", "till", "gone"):
        archive(folder, project)
    assert turnetl(folder, "backfill", folder / "archives").exit_code == 0
    shutil.rmtree(folder / "archives" / "gone")
    return folder


@pytest.fixture
def folder(whole: Path, tmp_path: Path) -> Path:
    """Return a folder with a lake of three groups; the archive of `gone` is gone."""
    shutil.copytree(whole / "lake", tmp_path / "lake")
    (tmp_path / "archives").symlink_to(whole / "archives")
    return tmp_path


def archives(folder: Path) -> Path:
    """Return the folder of the archives by the path by which they were parsed."""
    return (folder / "archives").resolve()


def table(folder: Path, group: str) -> Path:
    [path] = (folder / "lake" / "turns" / group).glob("*.parquet")
    return path


def flip(path: Path, at: float) -> None:
    data = bytearray(path.read_bytes())
    data[min(int(len(data) * at), len(data) - 1)] ^= 4
    path.write_bytes(data)


def checks(result: CommandResult) -> list[str]:
    return [finding["check"] for finding in result.json["files"] if finding["is_wrong"]]


def damaged(folder: Path) -> list[str]:
    """Verify the lake; return the checks that find something wrong in its files."""
    result = turnetl(folder, "verify", "--json")
    found = checks(result)
    assert result.exit_code == (3 if found else 0), result.stderr
    return found


def half(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def empty(path: Path) -> None:
    path.write_bytes(b"")


def foreign(path: Path) -> None:
    path.write_bytes(b"\x89PNG\r\n" + bytes(2000))


def zeros(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 3 : len(data) // 2] = bytes(len(data) // 2 - len(data) // 3)
    path.write_bytes(data)


DAMAGES: tuple[Callable[[Path], None], ...] = (half, empty, foreign, zeros)


@pytest.mark.full
def test_a_sample_of_all_damages_of_tables_is_found_and_made_again_by_the_next_backfill(
    folder: Path,
) -> None:
    before = table(folder, "till").read_bytes()
    source = random.Random(7)
    places = (0.0, 1.0, source.random())
    flips: list[Callable[[Path], None]] = [partial(flip, at=place) for place in places]
    for damage in (*DAMAGES, *flips):
        path = table(folder, "till")
        damage(path)
        result = turnetl(folder, "verify", "--json")
        assert checks(result) == ["damaged_turns"]
        [finding] = [one for one in result.json["files"] if one["is_wrong"]]
        assert str(path.name) in finding["examples"][0]
        assert "exists: the next `turnetl backfill` of it makes it again" in finding["examples"][0]
        assert turnetl(folder, "backfill", archives(folder)).exit_code == 0
        assert path.read_bytes() == before
    assert damaged(folder) == []


@pytest.mark.full
def test_of_a_damaged_table_without_an_archive_verify_says_that_only_a_copy_helps(
    folder: Path,
) -> None:
    path = table(folder, "gone")
    half(path)
    content = path.read_bytes()
    result = turnetl(folder, "verify")
    assert result.exit_code == 3
    assert "is gone: restore it from a copy of the lake" in " ".join(result.stdout.split())
    assert "damaged" in " ".join(turnetl(folder, "status").messages)
    assert turnetl(folder, "status", "--json").json["damaged_tables"] == 1
    assert turnetl(folder, "filter").exit_code == 1
    assert turnetl(folder, "verify", "--fix", "--yes").exit_code == 3
    [kept] = path.parent.iterdir()
    assert kept.read_bytes() == content
    assert turnetl(folder, "filter").exit_code == 0


@pytest.mark.full
def test_fix_makes_damaged_tables_again_that_can_be_made_again(folder: Path) -> None:
    before = table(folder, "till").read_bytes()
    flip(table(folder, "till"), 0.3)
    half(folder / "lake" / "episodes" / "shop.parquet")
    assert sorted(damaged(folder)) == ["damaged_episodes", "damaged_turns"]
    assert turnetl(folder, "verify", "--fix", "--yes").exit_code == 0
    assert table(folder, "till").read_bytes() == before
    assert turnetl(folder, "ingest").exit_code == 0


@pytest.mark.full
def test_a_table_that_is_missing_or_in_the_place_of_another_one_is_found_and_put_right(
    folder: Path,
) -> None:
    first, second = table(folder, "shop"), table(folder, "till")
    whole, other = first.read_bytes(), second.read_bytes()
    first.write_bytes(other)
    second.write_bytes(whole)
    assert damaged(folder) == ["damaged_turns"]
    assert "belongs to group `till`" in " ".join(turnetl(folder, "verify").stdout.split())
    assert turnetl(folder, "filter").exit_code == 1
    assert turnetl(folder, "backfill", archives(folder)).exit_code == 0
    assert (first.read_bytes(), second.read_bytes()) == (whole, other)
    second.unlink()
    assert damaged(folder) == ["damaged_turns"]
    assert turnetl(folder, "backfill", archives(folder)).exit_code == 0
    assert damaged(folder) == []


@pytest.mark.full
def test_a_whole_lake_is_read_completely_with_its_small_files(folder: Path) -> None:
    files = LocalFiles(folder / "lake")
    entry = QuarantineEntry(TurnId("turn"), "too long", "archive", 1, "run", SESSION_START)
    Quarantine(files, GroupId("shop")).add(entry)
    write_forgotten(files, ForgottenTurns().extended([(GroupId("shop"), TurnId("gone"))]))
    whole = turnetl(folder, "verify", "--json")
    assert (whole.exit_code, whole.stderr) == (0, "")
    assert (whole.json["tables"], whole.json["files"]) == (6, [])
    assert whole.json["table_bytes"] > 0
    for name in ("redaction.key", "forgotten.json", "quarantine/shop/turn.json"):
        path = folder / "lake" / name
        content = path.read_bytes()
        for damage in (half, lambda path: flip(path, 0.3)):
            damage(path)
            assert damaged(folder) == ["damaged_files"], (name, damage)
            path.write_bytes(content)


@pytest.mark.full
def test_a_damaged_index_is_found_and_rebuilt(folder: Path) -> None:
    index = next((folder / "lake" / "index").iterdir())
    for name in ("vectors/vectors", "vectors/scales", "lexical/turns/*.term"):
        flip(min(index.glob(name)), 0.6)
        assert damaged(folder) == ["damaged_index"], name
        assert turnetl(folder, "verify", "--fix", "--yes").exit_code == 0


@pytest.mark.full
def test_words_that_are_damaged_are_found_and_rebuilt_as_the_advice_says(folder: Path) -> None:
    rebuilds = (("verify", "--fix", "--yes"), ("index", "--rebuild"))
    damages: tuple[Callable[[Path], object], ...] = (
        partial(flip, at=0.1),
        lambda path: path.write_bytes(path.read_bytes()[:-1]),
    )
    for rebuild, damage in zip(rebuilds, damages, strict=True):
        damage(min((folder / "lake" / "index").glob("*/lexical/turns/*.idx")))
        found = turnetl(folder, "verify")
        assert "from the graph, as `turnetl index --rebuild` does" in found.stdout
        assert turnetl(folder, *rebuild).exit_code == 0
        assert damaged(folder) == []


@pytest.mark.full
def test_a_turn_that_the_index_lost_is_added_by_the_next_index_command(shop: Path) -> None:
    with sqlite3.connect(index_folder(shop) / "catalog.sqlite") as connection:
        connection.execute("DELETE FROM turns WHERE key = (SELECT min(key) FROM turns)")
    connection.close()
    assert run_in_process("verify", folder=shop).exit_code == 3
    assert run_in_process("index", folder=shop).exit_code == 0
    assert run_in_process("verify", folder=shop).exit_code == 0


@pytest.mark.full
def test_a_damaged_graph_is_a_sentence_and_a_later_write_does_not_hide_it(folder: Path) -> None:
    graph = folder / "lake" / "graph.lbug"
    for at in (0.0, 0.4, 1.0):
        content = graph.read_bytes()
        flip(graph, at)
        assert set(damaged(folder)) & {"damaged_graph", "unreadable_graph"}, at
        graph.write_bytes(content)
    flip(graph, 0.9)
    rows = conversation("what else?", session="more", at=SESSION_START)
    write_archive(folder / "more.jsonl", rows)
    assert turnetl(folder, "backfill", "more.jsonl").exit_code == 0
    assert damaged(folder) == ["damaged_graph"]


@pytest.mark.full
def test_a_graph_that_lost_all_its_bytes_is_restored_or_filled_again(folder: Path) -> None:
    graph = folder / "lake" / "graph.lbug"
    graph.write_bytes(b"")
    found = turnetl(folder, "verify")
    assert found.exit_code == 3
    assert "is empty, and was not before; restore it from a backup, or move it" in found.stdout
    assert "brings the index up to date" not in found.stdout
    assert damaged(folder) == ["unreadable_graph"]
    for path in (graph, graph.with_name("graph.lbug.checksum")):
        path.rename(folder / path.name)
    assert turnetl(folder, "ingest").exit_code == 0
    assert turnetl(folder, "index").exit_code == 0
    assert damaged(folder) == []


@pytest.mark.full
def test_a_graph_that_another_program_wrote_is_no_error(shop: Path) -> None:
    [graph] = shop.rglob("graph.lbug")
    renamed = "MATCH (n:Entity) WITH n LIMIT 1 SET n.summary = 'another one'"
    asyncio.run(run_statement(f"ladybug://{graph}", renamed))
    result = run_in_process("verify", "--json", folder=shop)
    assert result.exit_code == 0
    assert [finding["check"] for finding in result.json["files"]] == ["changed_graph"]


@pytest.mark.full
def test_pipes_and_folders_in_a_lake_block_no_command(folder: Path) -> None:
    lake = folder / "lake"
    index = next((lake / "index").iterdir())
    places = (
        table(folder, "till"),
        *(lake / name for name in ("episodes/shop.parquet", "forgotten.json", "journal.sqlite")),
        *(index / name for name in ("vectors/keys", "lexical/turns/meta.json")),
        lake / "turns" / "shop" / "more.parquet",
        lake / "quarantine" / "shop" / "turn.json",
        lake / "anything",
    )
    for path in places:
        path.unlink(missing_ok=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        os.mkfifo(path)
    for command in READING:
        assert turnetl(folder, *command).exit_code in (0, 1, 3), command
    assert "damaged_files" in checks(turnetl(folder, "verify", "--json"))


@pytest.mark.full
def test_a_lake_of_a_newer_version_is_to_be_kept(folder: Path) -> None:
    import polars as pl  # noqa: PLC0415 - heavy

    path = table(folder, "till")
    stored = json.loads(pl.read_parquet_metadata(path)["turnetl"])
    rows = pl.read_parquet(path)
    rows.write_parquet(path, metadata={"turnetl": json.dumps({**stored, "schema": 99})})
    result = turnetl(folder, "verify")
    assert result.exit_code == 3
    assert "update turnetl" in result.stdout
    for command in (("status",), ("filter",), ("backfill", archives(folder))):
        refused = turnetl(folder, *command)
        assert refused.exit_code == 1
        assert "update turnetl" in refused.stderr
        assert "delete" not in refused.stderr
