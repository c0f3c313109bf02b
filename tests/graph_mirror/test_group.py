from dataclasses import replace
from datetime import timedelta

import hypothesis.strategies as st
from hypothesis import given

from tests.builders import GROUP, START, change, empty_group, episode, receipt
from tests.graph.sample_changes import entity
from turnetl.graph.mirror.group import MirrorGroup
from turnetl.model import (
    Entity,
    Episode,
    Fact,
    GroupContents,
    SessionId,
    TurnId,
)


def at(minute: int, session: str = "s1") -> Episode:
    return episode(
        f"{session}-{minute}",
        session_id=SessionId(session),
        started_at=START + timedelta(minutes=minute),
    )


def fact(uuid: str, *, source: str = "app.py", name: str = "MODIFIED", over: bool = False) -> Fact:
    return Fact(
        uuid=uuid,
        group_id=GROUP,
        source=source,
        target="session",
        name=name,
        text=f"{source} {name} {uuid}",
        turns=(TurnId("t"),),
        created_at=START,
        valid_at=START,
        invalid_at=START if over else None,
    )


def commit(
    group: MirrorGroup, of: Episode, *facts: Fact, entities: tuple[Entity, ...] = ()
) -> None:
    group.apply(change(of, entities, facts), receipt(of))


def open_uuids(group: MirrorGroup, source: str = "app.py", name: str = "MODIFIED") -> list[str]:
    return [one.uuid for one in group.valid_facts(source, name)]


def test_open_facts_are_those_that_nothing_has_ended_oldest_first() -> None:
    group = empty_group()
    commit(group, at(0), fact("b"), fact("a"), fact("other", name="READ"))
    commit(group, at(1), fact("b", over=True), fact("c"))
    assert open_uuids(group) == ["a", "c"]
    assert [one.uuid for one in group.facts] == ["b", "a", "other", "c"]


def test_a_fact_that_changes_its_source_is_open_in_one_place_only() -> None:
    group = empty_group()
    commit(group, at(0), fact("a"))
    commit(group, at(1), fact("a", source="db.py"))
    assert open_uuids(group) == []
    assert open_uuids(group, "db.py") == ["a"]


def test_neighbours_are_of_the_same_session_by_time() -> None:
    group = empty_group()
    for minute in (10, 30, 20):
        commit(group, at(minute))
    commit(group, at(16, "s2"))
    assert group.neighbours(at(15)) == (at(10).turn_id, at(20).turn_id)
    assert group.neighbours(at(5)) == (None, at(10).turn_id)
    assert group.neighbours(at(35)) == (at(30).turn_id, None)
    assert group.neighbours(at(20)) == (at(10).turn_id, at(30).turn_id)
    assert group.neighbours(at(0, "s3")) == (None, None)


def test_applying_a_change_twice_is_applying_it_once() -> None:
    group = empty_group()
    for _ in range(2):
        commit(group, at(10), fact("a"))
    assert open_uuids(group) == ["a"]
    assert group.neighbours(at(20)) == (at(10).turn_id, None)
    assert group.neighbours(at(10)) == (None, None)


FACTS = st.lists(
    st.builds(
        fact,
        st.sampled_from("abcd"),
        source=st.sampled_from(["app.py", "db.py"]),
        name=st.sampled_from(["MODIFIED", "READ"]),
        over=st.booleans(),
    ),
    max_size=12,
)


@given(FACTS, st.permutations(range(6)))
def test_a_group_grown_by_commits_is_the_group_loaded_afterwards(
    facts: list[Fact], minutes: list[int]
) -> None:
    grown = empty_group()
    for number, minute in enumerate(minutes):
        commit(grown, at(minute), *facts[number::6])
    loaded = MirrorGroup(
        GroupContents(
            group_id=GROUP,
            profile=None,
            entities=tuple(grown.entities),
            facts=tuple(grown.facts),
            receipts=tuple(receipt(at(minute)) for minute in sorted(minutes)),
            texts={},
        )
    )
    for source in ("app.py", "db.py"):
        for name in ("MODIFIED", "READ"):
            assert set(open_uuids(grown, source, name)) == set(open_uuids(loaded, source, name))
    for minute in range(6):
        assert grown.neighbours(at(minute)) == loaded.neighbours(at(minute))


def test_an_entity_that_changed_keeps_its_place() -> None:
    group = empty_group()
    first = Entity("e1", GROUP, "app.py", ("File",), "", START)
    commit(group, at(0), entities=(first, replace(first, uuid="e2", name="db.py")))
    commit(group, at(1), entities=(replace(first, summary="the app"),))
    assert [one.uuid for one in group.entities] == ["e1", "e2"]
    changed = group.entity("e1")
    assert changed is not None
    assert changed.summary == "the app"


def test_entities_are_found_by_their_very_names_in_the_order_of_their_creation() -> None:
    first, other, second = (
        replace(entity("a.py"), uuid="u3"),
        entity("b.py"),
        replace(entity("a.py"), uuid="u1"),
    )
    held = MirrorGroup(GroupContents(GROUP, None, (first, other, second), (), (), {}))
    assert held.entities_named(["a.py", "b.py", "a.py", "A.py"]) == [first, other, second]
    changed = replace(first, summary="What it does.")
    held.put([changed], ())
    assert held.entities_named(["a.py"]) == [changed, second]
    assert held.entities_named([]) == []
