"""`status` beside a process that keeps the catalog of the index locked."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.cli.command import index_folder
from turnetl.base.clock import now
from turnetl.pipeline import status
from turnetl.pipeline.run_options import RunOptions
from turnetl.settings import Settings

HOLD = """
import sqlite3, sys
catalog = sqlite3.connect(sys.argv[1], isolation_level=None)
catalog.execute("BEGIN EXCLUSIVE")
print("locked", flush=True)
sys.stdin.read()
"""
"""Holds the lock of a database until its standard input ends."""


@contextmanager
def locked_by_another_process(catalog: Path) -> Iterator[None]:
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, catalog],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "locked\n"
        yield
        holder.communicate()


async def test_status_names_an_index_that_stays_locked_and_reports_the_graph(shop: Path) -> None:
    settings = Settings(lake=shop / ".turnetl" / "lake")
    with locked_by_another_process(index_folder(shop) / "catalog.sqlite"):
        report = await status(settings, RunOptions(), now, busy_timeout=0.05)
    assert report.index is None
    assert report.index_problem is not None
    assert "another process has the search index `" in report.index_problem
    assert report.index_problem.endswith("` locked")
    assert [(group.group, group.committed) for group in report.groups] == [("shop", 2)]
    after = await status(settings, RunOptions(), now)
    assert after.index_problem is None
    assert after.index is not None
