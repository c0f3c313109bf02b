from dataclasses import replace
from datetime import timedelta

import hypothesis.strategies as st
from hypothesis import given

from tests.builders import GROUP, START, episode
from turnetl.graph.mirror.group import Group
from turnetl.model import (
    Change,
    Entity,
    Episode,
    Fact,
    GroupContents,
    Receipt,
    SessionId,
    TurnId,
    Usage,
)


def empty() -> Group:
    return Group(
        GroupContents(group_id=GROUP, profile=None, entities=(), facts=(), receipts=(), texts={})
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


def receipt(of: Episode) -> Receipt:
    return Receipt(
        turn_id=of.turn_id,
        group_id=GROUP,
        session_id=of.turn.session_id,
        ordinal=of.turn.ordinal,
        run_id="run",
        content_hash=of.turn.content_hash,
        recipe="",
        committed_at=START,
        started_at=of.turn.started_at or START,
        ended_at=None,
        archive=of.turn.archive,
        first_line=of.turn.first_line,
        last_line=of.turn.last_line,
        usage=Usage(),
        nodes_new=0,
        edges_new=0,
        edges_retired=0,
    )


def commit(group: Group, of: Episode, *facts: Fact, entities: tuple[Entity, ...] = ()) -> None:
    change = Change(
        episode=of,
        entities=entities,
        facts=facts,
        mentions=(),
        entities_before=(),
        facts_before=(),
        previous_turn=None,
        next_turn=None,
        usage=Usage(),
    )
    group.apply(change, receipt(of))


def open_uuids(group: Group, source: str = "app.py", name: str = "MODIFIED") -> list[str]:
    return [one.uuid for one in group.open_facts(source, name)]


def test_a_committed_turn_is_known_with_its_text() -> None:
    group = empty()
    commit(group, at(0))
    assert group.committed(at(0).turn_id)
    assert group.text(at(0).turn_id) == at(0).text
    assert not group.committed(at(1).turn_id)


def test_open_facts_are_those_that_nothing_has_ended_oldest_first() -> None:
    group = empty()
    commit(group, at(0), fact("b"), fact("a"), fact("other", name="READ"))
    commit(group, at(1), fact("b", over=True), fact("c"))
    assert open_uuids(group) == ["a", "c"]
    assert [one.uuid for one in group.facts] == ["b", "a", "other", "c"]


def test_a_fact_that_changes_its_source_is_open_in_one_place_only() -> None:
    group = empty()
    commit(group, at(0), fact("a"))
    commit(group, at(1), fact("a", source="db.py"))
    assert open_uuids(group) == []
    assert open_uuids(group, "db.py") == ["a"]


def test_neighbours_are_of_the_same_session_by_time() -> None:
    group = empty()
    for minute in (10, 30, 20):
        commit(group, at(minute))
    commit(group, at(16, "s2"))
    assert group.neighbours(at(15)) == (at(10).turn_id, at(20).turn_id)
    assert group.neighbours(at(5)) == (None, at(10).turn_id)
    assert group.neighbours(at(35)) == (at(30).turn_id, None)
    assert group.neighbours(at(20)) == (at(10).turn_id, at(30).turn_id)
    assert group.neighbours(at(0, "s3")) == (None, None)


def test_applying_a_change_twice_is_applying_it_once() -> None:
    group = empty()
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
    grown = empty()
    for number, minute in enumerate(minutes):
        commit(grown, at(minute), *facts[number::6])
    loaded = Group(
        GroupContents(
            group_id=GROUP,
            profile=None,
            entities=tuple(grown.entities),
            facts=tuple(grown.facts),
            receipts=tuple(sorted(grown.receipts, key=lambda one: (one.started_at, one.turn_id))),
            texts={one.turn_id: grown.text(one.turn_id) or "" for one in grown.receipts},
        )
    )
    for source in ("app.py", "db.py"):
        for name in ("MODIFIED", "READ"):
            assert set(open_uuids(grown, source, name)) == set(open_uuids(loaded, source, name))
    for minute in range(6):
        assert grown.neighbours(at(minute)) == loaded.neighbours(at(minute))


def test_an_entity_that_changed_keeps_its_place() -> None:
    group = empty()
    first = Entity("e1", GROUP, "app.py", ("File",), "", START)
    commit(group, at(0), entities=(first, replace(first, uuid="e2", name="db.py")))
    commit(group, at(1), entities=(replace(first, summary="the app"),))
    assert [one.uuid for one in group.entities] == ["e1", "e2"]
    changed = group.entity("e1")
    assert changed is not None
    assert changed.summary == "the app"
