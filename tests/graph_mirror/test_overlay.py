"""A group as it will be: what is found in the draft is what is found when it is committed."""

from collections.abc import Sequence
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from tests.builders import GROUP, START
from tests.graph.sample_changes import entity, fact, turn_id, vector
from turnetl.graph.mirror.candidates import CandidateIndex
from turnetl.graph.mirror.group import MirrorGroup
from turnetl.graph.mirror.overlay import Overlay, OverlayCandidates
from turnetl.llm.vectors import floats
from turnetl.model import Entity, Fact, GroupContents

TURN = turn_id("p0")
FILES = [entity(f"file_{number}.py") for number in range(8)]


def group(entities: Sequence[Entity], facts: Sequence[Fact]) -> MirrorGroup:
    return MirrorGroup(GroupContents(GROUP, None, tuple(entities), tuple(facts), (), {}))


def joins(first: int, second: int, words: str) -> Fact:
    return fact(TURN, FILES[first], FILES[second], f"file_{first}.py {words} file_{second}.py")


FACTS = st.builds(
    joins,
    st.integers(0, 7),
    st.integers(0, 7),
    st.sampled_from(["uses", "imports all of", "no longer uses", "was split from", "broke"]),
)


def found(candidates: CandidateIndex) -> list[object]:
    """Everything that a building block asks for, about one thing and one sentence."""
    candidates.refresh()
    near = floats(vector("file_1.py uses file_2.py"))
    pair = frozenset((FILES[1].uuid, FILES[2].uuid))
    return [
        candidates.entities_near(near, 4, 0.3),
        candidates.facts_near(near, 4, 0.3),
        candidates.facts_near_between(pair, near, 4, 0.0),
        {one.uuid for one in candidates.facts_matching("uses file_2", 100)},
    ]


@given(st.lists(FACTS, unique_by=lambda one: one.uuid), st.integers(0, 20))
def test_a_draft_finds_what_the_group_will_find_when_it_is_committed(
    facts: list[Fact], held: int
) -> None:
    below = group(FILES[:4], facts[:held])
    draft = Overlay(below)
    over = OverlayCandidates(draft, CandidateIndex(below))
    draft.add(FILES[4:], facts[held:])
    whole = group(FILES, facts)
    assert found(over) == found(CandidateIndex(whole))
    assert list(draft.entities) == list(whole.entities)
    assert list(draft.facts) == list(whole.facts)


def test_words_weigh_in_a_draft_what_they_will_weigh() -> None:
    facts = [joins(first, first + 1, words) for first in range(6) for words in ("uses", "broke")]
    below = group(FILES, facts[:9])
    draft = Overlay(below)
    over, whole = OverlayCandidates(draft, CandidateIndex(below)), group(FILES, facts)
    after = CandidateIndex(whole)
    draft.add((), facts[9:])
    over.refresh()
    after.refresh()
    assert over.facts_matching("broke file_5", 5) == after.facts_matching("broke file_5", 5)


def test_what_a_part_changes_is_seen_by_the_next_and_not_by_the_group() -> None:
    said = joins(0, 1, "uses")
    below = group(FILES, [said])
    draft = Overlay(below)
    ended = replace(said, invalid_at=START, expired_at=START)
    renamed = replace(FILES[0], summary="The first.")
    draft.add([renamed], [ended])
    assert draft.fact(said.uuid) == ended
    assert draft.entity(renamed.uuid) == renamed
    assert list(draft.facts) == [ended]
    assert (next(iter(draft.entities)), *below.facts) == (renamed, said)
    assert (draft.changed_entities, draft.changed_facts) == ([renamed], [ended])
    assert (list(draft.new.entities), list(draft.new.facts)) == ([], [])


def test_what_is_changed_back_is_no_change() -> None:
    draft = Overlay(group(FILES, ()))
    draft.add([replace(FILES[0], summary="The first.")], ())
    draft.add([FILES[0]], ())
    assert draft.changed_entities == []
    assert draft.entity(FILES[0].uuid) == FILES[0]


def test_what_a_part_makes_and_a_later_one_changes_is_new_once() -> None:
    said = joins(0, 1, "uses")
    draft = Overlay(group(FILES, ()))
    draft.add((), [said])
    ended = replace(said, invalid_at=START)
    draft.add((), [ended])
    assert list(draft.new.facts) == list(draft.facts) == [ended]
    assert draft.changed_facts == []


def test_what_has_a_name_is_found_in_the_draft_as_when_it_is_committed() -> None:
    below = group(FILES[:3], ())
    draft = Overlay(below)
    changed = replace(FILES[1], summary="What it does.")
    again = replace(FILES[1], uuid="another")
    draft.add([changed, FILES[5], again], ())
    names = ["file_5.py", "file_1.py", "file_0.py", "file_7.py"]
    found = draft.entities_named(names)
    assert found == [FILES[0], changed, FILES[5], again]
    below.put([changed, FILES[5], again], ())
    assert below.entities_named(names) == found
