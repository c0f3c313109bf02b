"""The candidate index has every entity and fact of its group, also after a refresh that failed."""

from dataclasses import replace

import pytest

from tests.builders import GROUP, START, empty_group
from turnetl.base.model import Entity, Fact
from turnetl.graph.mirror.overlay import CandidateIndex
from turnetl.llm.vectors import pack


def entity(uuid: str, *embedding: float) -> Entity:
    return Entity(uuid, GROUP, uuid, (), "", START, embedding=pack(embedding))


def fact(uuid: str, *embedding: float) -> Fact:
    return Fact(
        uuid=uuid,
        group_id=GROUP,
        source="cart",
        target="cart",
        relation="USES",
        text="The cart uses itself",
        turns=(),
        created_at=START,
        valid_at=START,
        embedding=pack(embedding),
    )


def test_the_next_refresh_indexes_what_a_failed_one_did_not() -> None:
    group = empty_group()
    cart, order = entity("cart", 1, 0), entity("order", 1, 0)
    first, second = fact("first", 1, 0), fact("second", 1, 0)
    bad = pack([1])
    group.put([cart, replace(order, embedding=bad)], [first, second])
    candidates = CandidateIndex(group)
    with pytest.raises(ValueError, match="dimensions"):
        candidates.refresh()
    group.put([order], [replace(second, embedding=bad)])
    with pytest.raises(ValueError, match="dimensions"):
        candidates.refresh()
    group.put([], [second])
    candidates.refresh()
    assert candidates.entities_near([[1, 0]], 9, 0) == [[cart, order]]
    assert candidates.facts_near([[1, 0]], 9, 0) == [[first, second]]
    assert candidates.facts_matching("cart", 9) == [first, second]
