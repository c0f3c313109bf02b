"""An index follows turns that were undone, also if they were committed again before it looked."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from tests.builders import GROUP
from tests.graph.committing import acquire, commit, commit_history
from tests.graph.reversals import revert
from tests.graph.sample_changes import NOW, change, entity, fact, history, turn_id
from tests.index.indexed_shop import EMBEDDER, open_index
from turnetl.base.model import Entity, Fact
from turnetl.graph.port import GraphStore
from turnetl.index.conditions import Selection
from turnetl.index.persistent import PersistentIndex
from turnetl.index.snapshot import turns_behind


@pytest.fixture
def index(tmp_path: Path) -> Iterator[PersistentIndex]:
    with closing(open_index(tmp_path / "index")) as opened:
        yield opened


def held_facts(index: PersistentIndex) -> dict[str, Fact]:
    """Return the facts of all indexed turns, by uuid."""
    keys = index.select(Selection()).tolist()
    facts = (indexed.fact for of_turn in index.facts(keys).values() for indexed in of_turn)
    return {fact.uuid: fact for fact in facts}


async def facts_of_graph(store: GraphStore) -> dict[str, Fact]:
    facts = (await store.load(GROUP)).facts
    return {fact.uuid: replace(fact, embedding=None) for fact in facts}


async def test_an_undone_turn_leaves_the_index_and_what_it_invalidated_is_valid_again(
    store: GraphStore, index: PersistentIndex
) -> None:
    lease = await commit_history(store)
    await index.catch_up(store, EMBEDDER, now=NOW)
    await revert(store, lease, history()[2])
    assert turns_behind(index.status(), await store.versions()) == 1
    await index.catch_up(store, EMBEDDER, now=NOW)
    assert turns_behind(index.status(), await store.versions()) == 0
    assert held_facts(index) == await facts_of_graph(store)
    assert all(fact.invalid_at is None for fact in held_facts(index).values())


async def test_a_turn_that_is_undone_and_committed_otherwise_is_held_as_it_is_now(
    store: GraphStore, index: PersistentIndex
) -> None:
    lease = await commit_history(store)
    await index.catch_up(store, EMBEDDER, now=NOW)
    _, second, third = history()
    old = third.facts[0]
    await revert(store, lease, third)
    new, total = entity("basket.py"), history()[0].entities[1]
    stated = fact(turn_id("p2"), new, total, "basket.py replaces the rounding")
    again = change("p2", [new], [stated], previous_turn=second.episode.turn_id, ordinal=2)
    assert await commit(store, lease, again)
    await index.catch_up(store, EMBEDDER, now=NOW)
    assert held_facts(index) == await facts_of_graph(store)
    assert index.lookup().fact(old.uuid) is None
    assert all(fact.invalid_at is None for fact in held_facts(index).values())


async def test_an_entity_that_only_the_undone_version_of_a_turn_made_leaves_the_index(
    store: GraphStore, index: PersistentIndex
) -> None:
    lease = await acquire(store)
    first, old, new = entity("a.py"), entity("old.py"), entity("new.py")
    assert await commit(store, lease, change("p0", [first]))

    def version(end: Entity) -> tuple[Entity, Fact]:
        return end, fact(turn_id("p1"), first, end, f"a.py imports {end.name}")

    changes = [change("p1", [end], [stated], ordinal=1) for end, stated in map(version, (old, new))]
    assert await commit(store, lease, changes[0])
    await index.catch_up(store, EMBEDDER, now=NOW)
    await revert(store, lease, changes[0])
    assert await commit(store, lease, changes[1])
    await index.catch_up(store, EMBEDDER, now=NOW)
    assert index.lookup().entity(old.uuid) is None
    assert index.lookup().entity(new.uuid) is not None
