"""The file of an embedded graph that is rewritten holds the same rows, and no deleted byte."""

import subprocess
import sys
from pathlib import Path

import ladybug
import pytest

from tests.builders import GROUP
from tests.graph.graph_dump import dump_graph
from tests.graph.reversals import revert
from tests.graph.sample_changes import NOW, PROFILE, TTL, history, receipt
from tests.graph.write_program import DIRT
from turnetl.base.errors import GraphBusy, GraphUnusable
from turnetl.graph.ladybug.checksum import ChecksumMatch, compare
from turnetl.graph.ladybug.zeroed_memory import IS_SUPPORTED
from turnetl.graph.open import open_graph, rewrite_graph


def url(path: Path) -> str:
    return f"ladybug://{path}"


async def fill(path: Path, *, undo_last: bool) -> str:
    """Commit three turns; undo the last. Return a text that only the last one had."""
    store = await open_graph(url(path), user="", password="")
    await store.prepare()
    lease = await store.acquire(
        GROUP, PROFILE, owner="here:1", now=NOW, ttl=TTL, is_dead=lambda _: False
    )
    changes = history()
    for change in changes:
        await store.commit(lease, change, receipt(change), now=NOW, ttl=TTL)
    if undo_last:
        await revert(store, lease, changes[-1])
    await store.close()
    return changes[-1].facts[0].text


def held(path: Path, text: str) -> list[str]:
    """Return the names of the files of the graph that hold the text."""
    files = path.parent.glob(f"{path.name}*")
    return [file.name for file in files if text.encode() in file.read_bytes()]


def leave_files(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).write_bytes(b"incomplete")


def files_in(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


@pytest.mark.full
async def test_a_deleted_text_stays_in_the_file_until_it_is_rewritten(tmp_path: Path) -> None:
    path = tmp_path / "graph.lbug"
    text = await fill(path, undo_last=True)
    before = await dump_graph(url(path))
    assert held(path, text) == ["graph.lbug"]
    assert rewrite_graph(url(path))
    assert compare(path) is ChecksumMatch.SAME
    assert held(path, text) == []
    assert await dump_graph(url(path)) == before
    store = await open_graph(url(path), user="", password="", write=False)
    assert (await store.versions())[GROUP].sequence == len(history())
    await store.close()


@pytest.mark.full
async def test_a_rewritten_file_holds_every_row_and_takes_further_turns(tmp_path: Path) -> None:
    path = tmp_path / "graph.lbug"
    text = await fill(path, undo_last=False)
    before = await dump_graph(url(path))
    rewrite_graph(url(path))
    assert await dump_graph(url(path)) == before
    assert held(path, text) == ["graph.lbug"]
    store = await open_graph(url(path), user="", password="")
    lease = await store.acquire(
        GROUP, PROFILE, owner="here:2", now=NOW, ttl=TTL, is_dead=lambda _: True
    )
    assert await revert(store, lease, history()[-1]) is not None
    assert await store.commit(lease, history()[-1], receipt(history()[-1]), now=NOW, ttl=TTL)
    await store.close()


@pytest.mark.full
async def test_copies_of_damaged_logs_go_and_incomplete_copies_are_replaced(tmp_path: Path) -> None:
    path = tmp_path / "graph.lbug"
    await fill(path, undo_last=True)
    leave_files(tmp_path, "graph.lbug.wal.damaged-20260101T000000.000000Z", "graph.lbug.rewritten")
    rewrite_graph(url(path))
    assert files_in(tmp_path) == ["graph.lbug", "graph.lbug.checksum", "graph.lbug.lock"]


async def test_a_file_with_tables_of_another_program_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "graph.lbug"
    await fill(path, undo_last=True)
    with ladybug.Database(str(path)) as database, ladybug.Connection(database) as connection:
        connection.execute("CREATE NODE TABLE Recipe (name STRING PRIMARY KEY)")
    with pytest.raises(GraphUnusable, match="tables of another program"):
        rewrite_graph(url(path))
    store = await open_graph(url(path), user="", password="")
    assert len(await store.receipts(GROUP)) == len(history()) - 1
    await store.close()


@pytest.mark.full
async def test_a_file_that_is_open_is_not_rewritten(tmp_path: Path) -> None:
    path = tmp_path / "graph.lbug"
    await fill(path, undo_last=True)
    store = await open_graph(url(path), user="", password="", write=False)
    await store.groups()
    with pytest.raises(GraphBusy):
        rewrite_graph(url(path))
    await store.close()


def test_a_graph_on_a_server_has_no_file_to_rewrite() -> None:
    assert not rewrite_graph("bolt://localhost:7687")


@pytest.mark.full
@pytest.mark.skipif(not IS_SUPPORTED, reason="this system cannot zero memory (docs/security.md)")
def test_the_file_holds_no_memory_that_the_process_used_for_something_else(tmp_path: Path) -> None:
    path = tmp_path / "graph.lbug"
    subprocess.run([sys.executable, "-m", "tests.graph.write_program", str(path)], check=True)
    for step in ("written", "rewritten", "merged"):
        content = path.with_suffix(f".{step}").read_bytes()
        assert content, step
        assert bytes([DIRT]) * 8 not in content, step
