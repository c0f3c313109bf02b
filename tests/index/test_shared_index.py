"""An index that other processes and other users have open."""

import sqlite3
from collections.abc import Collection, Sequence
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
from turnetl.base.errors import IndexBusy, IndexUnusable
from turnetl.base.graph_model import GroupContents
from turnetl.base.model import Entity, Fact, GroupId, SessionId, TurnId
from turnetl.index.conditions import Selection
from turnetl.index.files import CATALOG
from turnetl.index.follow import REMOVED_BATCH
from turnetl.index.persistent import PersistentIndex


@pytest.mark.full
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


@pytest.mark.full
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


class PausingGraph(LoadedGraph):
    """Knows whether it is paused: each read opens it again."""

    is_paused = False

    async def turn_ids(self, group: GroupId) -> frozenset[TurnId]:
        self.is_paused = False
        return await super().turn_ids(group)

    async def facts(self, group: GroupId, uuids: Collection[str]) -> Sequence[Fact]:
        self.is_paused = False
        return await super().facts(group, uuids)

    async def entities(self, group: GroupId, uuids: Collection[str]) -> Sequence[Entity]:
        self.is_paused = False
        return await super().entities(group, uuids)

    async def pause(self) -> None:
        self.is_paused = True


async def test_an_ingest_may_start_before_each_transaction_of_a_catch_up(tmp_path: Path) -> None:
    """Turns are added in the first transaction and removed in the second one."""
    sequences = {turn("docs"): 2, turn("refund"): 3}
    graph = PausingGraph(_contents(["docs", "refund"]), sequences=sequences)
    paused: list[bool] = []

    def record(step: str) -> None:
        if step == "catalog":
            paused.append(graph.is_paused)

    with closing(open_index(tmp_path, before_step=record)) as index:
        await index.catch_up(_graph(["cart"]), EMBEDDER, now=NOW)
        paused.clear()
        await index.catch_up(graph, EMBEDDER, now=NOW)
    assert paused == [True, True]


def _modes(folder: Path) -> set[int]:
    return {S_IMODE(path.stat().st_mode) for path in folder.rglob("*") if path.is_file()}


def _graph(names: list[str]) -> LoadedGraph:
    return LoadedGraph(_contents(names))


def _contents(names: list[str]) -> GroupContents:
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
    return GroupContents(
        group_id=GROUP,
        profile=None,
        entities=(),
        facts=(),
        receipts=receipts,
        texts={turn(name): f"user: {name}" for name in names},
    )
