"""A group in memory, grown by commits."""

from dataclasses import replace
from datetime import timedelta

import hypothesis.strategies as st
from hypothesis import given

from tests.builders import GROUP, START, change, empty_group, episode, receipt
from tests.graph.committing import acquire
from tests.graph.committing import commit as store_commit
from tests.graph.sample_changes import change as sample_change
from tests.graph.sample_changes import entity, turn_id
from tests.graph.sample_changes import fact as sample_fact
from tests.graph.sample_changes import receipt as sample_receipt
from turnetl.base.graph_model import GroupContents
from turnetl.base.model import Entity, Episode, Fact, SessionId, TurnId
from turnetl.graph.mirror.group import MirrorGroup
from turnetl.graph.port import GraphStore


def episode_at(minute: int, session: str = "s1") -> Episode:
    return episode(
        f"{session}-{minute}",
        session_id=SessionId(session),
        started_at=START + timedelta(minutes=minute),
    )


def fact(
    uuid: str, *, source: str = "app.py", relation: str = "MODIFIED", ended: bool = False
) -> Fact:
    return Fact(
        uuid=uuid,
        group_id=GROUP,
        source=source,
        target="session",
        relation=relation,
        text=f"{source} {relation} {uuid}",
        turns=(TurnId("t"),),
        created_at=START,
        valid_at=START,
        invalid_at=START if ended else None,
    )


def commit(
    group: MirrorGroup, committed: Episode, *facts: Fact, entities: tuple[Entity, ...] = ()
) -> None:
    group.apply(change(committed, entities, facts), receipt(committed))


def valid_uuids(group: MirrorGroup, source: str = "app.py", name: str = "MODIFIED") -> list[str]:
    return [fact.uuid for fact in group.valid_facts(source, name)]


def test_valid_facts_are_those_without_an_end_oldest_first() -> None:
    group = empty_group()
    commit(group, episode_at(0), fact("b"), fact("a"), fact("other", relation="READ"))
    commit(group, episode_at(1), fact("b", ended=True), fact("c"))
    assert valid_uuids(group) == ["a", "c"]
    assert [fact.uuid for fact in group.facts] == ["a", "b", "other", "c"]


async def test_what_a_run_committed_has_the_order_in_which_the_next_run_loads_it(
    store: GraphStore,
) -> None:
    hub, *files = entities = [entity(f"file_{number}.py") for number in range(5)]
    turn = turn_id("p0")
    facts = [sample_fact(turn, hub, file, f"file_0.py imports {file.name}") for file in files]
    written = sample_change("p0", entities, facts)
    assert [fact.uuid for fact in facts] != sorted(fact.uuid for fact in facts)
    assert [one.uuid for one in entities] != sorted(one.uuid for one in entities)
    assert await store_commit(store, await acquire(store), written)
    group, loaded = empty_group(), MirrorGroup(await store.load(GROUP))
    group.apply(written, sample_receipt(written))
    assert [*group.entities] == [*loaded.entities]
    assert [*group.facts] == [*loaded.facts]


def test_valid_facts_are_also_listed_by_target() -> None:
    group = empty_group()
    commit(group, episode_at(0), fact("b"), fact("a", source="db.py"), fact("c", relation="READ"))
    assert [f.uuid for f in group.valid_facts_to("session", "MODIFIED")] == ["a", "b"]
    commit(group, episode_at(1), fact("b", ended=True))
    assert [f.uuid for f in group.valid_facts_to("session", "MODIFIED")] == ["a"]
    assert group.valid_facts_to("app.py", "MODIFIED") == []


def test_a_fact_that_changes_its_source_is_listed_once() -> None:
    group = empty_group()
    commit(group, episode_at(0), fact("a"))
    commit(group, episode_at(1), fact("a", source="db.py"))
    assert valid_uuids(group) == []
    assert valid_uuids(group, "db.py") == ["a"]
    assert [fact.uuid for fact in group.valid_facts_to("session", "MODIFIED")] == ["a"]


def test_neighbours_are_the_adjacent_turns_of_the_session_by_time() -> None:
    group = empty_group()
    for minute in (10, 30, 20):
        commit(group, episode_at(minute))
    commit(group, episode_at(16, "s2"))
    assert group.neighbours(episode_at(15)) == (episode_at(10).turn_id, episode_at(20).turn_id)
    assert group.neighbours(episode_at(5)) == (None, episode_at(10).turn_id)
    assert group.neighbours(episode_at(35)) == (episode_at(30).turn_id, None)
    assert group.neighbours(episode_at(20)) == (episode_at(10).turn_id, episode_at(30).turn_id)
    assert group.neighbours(episode_at(0, "s3")) == (None, None)


def test_applying_a_change_is_idempotent() -> None:
    group = empty_group()
    for _ in range(2):
        commit(group, episode_at(10), fact("a"))
    assert valid_uuids(group) == ["a"]
    assert group.neighbours(episode_at(20)) == (episode_at(10).turn_id, None)
    assert group.neighbours(episode_at(10)) == (None, None)


FACTS = st.lists(
    st.builds(
        fact,
        st.sampled_from("abcd"),
        source=st.sampled_from(["app.py", "db.py"]),
        relation=st.sampled_from(["MODIFIED", "READ"]),
        ended=st.booleans(),
    ),
    max_size=12,
)


@given(FACTS, st.permutations(range(6)))
def test_a_group_grown_by_commits_equals_the_group_loaded_afterwards(
    facts: list[Fact], minutes: list[int]
) -> None:
    grown = empty_group()
    for number, minute in enumerate(minutes):
        commit(grown, episode_at(minute), *facts[number::6])
    loaded = MirrorGroup(
        GroupContents(
            group_id=GROUP,
            profile=None,
            entities=tuple(grown.entities),
            facts=tuple(grown.facts),
            receipts=tuple(receipt(episode_at(minute)) for minute in sorted(minutes)),
            texts={},
        )
    )
    for source in ("app.py", "db.py"):
        for name in ("MODIFIED", "READ"):
            assert set(valid_uuids(grown, source, name)) == set(valid_uuids(loaded, source, name))
    for minute in range(6):
        assert grown.neighbours(episode_at(minute)) == loaded.neighbours(episode_at(minute))


def test_a_changed_entity_keeps_its_position() -> None:
    group = empty_group()
    first = Entity("e1", GROUP, "app.py", ("File",), "", START)
    commit(group, episode_at(0), entities=(first, replace(first, uuid="e2", name="db.py")))
    commit(group, episode_at(1), entities=(replace(first, summary="the app"),))
    assert [entity.uuid for entity in group.entities] == ["e1", "e2"]
    changed = group.entity("e1")
    assert changed is not None
    assert changed.summary == "the app"


def test_entities_are_found_by_exact_name_in_order_of_creation() -> None:
    first, other, second = (
        replace(entity("a.py"), uuid="u3"),
        entity("b.py"),
        replace(entity("a.py"), uuid="u1"),
    )
    group = MirrorGroup(GroupContents(GROUP, None, (first, other, second), (), (), {}))
    assert group.entities_named(["a.py", "b.py", "a.py", "A.py"]) == [first, other, second]
    changed = replace(first, summary="What it does.")
    group.put([changed], ())
    assert group.entities_named(["a.py"]) == [changed, second]
    assert group.entities_named([]) == []
