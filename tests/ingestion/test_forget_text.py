"""Where a text occurs, in all its spellings, and which turns left it in a graph."""

import json
from dataclasses import replace

import pytest

from tests.graph.sample_changes import NOW, PROFILE, TTL, history, receipt, turn_id
from turnetl.base.model import GroupId
from turnetl.graph.port import GraphStore
from turnetl.ingestion.forget import holds, spellings, turns_holding

CANARY = 'zoë "x"\\y'


@pytest.mark.parametrize("ensure_ascii", [True, False])
def test_a_text_is_found_in_json_and_in_decomposed_letters(ensure_ascii: bool) -> None:
    text = json.dumps({"a": f"so {CANARY}!"}, ensure_ascii=ensure_ascii)
    assert holds(text, spellings(CANARY))
    assert holds(["other", {"key": ('zoe\u0308 "x"\\y',)}], spellings(CANARY))
    assert not holds("zoe x", spellings(CANARY))


async def test_the_turns_that_left_a_text_in_entities_and_facts_are_found(
    store: GraphStore,
) -> None:
    first, second, third = history()
    group = GroupId(first.episode.turn.group_id)
    # The second turn writes the canary into a summary that the first one made.
    second = replace(
        second,
        entities=tuple(
            replace(entity, summary=f"{entity.summary} {CANARY}")
            if entity.uuid == second.entities_before[0].uuid
            else entity
            for entity in second.entities
        ),
    )
    lease = await store.acquire(
        group, PROFILE, owner="here:1", now=NOW, ttl=TTL, is_dead=lambda _: False
    )
    for change in (first, second, third):
        await store.commit(lease, change, receipt(change), now=NOW, ttl=TTL)
    contents = await store.load(group)
    records = await store.commit_records(group)
    assert turns_holding(contents, records, spellings(CANARY)) == (set(), {turn_id("p1")})
    own, left = turns_holding(contents, records, spellings("no longer rounds"))
    assert (own, left) == (set(), {turn_id("p2")})
    assert len(turns_holding(contents, records, [contents.texts[turn_id("p0")]])[0]) == 3
