"""The contract of the GroupView port: a group in memory and every overlay of it."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise

import pytest

from tests.builders import GROUP, START
from tests.graph.sample_changes import entity, fact, turn_id
from turnetl.base.graph_model import GroupContents
from turnetl.base.model import Entity, Fact
from turnetl.graph.mirror.group import GroupView, MirrorGroup
from turnetl.graph.mirror.overlay import Overlay

FILES = [entity(f"file_{number}.py") for number in range(4)]
SAME_NAME = [entity("cart.py", label="File"), entity("cart.py", label="Class")]
ENTITIES = [*FILES[:2], SAME_NAME[0], *FILES[2:], SAME_NAME[1]]
FACTS = [
    fact(turn_id("p0"), one, other, f"{one.name} uses {other.name}")
    for one, other in pairwise(FILES)
]
"""Both in order of creation."""
OLD_FACT = replace(FACTS[0], invalid_at=None, text="as it was before")
OLD_ENTITY = replace(FILES[0], summary="as it was before")


def group(entities: Sequence[Entity], facts: Sequence[Fact]) -> MirrorGroup:
    return MirrorGroup(GroupContents(GROUP, None, tuple(entities), tuple(facts), (), {}))


def grown() -> GroupView:
    """A group that is read in part and grows by a commit."""
    read = group([OLD_ENTITY, *ENTITIES[1:3]], [OLD_FACT])
    read.put([FILES[0], *ENTITIES[3:]], FACTS)
    return read


def overlay(base: GroupView, entities: Sequence[Entity], facts: Sequence[Fact]) -> Overlay:
    """An overlay to which the chunks of a turn add one value each."""
    added = Overlay(base)
    for new_entity in entities:
        added.add([new_entity], [])
    for other in facts:
        added.add([], [other])
    return added


def over_an_older_group() -> GroupView:
    base = group([OLD_ENTITY, *ENTITIES[1:3]], [OLD_FACT])
    return overlay(base, [FILES[0], *ENTITIES[3:]], FACTS)


def over_another_overlay() -> GroupView:
    base = overlay(group([OLD_ENTITY], [OLD_FACT]), ENTITIES[1:3], FACTS[1:2])
    return overlay(base, [FILES[0], *ENTITIES[3:]], [FACTS[0], *FACTS[2:]])


VIEWS: dict[str, Callable[[], GroupView]] = {
    "group": lambda: group(ENTITIES, FACTS),
    "grown group": grown,
    "overlay of an empty group": lambda: overlay(group([], []), ENTITIES, FACTS),
    "overlay of the whole group": lambda: overlay(group(ENTITIES, FACTS), [], []),
    "overlay with changes": over_an_older_group,
    "overlay of an overlay": over_another_overlay,
}
each_view = pytest.mark.parametrize("view", [make() for make in VIEWS.values()], ids=VIEWS)


@each_view
def test_it_belongs_to_its_group(view: GroupView) -> None:
    assert view.group_id == GROUP


@each_view
def test_entities_and_facts_are_current_and_in_order_of_creation(view: GroupView) -> None:
    assert [*view.entities] == ENTITIES
    assert [*view.facts] == FACTS


@each_view
def test_entities_and_facts_can_be_read_again(view: GroupView) -> None:
    entities, facts = [*view.entities], [*view.facts]
    assert ([*view.entities], [*view.facts]) == (entities, facts)


@each_view
def test_an_entity_or_a_fact_is_found_by_its_uuid(view: GroupView) -> None:
    assert [view.entity(entity.uuid) for entity in ENTITIES] == ENTITIES
    assert [view.fact(fact.uuid) for fact in FACTS] == FACTS
    assert view.entity("unknown") is None
    assert view.fact("unknown") is None
    assert view.entity(FACTS[0].uuid) is None


@each_view
def test_entities_with_one_of_the_names_are_found_in_order_of_creation(view: GroupView) -> None:
    assert view.entities_named(["cart.py"]) == SAME_NAME
    assert view.entities_named(["file_3.py", "file_0.py", "file_0.py"]) == [FILES[0], FILES[3]]
    assert view.entities_named(["CART.py", "cart", ""]) == []
    assert view.entities_named([]) == []


@each_view
def test_entities_are_found_whatever_the_case_and_spaces_of_the_name(view: GroupView) -> None:
    assert view.entities_like(" CART.py") == SAME_NAME
    assert view.entities_like("File_0.PY") == [FILES[0]]
    assert view.entities_like("file_0") == []


@each_view
def test_valid_facts_are_found_by_source_and_by_target_as_they_are_now(view: GroupView) -> None:
    relation = FACTS[0].relation
    assert [view.valid_facts(file.uuid, relation) for file in FILES] == [
        *([one] for one in FACTS),
        [],
    ]
    assert [view.valid_facts_to(file.uuid, relation) for file in FILES] == [
        [],
        *([one] for one in FACTS),
    ]
    assert view.valid_facts(FILES[0].uuid, "ANOTHER") == []


@each_view
def test_an_overlay_shows_no_fact_as_valid_that_it_invalidates(view: GroupView) -> None:
    above, relation = Overlay(view), FACTS[0].relation
    above.add([], [replace(FACTS[0], invalid_at=START), replace(FACTS[1], source=FILES[0].uuid)])
    assert above.valid_facts(FILES[0].uuid, relation) == [replace(FACTS[1], source=FILES[0].uuid)]
    assert above.valid_facts(FILES[1].uuid, relation) == []
    assert above.valid_facts_to(FILES[1].uuid, relation) == []
    assert view.valid_facts(FILES[0].uuid, relation) == [FACTS[0]]
