"""A Ladybug file that is read in a small buffer pool gives the same rows as in a large one."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import ladybug
import pytest

from tests.builders import GROUP
from tests.graph.committing import fill as fill_graph
from tests.graph.sample_changes import long_history
from tests.graph.statements import run_statement
from turnetl.base.model import GroupId
from turnetl.graph.ladybug.client import LadybugClient
from turnetl.graph.ladybug.database import SeparateConnections
from turnetl.graph.ladybug.file import LadybugFile
from turnetl.graph.open import open_graph

ROWS = 40_000
TOO_SMALL, SUFFICIENT = 4 << 20, 64 << 20
"""Bytes of a pool for a query that returns all rows."""
ALL = "MATCH (n:Note) RETURN n.text AS text"


def fill(path: Path) -> None:
    with ladybug.Database(path) as database, ladybug.Connection(database) as connection:
        connection.execute("CREATE NODE TABLE Note (number INT64 PRIMARY KEY, text STRING)")
        note = f"CREATE (:Note {{number: number, text: concat('{'note ' * 40}', string(number))}})"
        connection.execute(f"UNWIND range(1, {ROWS}) AS number {note}")


@asynccontextmanager
async def client(path: Path, pool: int) -> AsyncIterator[LadybugClient]:
    """Open the file; it reopens in low memory with a buffer pool of `pool` bytes."""

    def reopen(low_memory: bool) -> LadybugFile:
        size = pool if low_memory else 0
        database = ladybug.Database(path, read_only=True, buffer_pool_size=size, max_num_threads=1)
        return LadybugFile(ladybug.Connection(database, num_threads=1), database, None)

    opened = LadybugClient(reopen(False), reopen)
    yield opened
    await opened.close()


@pytest.mark.full
async def test_a_query_that_does_not_fit_into_the_pool_starts_again_without_a_limit(
    tmp_path: Path,
) -> None:
    path, rows_read = tmp_path / "notes.lbug", list[int]()
    fill(path)

    def read(opened: LadybugClient) -> int:
        rows_read.append(0)
        rows_read[-1] = sum(1 for _ in opened.rows(ALL, {}))
        return rows_read[-1]

    async with client(path, SUFFICIENT) as opened:
        assert await opened.run_in_low_memory(read) == ROWS
    assert rows_read == [ROWS]
    async with client(path, TOO_SMALL) as opened:
        assert await opened.run_in_low_memory(read) == ROWS
        assert await opened.run(read) == ROWS
    assert rows_read == [ROWS, 0, ROWS, ROWS]


def test_a_connection_per_statement_reads_what_one_connection_reads(tmp_path: Path) -> None:
    path = tmp_path / "notes.lbug"
    fill(path)
    with ladybug.Database(
        path, read_only=True, buffer_pool_size=SUFFICIENT, max_num_threads=1
    ) as database:
        separate = SeparateConnections(database)
        opened = LadybugClient(LadybugFile(separate, database, None))
        some = "MATCH (n:Note) WHERE n.number > $number RETURN n.number AS number"
        for number in (0, ROWS - 3):
            assert opened.table(some, {"number": number}).num_rows == ROWS - number
        assert opened.query(some, {"number": ROWS - 1}) == [[ROWS]]
        separate.close()


@pytest.mark.full
async def test_commits_with_numbers_far_apart_are_all_read(tmp_path: Path) -> None:
    url, numbers = f"ladybug://{tmp_path / 'graph.lbug'}", (1, 1_000, 5_000)
    turns = long_history()
    await fill_graph(url, turns)
    for turn, number in zip(turns, numbers, strict=True):
        where = f"MATCH (c:TurnCommit {{turn_id: '{turn.episode.turn_id}'}})"
        await run_statement(url, f"{where} SET c.sequence = {number}")
    store = await open_graph(url, user="", password="", write=False)
    tables = await store.tables(GROUP)
    assert sorted(tables.commits["sequence"]) == [*numbers]
    assert (await store.tables(GroupId("empty"))).commits.height == 0
    await store.close()
