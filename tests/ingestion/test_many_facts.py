"""An entity with 10,000 facts, as a graph holds it: what a turn about it asks for is bounded."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from tests.builders import GROUP, START
from tests.extraction.canned_model import CannedModel
from tests.graph import sample_changes
from tests.graph.committing import no_owner_is_dead
from tests.graph.sample_changes import NOW, TTL
from tests.ingestion.model_summaries import described, ingest, summaries, turn_about
from tests.servers.toy_embedder import ToyEmbedder
from turnetl.base.graph_model import GroupProfile
from turnetl.base.model import Change
from turnetl.graph.port import GraphStore
from turnetl.summaries.model_summariser import (
    MAX_CONNECTED,
    MAX_NEW,
    MAX_RECENT,
    MAX_REQUEST_CHARS,
    PROMPT,
)

COUNT = 10_000


async def many_facts() -> Change:
    """Return a turn that states facts about `cart.py`; half of them are about `part1`."""
    names = ["cart.py", *(f"part{number}" for number in range(50))]
    vectors = await ToyEmbedder().embed(names)
    cart, *parts = (
        sample_changes.entity(name, summary="", embedding=vector)
        for name, vector in zip(names, vectors, strict=True)
    )
    change = sample_changes.change("many", [cart, *parts])
    facts = []
    for number in range(COUNT):
        place = 1 if number % 2 else number % len(parts)
        text = f"cart.py uses {parts[place].name} in version {number:05}"
        fact = sample_changes.fact(change.episode.turn_id, cart, parts[place], text)
        at = START + timedelta(seconds=number)
        facts.append(replace(fact, valid_at=at, embedding=vectors[place + 1]))
    return replace(change, facts=tuple(facts))


@pytest.mark.full
async def test_a_turn_about_an_entity_with_ten_thousand_facts_sends_a_bounded_request(
    store: GraphStore, tmp_path: Path
) -> None:
    profile = GroupProfile(ToyEmbedder.name, ToyEmbedder.dimensions, "recipe-1")
    lease = await store.acquire(
        GROUP, profile, owner="host:1", now=NOW, ttl=TTL, is_dead=no_owner_is_dead
    )
    change = await many_facts()
    receipt = replace(sample_changes.receipt(change), extractor="llm")
    assert await store.commit(lease, change, receipt, now=NOW, ttl=TTL)
    await store.release(lease)
    model = CannedModel()
    done = await ingest(store, tmp_path, [turn_about(1, "`cart.py` uses `sqlite`.")], model)
    assert (done.committed, done.quarantined) == (1, 0)
    contents = await store.load(GROUP)
    [cart] = [one for one in contents.entities if one.name == "cart.py"]
    assert sum(cart.uuid in (one.source, one.target) for one in contents.facts) == COUNT + 1
    requests = model.prompts(PROMPT)
    assert all(one.characters < MAX_REQUEST_CHARS + 4_000 for one in requests)
    [shown] = [one for each in requests for one in described(each) if one.startswith("cart.py")]
    assert 0 < shown.count("\n- ") <= MAX_NEW + MAX_RECENT + MAX_CONNECTED
    assert "uses sqlite" in shown
    # The latest ones, and of the others those about the entity of most facts.
    latest = [f"version {COUNT - number:05}" for number in range(1, MAX_RECENT + 1)]
    assert all(version in shown for version in latest)
    assert shown.count("uses part1 ") >= MAX_CONNECTED
    assert summaries(contents)["cart.py"].startswith("cart.py (")
