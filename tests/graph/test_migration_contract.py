"""The state of migrations, and turns that are kept in a shadow group: by both stores."""

from dataclasses import replace
from datetime import timedelta

import msgspec
import pytest

from tests.builders import GROUP
from tests.graph.committing import (
    acquire,
    commit_all,
    commit_history,
    fill,
    no_owner_is_dead,
    opened,
)
from tests.graph.graph_dump import dump_graph
from tests.graph.sample_changes import NOW, PROFILE, TTL, history, receipt
from tests.graph.test_run_contract import RUN
from turnetl.base.errors import GraphUnusable
from turnetl.base.ids import turns_group
from turnetl.graph.migrations import (
    LAYOUT,
    DropTurnsStep,
    MigrationPhase,
    TurnMigration,
    decoded,
    migration_row,
)
from turnetl.graph.port import GraphStore
from turnetl.graph.shadow_store import ShadowStore

MIGRATION = TurnMigration(
    migration_id="0a1b2c3d",
    group_id=GROUP,
    phase=MigrationPhase.RUNNING,
    moved=("e-1", "e-2"),
    staying=("e-3",),
    sessions=(("claude-code", "s-1"),),
    started_at=NOW,
    updated_at=NOW,
)


async def test_a_state_is_read_as_it_was_saved_and_is_replaced(store: GraphStore) -> None:
    lease = await acquire(store)
    later = replace(MIGRATION, migration_id="ffffffff", started_at=NOW + timedelta(hours=1))
    for state in (later, MIGRATION):
        await store.migrate([lease], None, state, now=NOW, ttl=TTL)
    assert list(await store.migrations()) == [MIGRATION, later]
    ready = replace(MIGRATION, phase=MigrationPhase.READY, turns=3)
    await store.migrate([lease], None, ready, now=NOW, ttl=TTL)
    assert list(await store.migrations()) == [ready, later]


async def test_dropped_turns_mark_their_run_as_undone_with_the_last_of_them(
    store: GraphStore,
) -> None:
    await store.save_run(RUN)
    lease = await acquire(store)
    for change in history():
        of_run = replace(receipt(change), run_id=RUN.run_id)
        assert await store.commit(lease, change, of_run, now=NOW, ttl=TTL)
    first, *others = sorted(await store.turn_ids(GROUP))
    for turns, undone_at in (((first,), None), (tuple(others), NOW)):
        step = DropTurnsStep(GROUP, turns, (RUN.run_id,), NOW)
        await store.migrate([lease], step, None, now=NOW, ttl=TTL)
        assert await store.runs() == [replace(RUN, undone_at=undone_at)]
    assert await store.turn_ids(GROUP) == frozenset()


async def test_a_state_is_saved_only_under_the_lease(store: GraphStore) -> None:
    lost = await acquire(store)
    await acquire(store, "host:2", now=NOW + 2 * TTL)
    with pytest.raises(GraphUnusable, match="lost the lease"):
        await store.migrate([lost], None, MIGRATION, now=NOW, ttl=TTL)
    assert list(await store.migrations()) == []


def test_of_a_state_with_another_layout_only_its_head_is_known() -> None:
    newer = msgspec.json.decode(migration_row(MIGRATION)["state"]) | {
        "layout": LAYOUT + 1,
        "moved": {"other": 1},
    }
    [read] = decoded([msgspec.json.encode(newer).decode()])
    assert (read.layout, read.group_id, read.phase) == (LAYOUT + 1, GROUP, MigrationPhase.RUNNING)
    assert read.moved == ()


async def test_turns_in_a_shadow_group_have_the_ids_of_the_group(
    graph_url: str, request: pytest.FixtureRequest
) -> None:
    await fill(graph_url, history())
    async with opened(graph_url) as ordinary:
        expected = await ordinary.load(GROUP)
    lines = await dump_graph(graph_url)
    async with opened(emptied(graph_url, request)) as store:
        shadow = ShadowStore(store, GROUP)
        await commit_all(shadow, history())
        assert list(await store.groups()) == [turns_group(GROUP)]
        assert await store.turn_ids(GROUP) == frozenset()
        assert {one.group_id for one in await store.receipts(turns_group(GROUP))} == {
            turns_group(GROUP)
        }
        contents = await shadow.load(GROUP)
    assert contents == expected
    hidden = await dump_graph(emptied_url(graph_url))
    assert sorted(line.replace(turns_group(GROUP), GROUP) for line in hidden) == lines


def emptied(url: str, request: pytest.FixtureRequest) -> str:
    """Empty the graph of a server; return the URL of an empty graph."""
    if not url.startswith("ladybug"):
        request.getfixturevalue("neo4j").clear()
    return emptied_url(url)


def emptied_url(url: str) -> str:
    return f"{url}.empty" if url.startswith("ladybug") else url


async def test_a_shadow_store_holds_one_group_only(store: GraphStore) -> None:
    await commit_history(store)
    shadow = ShadowStore(store, GROUP)
    assert list(await shadow.groups()) == []
    assert list(await shadow.receipts(GROUP)) == []
    lease = await shadow.acquire(
        GROUP, PROFILE, owner="host:2", now=NOW, ttl=TTL, is_dead=no_owner_is_dead
    )
    assert lease.group_id == GROUP
    await shadow.release(lease)
