"""An index that other processes and other users have open."""

import sqlite3
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from stat import S_IMODE

import numpy as np
import pytest

from tests import builders
from tests.builders import GROUP, START
from tests.fakes.followed_graphs import LoadedGraph
from tests.index.indexed_shop import EMBEDDER, NOW, after, before, open_index, turn
from turnetl.errors import IndexBusy, IndexUnusable
from turnetl.graph_model import GroupContents
from turnetl.index.batch_writer import REMOVED_BATCH
from turnetl.index.files import CATALOG
from turnetl.index.persistent import PersistentIndex
from turnetl.index.selection import Selection
from turnetl.model import SessionId


async def test_a_locked_catalog_is_busy_and_not_unusable(tmp_path: Path) -> None:
    with (
        closing(open_index(tmp_path)) as index,
        closing(sqlite3.connect(tmp_path / CATALOG, isolation_level=None)) as other,
    ):
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(IndexBusy, match=r"another process has the search index .* locked"):
            index.groups()
        other.execute("ROLLBACK")
        assert index.groups() == []


async def test_who_may_read_the_catalog_may_read_the_words(tmp_path: Path) -> None:
    with closing(open_index(tmp_path)) as index:
        for mode in (0o640, 0o644):
            (tmp_path / CATALOG).chmod(mode)
            for graph in (before(), after()):
                await index.catch_up(graph, EMBEDDER, now=NOW)
                assert _modes(tmp_path / "lexical") == {mode}
            index.forget([turn("refund"), turn("tax"), turn("docs")])
            assert _modes(tmp_path / "lexical") == {mode}


async def test_many_turns_are_forgotten_in_batches(tmp_path: Path) -> None:
    names = [f"turn{number}" for number in range(REMOVED_BATCH + 1)]
    steps: list[str] = []
    with closing(open_index(tmp_path, before_step=steps.append)) as index:
        await index.catch_up(_graph(names), EMBEDDER, now=NOW)
        steps.clear()
        assert index.forget([turn(name) for name in names]) == len(names)
        assert steps.count("removed words") == 2
        assert not len(index.select(Selection()))


async def test_vectors_of_other_dimensions_are_refused(tmp_path: Path) -> None:
    with closing(PersistentIndex(tmp_path, EMBEDDER.name, 64)) as index:
        refused = r"made with the embedder .* of 64 dimensions, and .* of 256 is configured"
        with pytest.raises(IndexUnusable, match=refused):
            await index.catch_up(before(), EMBEDDER, now=NOW)
        with pytest.raises(IndexUnusable, match=refused):
            index.similarities(np.ones(256, np.float32), None, limit=1)


def _modes(folder: Path) -> set[int]:
    return {S_IMODE(path.stat().st_mode) for path in folder.rglob("*") if path.is_file()}


def _graph(names: list[str]) -> LoadedGraph:
    receipts = tuple(
        builders.receipt(
            builders.episode(
                name,
                session_id=SessionId("s1"),
                ordinal=number,
                started_at=START + timedelta(minutes=number),
            )
        )
        for number, name in enumerate(names)
    )
    contents = GroupContents(
        group_id=GROUP,
        profile=None,
        entities=(),
        facts=(),
        receipts=receipts,
        texts={turn(name): f"user: {name}" for name in names},
    )
    sequences = {turn(name): number for number, name in enumerate(names, start=1)}
    return LoadedGraph(contents, sequences=sequences)
