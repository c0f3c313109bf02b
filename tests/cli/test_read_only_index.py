"""Readers of an index leave no files behind, and need not be allowed to write its folder."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.archives import conversation, write_archive
from tests.cli.command import clean_environment, index_folder, run_in_process
from tests.cli.provider_setup import SESSION_START

WITHOUT_PRIVILEGES = """
import ctypes, os, sys
if os.geteuid() == 0:
    assert ctypes.CDLL(None).prctl(24, 1, 0, 0, 0) == 0
run = "from turnetl.cli import main; main()"
os.execv(sys.executable, [sys.executable, "-c", run, *sys.argv[1:]])
"""
"""Runs a command as a user whose permissions count: Linux's PR_CAPBSET_DROP of CAP_DAC_OVERRIDE."""

KILLED_WRITER = """
import os, sqlite3, sys
catalog = sqlite3.connect(sys.argv[1], isolation_level=None)
catalog.execute("PRAGMA cache_size = 1")
catalog.execute("BEGIN IMMEDIATE")
catalog.execute("INSERT INTO settings VALUES ('large', zeroblob(100000))")
os._exit(0)
"""
"""Ends in a transaction whose pages are partly written."""

SEARCH = ("search", "cart")

linux = pytest.mark.skipif(sys.platform != "linux", reason="root may write everything elsewhere")


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


@pytest.fixture
def read_only(shop: Path) -> Iterator[Path]:
    """Return the folder; nothing in its lake may be written."""
    paths = [shop / ".turnetl" / "lake", *(shop / ".turnetl" / "lake").rglob("*")]
    modes = {path: path.stat().st_mode for path in paths}
    for path, mode in modes.items():
        path.chmod(mode & ~0o222)
    yield shop
    for path, mode in modes.items():
        path.chmod(mode)


def run_unprivileged(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", WITHOUT_PRIVILEGES, *arguments],
        cwd=folder,
        env=clean_environment(folder),
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    "command", [("search", "cart"), ("status",), ("backfill", "--dry-run", "a.jsonl")]
)
def test_a_reader_leaves_no_file_behind(shop: Path, command: tuple[str, ...]) -> None:
    (archive,) = shop.glob("*.jsonl")
    archive.rename(shop / "a.jsonl")
    before = files(shop / ".turnetl" / "lake" / "index")
    assert run_in_process(*command, folder=shop).exit_code == 0
    assert files(shop / ".turnetl" / "lake" / "index") == before
    assert not [name for name in before if name.endswith(("-wal", "-shm", "-journal"))]


@pytest.mark.full
@linux
def test_a_folder_that_may_not_be_written_is_searched(read_only: Path) -> None:
    for arguments in (("search", "cart"), ("timeline",), ("status",)):
        result = run_unprivileged(read_only, *arguments)
        assert (result.returncode, result.stderr) == (0, "")
        assert "2 turns" in result.stdout or "cart" in result.stdout


@pytest.mark.full
@linux
def test_a_search_says_that_the_index_lacks_turns_and_may_not_be_written(shop: Path) -> None:
    (index,) = (shop / ".turnetl" / "lake" / "index").iterdir()
    aside = shop / "aside"
    index.rename(aside)
    rows = conversation("Refund the order", session="s2", at=SESSION_START)
    archive = write_archive(shop / "b.jsonl", rows)
    assert run_in_process("backfill", archive, folder=shop).exit_code == 0
    for path in sorted(index.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    index.rmdir()
    aside.rename(index)
    index.chmod(0o555)
    result = run_unprivileged(shop, "search", "cart")
    index.chmod(0o755)
    assert result.returncode == 0
    assert "may not be written; this is what the search index holds" in result.stderr


@pytest.mark.full
@linux
def test_what_a_killed_writer_left_in_a_folder_that_may_not_be_written_is_explained(
    shop: Path,
) -> None:
    index = index_folder(shop)
    subprocess.run(
        [sys.executable, "-c", KILLED_WRITER, index / "catalog.sqlite"], check=True, cwd=shop
    )
    assert (index / "catalog.sqlite-journal").stat().st_size
    index.chmod(0o555)
    (index / "catalog.sqlite").chmod(0o444)
    refused, status = (run_unprivileged(shop, *command) for command in (SEARCH, ("status",)))
    index.chmod(0o755)
    (index / "catalog.sqlite").chmod(0o644)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "has a transaction that a killed process left unfinished" in refused.stderr
    assert "run `turnetl index` as a user who may write it" in refused.stderr
    assert status.returncode == 0
    assert "a killed process left unfinished" in " ".join(status.stdout.split())
    assert run_in_process(*SEARCH, folder=shop).exit_code == 0


@pytest.mark.full
@linux
def test_an_index_that_may_not_be_written_is_not_to_be_rebuilt(read_only: Path) -> None:
    for arguments in (("index",), ("index", "--rebuild")):
        result = run_unprivileged(read_only, *arguments)
        assert result.returncode == 1
        assert "its folder may not be written: run the command as a user" in result.stderr
        assert "index --rebuild" not in result.stderr
