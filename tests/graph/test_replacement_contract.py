"""The contract of replacing a committed turn: the same for the embedded graph and for a server."""

import asyncio
import re
import signal
import sys
from dataclasses import replace as with_fields
from datetime import timedelta

import pytest

from tests.builders import GROUP
from tests.graph.committing import acquire, commit, commit_history
from tests.graph.crash_program import crashing_store
from tests.graph.crashes import Countdown, Crash, fail
from tests.graph.graph_dump import dump_graph
from tests.graph.replacements import latest_extracted_otherwise, replace
from tests.graph.reversals import reversal_of, revert
from tests.graph.sample_changes import (
    NOW,
    PROFILE,
    TTL,
    change,
    entity,
    history,
    receipt,
    split_into_chunks,
    turn_id,
)
from tests.graph.statements import run_statement
from turnetl.errors import GraphBusy, GraphUnusable
from turnetl.graph.open import open_graph
from turnetl.graph.port import GraphStore
from turnetl.graph_model import Lease, Reverted
from turnetl.model import SessionId


async def opened(url: str) -> GraphStore:
    store = await open_graph(url, user="", password="", write=True)
    await store.prepare()
    return store


async def committed(url: str) -> None:
    store = await opened(url)
    await commit_history(store)
    await store.close()


async def dump(url: str) -> list[str]:
    """Return the content of the graph without the numbers of the commits."""
    return [re.sub(r'"sequence":\d+', "", line) for line in await dump_graph(url)]


async def test_a_replaced_turn_is_as_if_it_had_been_committed_so_at_once(graph_url: str) -> None:
    old, new = history()[-1], latest_extracted_otherwise()
    store = await opened(graph_url)
    lease = await acquire(store)
    for each in (*history()[:-1], new):
        assert await commit(store, lease, each)
    await store.close()
    expected = await dump(graph_url)
    store = await opened(graph_url)
    lease = await acquire(store)
    await revert(store, lease, new)
    await commit(store, lease, old)
    assert await replace(store, lease, old, new) == Reverted(())
    await store.close()
    assert await dump(graph_url) == expected


async def test_replacing_a_turn_between_others_and_back_again_changes_nothing(
    graph_url: str,
) -> None:
    await committed(graph_url)
    before = await dump(graph_url)
    middle = with_fields(history()[1], next_turn=turn_id("p2"))
    in_chunks = split_into_chunks(middle, "user: one", "two", "three")
    store = await opened(graph_url)
    lease = await acquire(store)
    assert await replace(store, lease, middle, in_chunks) == Reverted(())
    await store.close()
    assert await dump(graph_url) != before
    store = await opened(graph_url)
    lease = await acquire(store)
    again = await replace(store, lease, in_chunks, middle, old_run="run-2", new_run="run-3")
    assert again == Reverted(())
    await store.close()
    assert await dump(graph_url) == before


async def test_the_only_turn_of_a_session_keeps_what_others_wrote_about_the_session(
    graph_url: str,
) -> None:
    alone = change("r0", [entity("r.py")], session_id=SessionId("s2"))
    store = await opened(graph_url)
    await commit(store, await acquire(store), alone)
    await store.close()
    await run_statement(graph_url, "MATCH (s:Saga) SET s.summary = 'by another program'")
    before = await dump(graph_url)
    store = await opened(graph_url)
    assert await replace(store, await acquire(store), alone, alone) == Reverted(())
    await store.close()
    assert await dump(graph_url) == before


async def test_a_replaced_turn_has_the_next_number_and_the_new_receipt(store: GraphStore) -> None:
    lease = await commit_history(store)
    new = latest_extracted_otherwise()
    await replace(store, lease, history()[-1], new)
    version = (await store.versions())[GROUP]
    assert (version.sequence, version.turns) == (4, 3)
    records = await store.commit_records(GROUP)
    assert [record.sequence for record in records] == [1, 2, 4]
    assert records[-1].receipt == receipt(new, run_id="run-2")
    (read_again,) = await store.commits(GROUP, 3, 10)
    assert read_again.receipt.turn_id == new.episode.turn_id


async def test_a_repeated_replacement_changes_nothing(store: GraphStore) -> None:
    lease = await commit_history(store)
    old, new = history()[-1], latest_extracted_otherwise()
    await replace(store, lease, old, new)
    before, versions = await store.load(GROUP), await store.versions()
    assert await replace(store, lease, old, new) is None
    assert (await store.load(GROUP), await store.versions()) == (before, versions)


async def test_a_turn_that_is_not_committed_is_not_replaced(store: GraphStore) -> None:
    lease = await commit_history(store)
    last = history()[-1]
    await revert(store, lease, last)
    before = await store.load(GROUP)
    assert await replace(store, lease, last, last) is None
    assert await store.load(GROUP) == before


async def test_a_writer_that_lost_the_group_replaces_nothing(store: GraphStore) -> None:
    old_lease = await commit_history(store)
    before = await store.load(GROUP)
    await acquire(store, "host:2", now=NOW + TTL)
    with pytest.raises(GraphUnusable, match=r"`host:2` took it over"):
        await replace(store, old_lease, history()[-1], latest_extracted_otherwise())
    assert await store.load(GROUP) == before


async def test_replacing_a_turn_extends_the_lease(store: GraphStore) -> None:
    lease = await commit_history(store)
    last = history()[-1]
    new_receipt = receipt(last, run_id="run-2")
    later = NOW + timedelta(minutes=1)
    await store.replace(lease, reversal_of(last), last, new_receipt, now=later, ttl=TTL)
    with pytest.raises(GraphBusy, match=r"until 2026-04-01 12:03"):
        await acquire(store, "host:2", now=NOW + TTL)


async def test_a_replacement_that_refers_to_something_missing_changes_nothing(
    store: GraphStore,
) -> None:
    lease = await commit_history(store)
    before, versions = await store.load(GROUP), await store.versions()
    broken = with_fields(latest_extracted_otherwise(), mentions=("nobody wrote this",))
    with pytest.raises(GraphUnusable, match="does not hold an entity, fact or episode"):
        await replace(store, lease, history()[-1], broken)
    assert (await store.load(GROUP), await store.versions()) == (before, versions)


async def test_an_error_at_any_statement_leaves_the_turn_as_it_was(graph_url: str) -> None:
    store = await opened(graph_url)
    lease = await commit_history(store)
    await store.close()
    before = await dump(graph_url)
    statement = 1
    while not await _survives(graph_url, statement, lease):
        assert await dump(graph_url) == before
        statement += 1
    assert statement > 12
    assert await dump(graph_url) != before


async def _survives(url: str, statement: int, lease: Lease) -> bool:
    """Return whether the replacement completes before its nth statement."""
    store = crashing_store(url, Countdown(statement, fail))
    old, new = history()[-1], latest_extracted_otherwise()
    try:
        return await replace(store, lease, old, new) is not None
    except Crash:
        return False
    finally:
        await store.close()


@pytest.mark.parametrize("statement", [3, 9, 15])
async def test_a_killed_process_leaves_the_turn_as_it_was_and_the_next_replaces_it(
    graph_url: str, statement: int
) -> None:
    await committed(graph_url)
    before = await dump(graph_url)
    await _kill(graph_url, statement)
    assert await dump(graph_url) == before
    store = await opened(graph_url)
    lease = await store.acquire(
        GROUP, PROFILE, owner="host:2", now=NOW, ttl=TTL, is_dead=lambda _: True
    )
    replaced = await replace(store, lease, history()[-1], latest_extracted_otherwise())
    assert replaced == Reverted(())
    await store.close()


async def _kill(url: str, statement: int) -> None:
    program = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.graph.replacement_program", url, str(statement)
    )
    assert await program.wait() == -signal.SIGKILL
