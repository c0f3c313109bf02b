"""The contract of FactsOfGroup: facts that are applied, and facts of turns ahead."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import START
from tests.graph.sample_changes import entity, fact, turn_id, vector
from turnetl.base.model import Fact
from turnetl.summaries.group_facts import FactsAhead, FactsOfGroup, GroupFacts

ENTITIES = [entity(name) for name in ("cart.py", "tax.py", "invoice.py")]
NUMBERS = range(len(ENTITIES))


def _fact(number: int, source: int, target: int, *, ended: bool) -> Fact:
    text = f"{ENTITIES[source].name} uses {ENTITIES[target].name} {number % 3}"
    return replace(
        fact(turn_id("p0"), ENTITIES[source], ENTITIES[target], text),
        uuid=f"f{number}",
        created_at=START + timedelta(seconds=number),
        invalid_at=START if ended else None,
        embedding=vector(text),
    )


FACTS = st.lists(
    st.builds(
        _fact,
        st.integers(0, 7),
        st.sampled_from(NUMBERS),
        st.sampled_from(NUMBERS),
        ended=st.booleans(),
    ),
    max_size=12,
)


def applied(before: Sequence[Fact], later: Sequence[Fact]) -> FactsOfGroup:
    facts = GroupFacts(before, "toy")
    for one in later:
        facts.put(one)
    return facts


def ahead(before: Sequence[Fact], later: Sequence[Fact]) -> FactsOfGroup:
    facts = FactsAhead(GroupFacts(before, "toy"))
    for one in later:
        facts.put(one)
    return facts


def ahead_of_committed(before: Sequence[Fact], later: Sequence[Fact]) -> FactsOfGroup:
    """Facts ahead of which the first ones are committed meanwhile."""
    base = GroupFacts(before, "toy")
    facts = FactsAhead(base)
    for one in later:
        facts.put(one)
    for one in {one.uuid: one for one in later}.values():
        base.put(one)
    return facts


def state(facts: FactsOfGroup, changed: Sequence[Fact]) -> list[object]:
    """Return all that can be read, with changes that are not applied."""
    uuids = [one.uuid for one in ENTITIES]
    degrees = facts.degrees(changed, facts.degree_changes(changed))
    return [
        [facts.active_about(uuid, changed) for uuid in uuids],
        [facts.ended_about(uuid, None, changed) for uuid in uuids],
        [facts.ended_about(uuid, ["f5", "f1", "f0"], changed) for uuid in uuids],
        degrees,
        [facts.active_after(uuid, changed) for uuid in uuids],
        [
            {found.uuid for found in facts.active_between(one, other)}
            for one in uuids
            for other in uuids
        ],
    ]


@pytest.mark.parametrize("make", [ahead, ahead_of_committed])
@given(FACTS, FACTS, FACTS)
def test_facts_of_turns_ahead_are_read_as_if_they_were_applied(
    make: Callable[[Sequence[Fact], Sequence[Fact]], FactsOfGroup],
    before: list[Fact],
    later: list[Fact],
    changed: list[Fact],
) -> None:
    changes = [*{one.uuid: one for one in changed}.values()]
    assert state(make(before, later), changes) == state(applied(before, later), changes)
