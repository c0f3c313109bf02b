"""A symbolic link in the place of a file that turnetl locks leads to no other file."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.archives import conversation, write_archive
from tests.cli.command import CommandResult, run_in_process
from tests.cli.provider_setup import SESSION_START, model_environment
from tests.servers.provider import FakeProvider
from turnetl.llm.journal.file import JournalFile

LATER = SESSION_START.replace(hour=18)
TARGET = "the file of somebody else\n"

LOCKS = [
    "graph.lbug.lock",
    "index/*/lock.sqlite",
    "index/*/lock.sqlite-writer",
    "index/*/lexical/turns/.tantivy-writer.lock",
    "index/*/lexical/turns/.tantivy-meta.lock",
    "index/*/lexical/passages/.tantivy-writer.lock",
    "turns/*/.planted.tmp",
    "episodes/.planted.tmp",
]


def plant(lake: Path, lock: str, target: Path) -> None:
    """Put a link to a file into the place of a lock."""
    folder, _, name = lock.rpartition("/")
    (parent,) = lake.glob(folder) if folder else (lake,)
    (parent / name).unlink(missing_ok=True)
    (parent / name).symlink_to(target)


def write_later_turns(folder: Path) -> Path:
    """Write an archive of another session; return its path."""
    rows = conversation("Empty the cart", "Test that", session="later", at=LATER)
    return write_archive(folder / "later.jsonl", rows)


def write(folder: Path) -> list[CommandResult]:
    """Write tables, graph and index."""
    write_later_turns(folder)
    backfill = run_in_process("backfill", *folder.glob("*.jsonl"), folder=folder)
    return [backfill, run_in_process("index", "--rebuild", folder=folder)]


@pytest.mark.full
@pytest.mark.parametrize("exists", [True, False], ids=["to a file", "to nothing"])
def test_a_planted_lock_leads_to_no_other_file(
    subtests: pytest.Subtests, exists: bool, filled_shop: Path, tmp_path: Path
) -> None:
    for number, lock in enumerate(LOCKS):
        with subtests.test(lock=lock):
            shop = shutil.copytree(filled_shop, tmp_path / str(number))
            target = shop / "target"
            if exists:
                target.write_text(TARGET)
            plant(shop / ".turnetl" / "lake", lock, target)
            for result in write(shop):
                assert result.exit_code in (0, 1)
            assert target.exists() == exists
            assert not exists or target.read_text() == TARGET


def test_a_planted_lock_of_the_graph_is_named(shop: Path) -> None:
    plant(shop / ".turnetl" / "lake", "graph.lbug.lock", shop / "target")
    for command in (("ingest",), ("verify",)):
        result = run_in_process(*command, folder=shop)
        assert "graph.lbug.lock` is a symbolic link" in result.stderr
    assert run_in_process("ingest", folder=shop).exit_code == 1


@pytest.mark.parametrize(
    ("name", "exists"),
    [
        ("graph.lbug.wal", True),
        ("graph.lbug.wal", False),
        ("graph.lbug.wal.checkpoint", True),
        ("graph.lbug.shadow", False),
    ],
)
def test_a_planted_file_of_the_graph_leads_to_no_other_file(
    name: str, exists: bool, shop: Path
) -> None:
    target = shop / "target"
    if exists:
        target.touch()
    plant(shop / ".turnetl" / "lake", name, target)
    write_later_turns(shop)
    result = run_in_process("backfill", *shop.glob("*.jsonl"), folder=shop)
    assert f"{name}` is a symbolic link" in result.stderr
    assert result.exit_code == 1
    assert target.exists() == exists
    assert not exists or target.read_bytes() == b""


def test_no_graph_is_made_where_a_planted_link_leads(shop: Path) -> None:
    lake = shop / ".turnetl" / "lake"
    plant(lake, "graph.lbug", shop / "target")
    for command in (("ingest",), ("status",)):
        result = run_in_process(*command, folder=shop)
        assert "unexpected error" not in result.stderr
    assert (
        "graph.lbug` is a symbolic link to a file that does not exist"
        in run_in_process("ingest", folder=shop).stderr
    )
    assert not (shop / "target").exists()


@pytest.mark.full
def test_a_graph_that_a_link_leads_to_is_used(shop: Path) -> None:
    """The user may have moved it to another disk."""
    graph = shop / ".turnetl" / "lake" / "graph.lbug"
    graph.rename(shop / "moved.lbug")
    graph.symlink_to(shop / "moved.lbug")
    write_later_turns(shop)
    assert run_in_process("backfill", *shop.glob("*.jsonl"), folder=shop).exit_code == 0
    assert graph.is_symlink()


@pytest.mark.parametrize("suffix", ["", "-wal", "-shm"])
def test_a_planted_journal_leads_to_no_other_file(
    suffix: str, shop: Path, provider: FakeProvider, tmp_path: Path
) -> None:
    target, lake = tmp_path / "target", shop / ".turnetl" / "lake"
    JournalFile.open(lake / "journal.sqlite", 1).close()
    with closing(sqlite3.connect(lake / "journal.sqlite")) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    plant(lake, f"journal.sqlite{suffix}", target)
    archive = write_later_turns(shop)
    arguments = ("--extractor", "llm", "--close-after", "0")
    model = model_environment(provider)
    result = run_in_process("backfill", archive, *arguments, folder=shop, **model)
    assert not target.exists()
    assert result.exit_code == 1
    assert "journal.sqlite`" in result.stderr
    assert provider.requests == []
