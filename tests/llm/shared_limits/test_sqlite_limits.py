"""A file of shared limits that cannot be used is named, with what to do."""

import asyncio
import os
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.llm.shared_limits.test_store_contract import add, read, seconds
from turnetl.base.errors import ModelBusy, ModelUnusable
from turnetl.llm.shared_limits.store import SqliteLimits


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "limits.sqlite"


def update(store: SqliteLimits) -> None:
    asyncio.run(add(store, "name"))


def test_a_file_that_another_program_locks_is_waited_for_and_then_named(path: Path) -> None:
    store = SqliteLimits(path, clock=seconds, wait=0.05)
    update(store)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(ModelBusy, match="continue or end the process"):
            update(store)
    assert asyncio.run(read(store, "name")) == b"1"
    asyncio.run(store.close())


def test_a_damaged_file_may_be_deleted(path: Path) -> None:
    path.write_bytes(b"no database" * 1000)
    store = SqliteLimits(path, clock=seconds)
    with pytest.raises(ModelUnusable, match="move the file"):
        update(store)
    path.unlink()
    update(store)
    asyncio.run(store.close())


def test_a_database_of_another_program_stays_as_it_is(path: Path) -> None:
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE theirs (value)")
    content = path.read_bytes()
    with pytest.raises(ModelUnusable, match="of another program"):
        update(SqliteLimits(path, clock=seconds))
    assert path.read_bytes() == content


@pytest.mark.skipif(sys.platform == "win32", reason="symbolic links need a privilege")
def test_a_symbolic_link_is_not_followed(path: Path, tmp_path: Path) -> None:
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ModelUnusable, match="symbolic link"):
        update(SqliteLimits(path, clock=seconds))
    assert not (tmp_path / "elsewhere").exists()


def test_a_folder_in_the_place_of_the_file_is_named(path: Path) -> None:
    path.mkdir()
    with pytest.raises(ModelUnusable, match=r"llm\.shared_limits to none"):
        update(SqliteLimits(path, clock=seconds))


@pytest.mark.skipif(not hasattr(os, "fchmod"), reason="no modes of files")
def test_others_cannot_read_the_file(path: Path) -> None:
    store = SqliteLimits(path, clock=seconds)
    update(store)
    asyncio.run(store.close())
    assert path.stat().st_mode & 0o007 == 0
