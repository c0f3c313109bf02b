"""Undo of turns of a group, on both stores."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.builders import GROUP, START, episode
from tests.graph.committing import acquire, commit
from tests.graph.sample_changes import PROFILE, change, entity, receipt, turn_id, vector
from tests.graph.statements import run_statement
from tests.ingestion.fakes import PromptExtractor
from tests.ingestion.undo_runs import LEASE, NOW, ingest_run, plan, undo
from turnetl.base.errors import GraphBusy, GraphUnusable
from turnetl.base.graph_model import GroupContents, GroupProfile
from turnetl.base.model import Episode, Vector
from turnetl.graph.open import open_graph
from turnetl.graph.port import GraphStore
from turnetl.ingestion.undo import UndoProgress, diff_undo
from turnetl.ingestion.undo_plan import UndoSelection

FIRST, SECOND, THIRD = (UndoSelection(run=f"run-{number}") for number in (1, 2, 3))


def turns(first: int, *prompts: str) -> list[Episode]:
    return [
        episode(
            f"p{number}",
            ordinal=number,
            user_text=prompt,
            started_at=START + timedelta(minutes=number),
        )
        for number, prompt in enumerate(prompts, start=first)
    ]


async def ingest_three_runs(store: GraphStore, lake: Path) -> list[GroupContents]:
    """Ingest three runs of two turns; return the group after each. All mention one file."""
    states = []
    for run in (1, 2, 3):
        prompts = (f"change {run}a", f"change {run}b")
        await ingest_run(store, turns(2 * run, *prompts), lake, PromptExtractor(), f"run-{run}")
        states.append(await store.load(GROUP))
    return states


async def test_the_latest_run_can_be_undone_and_then_the_one_before(
    store: GraphStore, tmp_path: Path
) -> None:
    states = await ingest_three_runs(store, tmp_path)
    for selection, before in ((THIRD, states[1]), (SECOND, states[0])):
        done: list[UndoProgress] = []
        await undo(store, await plan(store, GROUP, selection), progress=done.append)
        assert [progress.undone for progress in done] == [1, 2]
        assert await store.load(GROUP) == before


async def test_a_run_that_later_turns_built_on_is_not_undone_alone(
    store: GraphStore, tmp_path: Path
) -> None:
    states = await ingest_three_runs(store, tmp_path)
    refused = await plan(store, GROUP, FIRST)
    assert refused.is_refused
    assert [receipt.run_id for receipt in refused.dependents] == ["run-3"] * 2 + ["run-2"] * 2
    with pytest.raises(GraphUnusable, match="build on those to undo"):
        await undo(store, refused)
    assert await store.load(GROUP) == states[2]


async def test_cascade_undoes_the_turns_that_built_on_it_too(
    store: GraphStore, tmp_path: Path
) -> None:
    await ingest_three_runs(store, tmp_path)
    done = await undo(store, await plan(store, GROUP, FIRST, cascade=True))
    assert done == UndoProgress(undone=6)
    assert await store.counts(GROUP) == (0, 0, 0)
    assert await store.groups() == []


async def test_the_group_gets_the_recipe_of_the_newest_turn_that_stays(store: GraphStore) -> None:
    for number, recipe in enumerate(("earlier", "later")):
        profile, now = replace(PROFILE, recipe=recipe), NOW + timedelta(minutes=number)
        lease = await store.acquire(
            GROUP, profile, owner="here:1", now=now, ttl=LEASE, is_dead=lambda _: False
        )
        made = change(f"p{number}", [entity(f"file{number}.py")], [], group_id=GROUP)
        of_turn = receipt(made, recipe=recipe, committed_at=now, run_id=f"run-{number + 1}")
        assert await store.commit(lease, made, of_turn, now=now, ttl=LEASE)
        await store.release(lease)
    for selection in (SECOND, FIRST):
        await undo(store, await plan(store, GROUP, selection))
        assert await store.profile(GROUP) == replace(PROFILE, recipe="earlier")


async def test_a_middle_run_that_nothing_built_on_is_undone_alone(
    store: GraphStore, tmp_path: Path
) -> None:
    states = await ingest_three_runs(store, tmp_path)
    await undo(store, await plan(store, GROUP, SECOND))
    left = await store.load(GROUP)
    assert {receipt.run_id for receipt in left.receipts} == {"run-1", "run-3"}
    assert {entity.name for entity in states[2].entities} - {
        entity.name for entity in left.entities
    } == {"change 2a", "change 2b"}
    await ingest_run(
        store, turns(4, "change 2a", "change 2b"), tmp_path, PromptExtractor(), "run-2"
    )
    assert await store.load(GROUP) == states[2]


async def test_an_undo_that_was_done_already_changes_nothing(
    store: GraphStore, tmp_path: Path
) -> None:
    await ingest_three_runs(store, tmp_path)
    planned = await plan(store, GROUP, THIRD)
    await undo(store, planned)
    before = await store.load(GROUP)
    assert await undo(store, planned) == UndoProgress(already_undone=2)
    assert await store.load(GROUP) == before


async def test_an_undo_that_stops_between_two_turns_is_continued_by_the_next(
    store: GraphStore, tmp_path: Path
) -> None:
    states = await ingest_three_runs(store, tmp_path)
    planned = await plan(store, GROUP, THIRD)

    def stop(_: UndoProgress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await undo(store, planned, progress=stop)
    assert len((await store.load(GROUP)).receipts) == 5
    assert await undo(store, planned) == UndoProgress(undone=1, already_undone=1)
    assert await store.load(GROUP) == states[1]


async def test_a_group_that_another_run_writes_is_left_alone(
    store: GraphStore, tmp_path: Path
) -> None:
    states = await ingest_three_runs(store, tmp_path)
    profile = states[2].profile
    assert profile is not None
    await store.acquire(
        GROUP, profile, owner="other:7", now=NOW, ttl=LEASE, is_dead=lambda _: False
    )
    with pytest.raises(GraphBusy, match="`other:7`"):
        await undo(store, await plan(store, GROUP, THIRD))
    assert await store.load(GROUP) == states[2]


async def test_turns_that_are_committed_after_the_plan_and_build_on_it_stop_the_undo(
    store: GraphStore, tmp_path: Path
) -> None:
    await ingest_run(store, turns(2, "change a"), tmp_path, PromptExtractor(), "run-1")
    planned = await plan(store, GROUP, FIRST)
    await ingest_run(store, turns(3, "change b"), tmp_path, PromptExtractor(), "run-2")
    before = await store.load(GROUP)
    with pytest.raises(GraphUnusable, match="committed meanwhile"):
        await undo(store, planned)
    assert await store.load(GROUP) == before


async def test_an_undo_whose_answers_are_lost_is_repeated_and_counts_each_turn_once(
    store: GraphStore, tmp_path: Path
) -> None:
    states = await ingest_three_runs(store, tmp_path)
    planned = await plan(store, GROUP, THIRD)
    assert await undo(LosingAnswers(store), planned) == UndoProgress(undone=2)
    assert await store.load(GROUP) == states[1]


class LosingAnswers:
    """A store that undoes every turn and says that the graph did not respond."""

    def __init__(self, store: GraphStore) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def revert(self, *arguments: Any, **named: Any) -> Any:
        if await self._store.revert(*arguments, **named) is not None:
            raise GraphBusy("the connection broke")


async def test_the_diff_says_what_the_undo_then_does(store: GraphStore, tmp_path: Path) -> None:
    states = await ingest_three_runs(store, tmp_path)
    planned = await plan(store, GROUP, THIRD)
    diff = await diff_undo(store, planned)
    assert await store.load(GROUP) == states[2]
    await undo(store, planned)
    left = await store.load(GROUP)
    gone = {entity.uuid for entity in states[2].entities} - {e.uuid for e in left.entities}
    assert {entity.uuid for entity in diff.entities_removed} == gone
    gone = {fact.uuid for fact in states[2].facts} - {fact.uuid for fact in left.facts}
    assert {fact.uuid for fact in diff.facts_removed} == gone
    assert (diff.entities_restored, diff.facts_restored) == ((), ())


async def test_a_name_that_is_restored_is_embedded_again(store: GraphStore) -> None:
    lease = await acquire(store)
    cart = entity("cart.py")
    renamed = replace(cart, name="basket.py", embedding=vector("basket.py"))
    await commit(store, lease, change("p0", [cart]))
    await commit(store, lease, change("p1", [renamed], entities_before=(cart,), mentions=()))
    await store.release(lease)

    async def embed(profile: GroupProfile, texts: Sequence[str]) -> list[Vector]:
        assert profile == PROFILE
        return [vector(text) for text in texts]

    planned = await plan(store, GROUP, UndoSelection(turn=turn_id("p1")))
    await undo(store, planned, embed=embed)
    assert (await store.load(GROUP)).entities == (cart,)


FOREIGN = """
CREATE (:Episodic {uuid: 'foreign', group_id: 'shop', name: 'by another program'})
"""
STATED_BY_FOREIGN = {
    "ladybug": "MATCH (f:RelatesToNode_ {fact: 'change a'}) "
    "SET f.episodes = list_append(f.episodes, 'foreign')",
    "neo4j": "MATCH ()-[f:RELATES_TO {fact: 'change a'}]->() "
    "SET f.episodes = f.episodes + 'foreign'",
}


async def test_a_fact_that_another_program_states_too_stays_with_its_entities(
    graph_url: str, tmp_path: Path
) -> None:
    store = await opened(graph_url)
    await ingest_run(store, turns(2, "change a", "change b"), tmp_path, PromptExtractor(), "run-1")
    await store.close()
    await run_statement(graph_url, FOREIGN)
    kind = "ladybug" if graph_url.startswith("ladybug") else "neo4j"
    await run_statement(graph_url, STATED_BY_FOREIGN[kind])
    store = await opened(graph_url)
    done = await undo(store, await plan(store, GROUP, FIRST))
    left = await store.load(GROUP)
    await store.close()
    assert [(fact.text, fact.turns) for fact in left.facts] == [("change a", ("foreign",))]
    assert {entity.name for entity in left.entities} == {"a.py", "change a"}
    assert set(done.entities_kept) == {entity.uuid for entity in left.entities}


async def opened(url: str) -> GraphStore:
    store = await open_graph(url, user="", password="", write=True)
    await store.prepare()
    return store
