"""A group is in memory while its turns are ingested, and no longer."""

import asyncio
import gc
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.ingestion.ahead_runs import (
    EXTRACTORS,
    TURNS,
    Reordered,
    UnevenModel,
    opened_store,
    started,
    turns,
)
from turnetl.base.errors import RunStopped
from turnetl.base.model import Episode, GroupId
from turnetl.extraction.port import Extractor, Resolved
from turnetl.graph.mirror.group import GroupView, MirrorGroup

SHORT, LONG = GroupId("short"), GroupId("long")


@dataclass
class WatchingExtractor:
    """An extractor that remembers the groups in memory that it was given, weakly."""

    inner: Extractor[Any]
    _groups: dict[GroupId, "weakref.ref[MirrorGroup]"] = field(default_factory=dict)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    async def resolve(
        self, episode: Episode, extracted: Any, group: GroupView, *, now: datetime
    ) -> Resolved:
        if isinstance(group, MirrorGroup):
            self._groups[group.group_id] = weakref.ref(group)
        return await self.inner.resolve(episode, extracted, group, now=now)

    def in_memory(self) -> set[GroupId]:
        return {group_id for group_id, group in self._groups.items() if group() is not None}


@contextmanager
def no_collections() -> Iterator[None]:
    """Collect no cycles: a command does so too rarely for a group to wait for it."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@pytest.mark.full
@pytest.mark.parametrize("depth", [0, 4])
@pytest.mark.parametrize("name", EXTRACTORS)
async def test_a_finished_group_is_released_while_another_goes_on(
    tmp_path: Path, name: str, depth: int
) -> None:
    in_memory: list[set[GroupId]] = []
    async with opened_store(tmp_path) as store, started(tmp_path, Reordered(), name=name) as begun:
        watching = WatchingExtractor(begun.extractor)
        run = replace(begun, extractor=watching)
        with no_collections():
            await asyncio.gather(
                run.ingest(store, turns(1, 2, SHORT), depth),
                run.ingest(
                    store,
                    turns(2, TURNS, LONG),
                    depth,
                    lambda _: in_memory.append(watching.in_memory()),
                ),
            )
            assert watching.in_memory() == set()
    assert {SHORT, LONG} in in_memory
    assert in_memory[-1] == {LONG}


@pytest.mark.full
@pytest.mark.parametrize("depth", [0, 4])
async def test_a_group_whose_run_stops_is_released(tmp_path: Path, depth: int) -> None:
    model = UnevenModel(stop_after=9)
    async with opened_store(tmp_path) as store, started(tmp_path, model) as begun:
        watching = WatchingExtractor(begun.extractor)
        run = replace(begun, extractor=watching)
        with pytest.raises(RunStopped):
            await run.ingest(store, turns(1, TURNS, LONG), depth)
        # The traceback of the error holds it, through cycles, as long as somebody has the error.
        gc.collect()
        assert watching.in_memory() == set()
