"""The graph is compared with the lake and the search index, also while another process commits."""

from dataclasses import replace

import polars as pl

from tests.builders import GROUP
from tests.graph.committing import acquire, commit
from tests.graph.sample_changes import change, entity, history, turn_id
from tests.verification.verifying import LAKE, found, verify_store
from turnetl.base.graph_model import GroupVersion
from turnetl.graph.port import GraphStore
from turnetl.verification.check import Check
from turnetl.verification.group_state import GroupState
from turnetl.verification.verify import IndexedTurns, verify_group
from turnetl.verification.verify_report import GroupVerification


async def fill_store(store: GraphStore) -> None:
    lease = await acquire(store)
    for each in history():
        await commit(store, lease, each)


async def index_of(store: GraphStore, *turns: str, sequence: int = 3) -> IndexedTurns:
    creation = (await store.versions())[GROUP].creation_id
    return IndexedTurns(sequence, creation, [turn_id(native) for native in turns])


async def test_the_lake_may_hold_other_turns_and_other_contents(store: GraphStore) -> None:
    await fill_store(store)
    state = GroupState(GROUP, await store.tables(GROUP), None)
    hashes = dict(state.commits.select("turn_id", "content_hash").iter_rows())
    rows = [
        (turn_id("p0"), hashes[turn_id("p0")], None),
        (turn_id("p1"), "edited since", None),
        (turn_id("new"), "new", None),
        (turn_id("noise"), "noise", "a rule"),
    ]
    verification = await verify_store(store, pl.DataFrame(rows, schema=LAKE, orient="row"))
    assert found(verification) == {Check.PENDING: 1, Check.NOT_IN_LAKE: 1, Check.STALE: 1}
    examples = {finding.check: finding.examples for finding in verification.findings}
    assert examples[Check.PENDING] == (f"turn {turn_id('new')}",)
    assert examples[Check.NOT_IN_LAKE] == (f"turn {turn_id('p2')}",)
    assert examples[Check.STALE] == (f"turn {turn_id('p1')}",)
    assert verification.wrong == 0


async def test_an_index_that_follows_the_graph_has_no_findings(store: GraphStore) -> None:
    await fill_store(store)
    indexed = await index_of(store, "p0", "p1", "p2")
    assert found(await verify_store(store, indexed=indexed)) == {}


async def test_turns_that_the_index_lacks_or_holds_too_much_are_found(store: GraphStore) -> None:
    await fill_store(store)
    indexed = await index_of(store, "p0", "p2", "gone")
    verification = await verify_store(store, indexed=indexed)
    assert found(verification) == {Check.INDEX_MISSING: 1, Check.INDEX_SURPLUS: 1}
    assert verification.index_is_wrong


async def test_turns_that_the_index_has_not_read_yet_are_not_wrong(store: GraphStore) -> None:
    await fill_store(store)
    verification = await verify_store(store, indexed=await index_of(store, "p0", sequence=1))
    assert (found(verification), verification.wrong) == ({Check.INDEX_BEHIND: 2}, 0)
    of_an_earlier_group = IndexedTurns(7, "another", [turn_id("gone")])
    verification = await verify_store(store, indexed=of_an_earlier_group)
    assert (found(verification), verification.wrong) == ({Check.INDEX_BEHIND: 3}, 0)


async def test_an_index_that_has_read_more_commits_than_there_are_is_wrong(
    store: GraphStore,
) -> None:
    await fill_store(store)
    indexed = await index_of(store, "p0", "p1", "p2", sequence=9)
    found_in_index = found(await verify_store(store, indexed=indexed))
    assert found_in_index == {Check.INDEX_SEQUENCE: 1, Check.INDEX_BEHIND: 3}


async def verified_while(store: GraphStore, first: int) -> GroupVerification:
    """Read the receipts after some turns of `history`, and all else after the other turns."""
    lease = await acquire(store)
    for each in history()[:first]:
        await commit(store, lease, each)
    before = (await store.tables(GROUP)).commits
    for each in history()[first:]:
        await commit(store, lease, each)
    tables = replace(await store.tables(GROUP), commits=before)
    return verify_group(
        GroupState(GROUP, tables, 8), None, None, GroupVersion(first, first), examples=5
    )


async def test_a_commit_during_the_read_is_counted_and_is_no_finding(store: GraphStore) -> None:
    verification = await verified_while(store, 1)
    assert (found(verification), verification.repairs) == ({}, ())
    assert verification.committed_meanwhile == 2


async def test_a_commit_between_two_tables_is_no_finding(store: GraphStore) -> None:
    lease = await acquire(store)
    await commit(store, lease, history()[0])
    before = await store.tables(GROUP)
    for each in history()[1:]:
        await commit(store, lease, each)
    await commit(store, lease, change("q0", [entity("q.py")], previous_turn=turn_id("p2")))
    after = await store.tables(GROUP)
    order = ("commits", "entities", "facts", "mentions", "episodes", "sagas", "saga_links")
    for number in range(1, len(order) + 1):
        early = {name: getattr(before, name) for name in order[:number]}
        state = GroupState(GROUP, replace(after, **early), 8)
        verification = verify_group(state, None, None, None, examples=5)
        assert found(verification) == {}, order[:number]
        assert verification.committed_meanwhile == 3
