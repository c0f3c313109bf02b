"""Every store returns the same hits, because every store loads the same group."""

import pytest

from tests.builders import GROUP, empty_group
from tests.graph.sample_changes import NOW, PROFILE, TTL, history, long_history, receipt
from tests.retrieval.searching import search_groups
from turnetl.base.graph_model import GroupContents
from turnetl.graph.port import GraphStore
from turnetl.llm.embedders.static_model import WordLlamaEmbedder


@pytest.mark.full
async def test_a_stored_group_has_the_hits_of_the_group_that_was_written(store: GraphStore) -> None:
    embedder = WordLlamaEmbedder()
    lease = await store.acquire(
        GROUP, PROFILE, owner="host:1", now=NOW, ttl=TTL, is_dead=lambda _: False
    )
    for change in history():
        await store.commit(lease, change, receipt(change), now=NOW, ttl=TTL)
    stored, written = await store.load(GROUP), in_memory()
    for query in ("total", "what was edited", "why does the checkout test fail", "cart.py"):
        hits = await search_groups([stored], query, embedder)
        assert hits == await search_groups([written], query, embedder)
        assert hits


async def test_a_turn_in_chunks_is_one_hit_for_a_term_of_any_chunk(
    store: GraphStore,
) -> None:
    embedder = WordLlamaEmbedder()
    lease = await store.acquire(
        GROUP, PROFILE, owner="host:1", now=NOW, ttl=TTL, is_dead=lambda _: False
    )
    for change in long_history():
        await store.commit(lease, change, receipt(change), now=NOW, ttl=TTL)
    second = long_history()[1].episode
    for word in ("alpha", "beta", "gamma"):
        hits = await search_groups([await store.load(GROUP)], word, embedder)
        assert [hit.turn_id for hit in hits].count(second.turn_id) == 1
        best = hits[0]
        assert (best.turn_id, best.archive, best.first_line) == (
            second.turn_id,
            second.turn.archive,
            second.turn.first_line,
        )
        assert best.passage.split()[-1] in {"alpha", "beta", "gamma"}
        assert word in best.passage


def in_memory() -> GroupContents:
    group = empty_group(PROFILE)
    for change in history():
        group.apply(change, receipt(change))
    return GroupContents(
        group_id=GROUP,
        profile=PROFILE,
        entities=tuple(group.entities),
        facts=tuple(group.facts),
        receipts=tuple(receipt(change) for change in history()),
        texts={change.episode.turn_id: change.episode.text for change in history()},
    )
