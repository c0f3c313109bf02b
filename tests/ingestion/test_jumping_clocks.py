"""A clock that jumps by a day or a year decides neither what is committed nor who may write."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import cycle
from pathlib import Path

import pytest

from tests.builders import GROUP, START, episode
from tests.graph.committing import acquire
from tests.graph.sample_changes import NOW, PROFILE, TTL, history, receipt
from tests.ingestion.fakes import PromptExtractor
from tests.servers.toy_embedder import ToyEmbedder
from turnetl.base.errors import GraphBusy, GraphUnusable
from turnetl.base.graph_model import LONGEST_LEASE, Lease
from turnetl.base.model import Change, Entity, Episode, Fact
from turnetl.graph.open import open_graph
from turnetl.graph.port import GraphStore
from turnetl.ingestion.ingest_run import IngestProgress, IngestRun
from turnetl.ingestion.quarantine import Quarantine
from turnetl.ingestion.turn_pipeline import TurnPipeline
from turnetl.lake import LocalFiles

DAY, YEAR = timedelta(days=1), timedelta(days=365)
TURNS = [
    episode(f"s1-{number}", ordinal=number, user_text=prompt, started_at=START + number * TTL)
    for number, prompt in enumerate("abcde")
]


def jumping() -> Callable[[], datetime]:
    """Return a clock that is right, a year ahead, and a day behind, in turn."""
    offsets = cycle([timedelta(0), YEAR, -DAY])
    return lambda: NOW + next(offsets)


async def ingest(
    store: GraphStore,
    turns: Sequence[Episode],
    lake: Path,
    clock: Callable[[], datetime],
    *,
    owner: str = "here:1",
) -> IngestProgress:
    run = IngestRun("run-1", owner, clock, TTL, prefetch=2)
    pipeline = TurnPipeline(
        store, PromptExtractor(), ToyEmbedder(), Quarantine(LocalFiles(lake), GROUP), run
    )
    return await pipeline.ingest(GROUP, turns, {turn.turn_id: () for turn in turns}, lambda _: None)


async def contents(store: GraphStore) -> tuple[list[Entity], list[Fact]]:
    """Return what a group holds, without the time of its creation, by uuid."""
    loaded = await store.load(GROUP)
    entities = [replace(entity, created_at=NOW) for entity in loaded.entities]
    facts = [replace(fact, created_at=NOW) for fact in loaded.facts]
    return sorted(entities, key=lambda one: one.uuid), sorted(facts, key=lambda one: one.uuid)


async def commit(store: GraphStore, lease: Lease, change: Change, now: datetime) -> bool:
    return await store.commit(lease, change, receipt(change), now=now, ttl=TTL)


async def test_every_turn_is_committed_once_and_numbered_in_the_order_of_the_commits(
    store: GraphStore, tmp_path: Path
) -> None:
    assert (await ingest(store, TURNS[:3], tmp_path, jumping())).committed == 3
    clock = jumping()
    clock()  # The second run begins a year ahead, its first commit is a day behind.
    assert await ingest(store, TURNS, tmp_path, clock) == IngestProgress(2, 0, already_committed=3)
    commits = await store.commits(GROUP, 0, 10)
    assert [one.receipt.turn_id for one in commits] == [turn.turn_id for turn in TURNS]
    assert [one.sequence for one in commits] == [1, 2, 3, 4, 5]
    after = await store.commits(GROUP, 3, 10)
    assert [one.receipt.turn_id for one in after] == [turn.turn_id for turn in TURNS[3:]]
    other = await open_graph(f"ladybug://{tmp_path / 'other.lbug'}", user="", password="")
    await other.prepare()
    await ingest(other, TURNS, tmp_path, lambda: NOW)
    assert await contents(store) == await contents(other)
    await other.close()


async def test_a_run_whose_clock_was_a_year_ahead_leaves_no_lease(
    store: GraphStore, tmp_path: Path
) -> None:
    await ingest(store, TURNS[:1], tmp_path, lambda: NOW + YEAR)
    again = await ingest(store, TURNS[:2], tmp_path, lambda: NOW, owner="elsewhere:2")
    assert (again.committed, again.already_committed) == (1, 1)


async def test_a_lease_that_ends_later_than_any_lease_can_counts_as_expired(
    store: GraphStore,
) -> None:
    """Only a clock that was ahead can have written it."""
    first, second, _ = history()
    ahead = await acquire(store, "host:1", now=NOW + YEAR)
    assert await commit(store, ahead, first, NOW + YEAR)
    lease = await acquire(store, "host:2")
    with pytest.raises(GraphUnusable, match=r"`host:2` took it over"):
        await commit(store, ahead, second, NOW + YEAR)
    assert await commit(store, lease, second, NOW)


async def test_the_longest_lease_is_respected(store: GraphStore) -> None:
    await store.acquire(
        GROUP, PROFILE, owner="host:1", now=NOW, ttl=LONGEST_LEASE, is_dead=lambda _: False
    )
    with pytest.raises(GraphBusy, match=r"`host:1` until 2026-04-01 13:00"):
        await acquire(store, "host:2")


async def test_a_writer_whose_clock_goes_back_may_lose_the_group_but_writes_nothing_after(
    store: GraphStore,
) -> None:
    first, second, _ = history()
    behind = await acquire(store, "host:1")
    assert await commit(store, behind, first, NOW - DAY)
    lease = await acquire(store, "host:2")
    with pytest.raises(GraphUnusable, match=r"`host:2` took it over"):
        await commit(store, behind, second, NOW - DAY)
    assert await store.counts(GROUP) == (1, 2, 1)
    assert await commit(store, lease, second, NOW)
    assert (await store.versions())[GROUP].sequence == 2
