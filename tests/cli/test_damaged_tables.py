"""Damaged tables: created again by the next run, and never in the way of other groups."""

import shutil
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.cli.archives import conversation, write_archive
from tests.cli.command import CommandResult, run_in_process

MARCH = datetime(2026, 3, 2, 9, tzinfo=UTC)
QUESTIONS = ("why does the till round down?", "which tests of the cart fail now?")


def archive(folder: Path, project: str, *prompts: str) -> Path:
    rows = conversation(*(prompts or QUESTIONS), session=project, at=MARCH)
    in_project = [text.replace("/home/dev/shop", f"/home/dev/{project}") for text in rows]
    return write_archive(folder / project / "session.jsonl", in_project)


def run(*arguments: str | Path, folder: Path) -> CommandResult:
    return run_in_process(*arguments, "--lake", "lk[1]", folder=folder)


def damaged(path: Path) -> Path:
    """Flip a bit among the rows of a table."""
    data = bytearray(path.read_bytes())
    data[len(data) // 4] ^= 4
    path.write_bytes(data)
    return path


@dataclass(frozen=True)
class Filtered:
    """A folder with the archives `shop` and `till`, parsed and filtered, and its copy."""

    folder: Path
    copy: Path

    def restored(self) -> Path:
        """Make the folder as it was, in its place: the lake names the archives by their paths."""
        shutil.rmtree(self.folder)
        return shutil.copytree(self.copy, self.folder)


@pytest.fixture(scope="module")
def filtered(tmp_path_factory: pytest.TempPathFactory) -> Filtered:
    places = tmp_path_factory.mktemp("places")
    made = Filtered(places / "folder", places / "copy")
    paths = [archive(made.folder, "shop"), archive(made.folder, "till")]
    assert run("parse", *paths, folder=made.folder).exit_code == 0
    assert run("filter", folder=made.folder).exit_code == 0
    shutil.copytree(made.folder, made.copy)
    return made


@pytest.fixture
def folder(filtered: Filtered) -> Path:
    """Return a folder with the archives `shop` and `till`; they are parsed and filtered."""
    return filtered.restored()


def committed(result: CommandResult) -> dict[str, int]:
    return {group["group"]: group["committed"] for group in result.json["groups"]}


@pytest.mark.full
@pytest.mark.parametrize("command", ["filter", "ingest"])
def test_a_damaged_episodes_table_is_created_again(folder: Path, command: str) -> None:
    table = folder / "lk[1]" / "episodes" / "shop.parquet"
    before = table.read_bytes()
    damaged(table)
    result = run(command, "--json", folder=folder)
    assert result.exit_code == 0
    assert "shop.parquet` is damaged; it is created again from the turns" in result.stderr
    assert table.read_bytes() == before
    assert committed(run("ingest", "--json", folder=folder)) == (
        {"shop": 0, "till": 0} if command == "ingest" else {"shop": 2, "till": 2}
    )


@pytest.mark.full
@pytest.mark.parametrize("size", [0, 400])
def test_an_unreadable_episodes_table_stops_no_other_group(folder: Path, size: int) -> None:
    (folder / "lk[1]" / "episodes" / "shop.parquet").write_bytes(b"\xff" * size)
    status = run("status", "--json", folder=folder).json["groups"]
    assert [(group["group"], group["pending"]) for group in status] == [("shop", 2), ("till", 2)]
    assert status[0]["uncommitted_reasons"] == {"unfiltered": 2}
    assert "run `turnetl filter`" in status[0]["error"]
    ingested = run("ingest", "--json", folder=folder)
    assert ingested.exit_code == 1
    assert committed(ingested) == {"shop": 0, "till": 2}
    assert run("filter", folder=folder).exit_code == 0
    assert committed(run("ingest", "--json", folder=folder)) == {"shop": 2, "till": 0}


def test_a_damaged_turns_file_is_created_again_from_its_archive(folder: Path) -> None:
    (table,) = (folder / "lk[1]" / "turns" / "shop").iterdir()
    before = table.read_bytes()
    (folder / "lk[1]" / "episodes" / "shop.parquet").unlink()
    damaged(table)
    result = run("filter", folder=folder)
    assert result.exit_code == 0
    assert "is damaged; it is created again from" in result.stderr
    assert table.read_bytes() == before


@pytest.mark.full
def test_a_damaged_turns_file_with_turns_that_its_archive_lost_is_kept_and_created_again(
    folder: Path,
) -> None:
    path = archive(folder, "shop", QUESTIONS[0])
    assert run("parse", path, "--json", folder=folder).json["retained_turns"] == 1
    (table,) = (folder / "lk[1]" / "turns" / "shop").iterdir()
    content = damaged(table).read_bytes()
    result = run("filter", "--json", folder=folder)
    assert result.exit_code == 0, result.stderr
    assert "restore it from a copy of the lake if you need them" in result.stderr
    [kept] = set((folder / "lk[1]" / "turns" / "shop").iterdir()) - {table}
    assert f"{kept.name}`" in result.stderr
    assert kept.read_bytes() == content
    assert committed(run("ingest", "--json", folder=folder)) == {"shop": 1, "till": 2}


@pytest.mark.full
def test_a_damaged_turns_file_of_a_deleted_archive_is_named_and_stops_no_other_group(
    folder: Path,
) -> None:
    (table,) = (folder / "lk[1]" / "turns" / "shop").iterdir()
    (folder / "shop" / "session.jsonl").unlink()
    for path in (folder / "lk[1]" / "episodes").iterdir():
        path.unlink()
    damaged(table)
    result = run("filter", folder=folder)
    assert result.exit_code == 1
    assert f"{table.name}` is damaged, and its archive" in result.stderr
    assert "lost from the lake unless you restore the file from a copy" in result.stderr
    assert "committed stay in the graph" in result.stderr
    assert committed(run("ingest", "--json", folder=folder)) == {"shop": 0, "till": 2}
    table.unlink()
    assert run("filter", folder=folder).exit_code == 0


def test_the_episodes_name_the_archive_of_a_turns_file_that_cannot_be_read(folder: Path) -> None:
    (table,) = (folder / "lk[1]" / "turns" / "shop").iterdir()
    whole, source = table.read_bytes(), folder / "shop" / "session.jsonl"
    table.write_bytes(whole[: len(whole) // 2])
    away = source.rename(folder / "away.jsonl")
    result = run("filter", folder=folder)
    assert result.exit_code == 1
    assert f"and its archive `{source.resolve()}` cannot be read" in result.stderr
    assert "To filter the group without this file, run `turnetl verify --fix`" in result.stderr
    status = run("status", "--verbose", folder=folder)
    assert "group `shop`: a turns file is damaged; `turnetl verify` names it" in status.stderr
    assert "`turnetl filter`" not in status.stderr
    away.rename(source)
    assert run("filter", folder=folder).exit_code == 0
    assert table.read_bytes() == whole


@pytest.mark.full
def test_a_backfill_ingests_the_other_groups_of_a_lake_with_a_damaged_turns_file(
    folder: Path,
) -> None:
    (table,) = (folder / "lk[1]" / "turns" / "shop").iterdir()
    (folder / "shop" / "session.jsonl").unlink()
    damaged(table)
    more = archive(folder, "more").rename(folder / "shop" / "more.jsonl")
    more.write_text(more.read_text().replace("/home/dev/more", "/home/dev/shop"))
    result = run("backfill", more, folder / "till" / "session.jsonl", "--json", folder=folder)
    assert result.exit_code == 1
    assert "lost from the lake unless you restore the file from a copy" in result.stderr
    groups = {group["group"]: group["committed"] for group in result.json["groups"]}
    assert groups == {"shop": 0, "till": 2}


@pytest.mark.full
def test_status_counts_the_turns_that_wait_for_the_filter(tmp_path: Path) -> None:
    run("parse", archive(tmp_path, "shop"), archive(tmp_path, "till"), folder=tmp_path)
    status = run("status", "--json", folder=tmp_path).json
    assert status["pending"] == 4
    assert [group["turns"] for group in status["groups"]] == [2, 2]
    assert (
        "4 turns to filter: run `turnetl filter`"
        in run("status", "--verbose", folder=tmp_path).stdout
    )
    run("filter", folder=tmp_path)
    run("ingest", folder=tmp_path)
    longer = archive(tmp_path, "shop", *QUESTIONS, "where is the key of the cart kept?")
    run("parse", longer, folder=tmp_path)
    (shop, till) = run("status", "--json", folder=tmp_path).json["groups"]
    assert (shop["turns"], shop["committed"], shop["pending"]) == (3, 2, 1)
    assert (till["turns"], till["committed"], till["pending"]) == (2, 2, 0)


@pytest.mark.full
def test_turns_that_an_archive_lost_before_the_ingest_reach_the_graph(tmp_path: Path) -> None:
    path = archive(tmp_path, "shop", *QUESTIONS)
    run("parse", path, folder=tmp_path)
    archive(tmp_path, "shop", QUESTIONS[0])
    result = run("backfill", path, "--json", folder=tmp_path)
    assert (result.json["parsed"]["retained_turns"], result.json["committed"]) == (1, 2)
    assert "(no longer in their archives: 1; they stay)" in " ".join(
        run("status", "--verbose", folder=tmp_path).stdout.split()
    )


def test_a_lake_that_is_a_file_is_rejected(tmp_path: Path, subtests: pytest.Subtests) -> None:
    (tmp_path / "notes.txt").write_text("no lake")
    for command in ("status", "filter", "ingest"):
        with subtests.test(command=command):
            result = run_in_process(command, "--lake", "notes.txt", folder=tmp_path)
            assert result.exit_code == 2
            assert "`notes.txt` is not a folder; name the folder of a lake" in result.stderr
            assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
