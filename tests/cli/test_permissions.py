"""Everything in a lake is private, unless the lake was opened to a group."""

import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from stat import S_IMODE

import pytest

from tests.cli.archives import two_turns
from tests.cli.command import run_in_process
from turnetl.graph.ladybug_file import LadybugFile
from turnetl.ingestion.quarantine import Quarantine, QuarantineEntry
from turnetl.lake.forgotten import NOTHING, write_forgotten
from turnetl.llm.journal.file import JournalFile
from turnetl.model import GroupId

MARCH = datetime(2026, 3, 2, 9, tzinfo=UTC)
ENTRY = QuarantineEntry("turn", "too long", "a.jsonl", 1, "run", MARCH)


@pytest.fixture(autouse=True)
def usual_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def fill(lake: Path) -> dict[str, int]:
    """Fill a lake with everything that can be in it; return the modes while it is written."""
    home = lake.parent
    for _ in range(2):
        arguments = ("backfill", two_turns(home, MARCH), "--lake", lake)
        assert run_in_process(*arguments, folder=home).exit_code == 0
    Quarantine(lake, GroupId("shop")).add(ENTRY)
    write_forgotten(lake, NOTHING)
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


def test_nobody_else_may_read_anything_in_a_lake(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    lake = tmp_path / "data" / "lake"
    lake.parent.mkdir()
    found = fill(lake)
    assert {"graph.lbug", "graph.lbug.wal", "graph.lbug.lock", "journal.sqlite"} <= set(found)
    assert {name.split("/")[0] for name in found} >= {"turns", "episodes", "index", "quarantine"}
    assert {name: oct(mode) for name, mode in found.items() if mode & 0o077} == {}


def test_the_group_of_a_lake_that_was_opened_to_it_may_read_everything(tmp_path: Path) -> None:
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
    assert others == {}
    assert found["graph.lbug.wal"] == 0o640
