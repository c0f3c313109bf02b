"""An overlay returns what its group returns after the commit."""

from collections.abc import Sequence
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from tests.builders import GROUP, START
from tests.graph.sample_changes import entity, fact, turn_id, vector
from turnetl.base.graph_model import GroupContents
from turnetl.base.model import Entity, Fact
from turnetl.graph.mirror.group import GroupView, MirrorGroup
from turnetl.graph.mirror.overlay import CandidateIndex, Overlay, OverlayCandidates
from turnetl.llm.embedders import floats

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


def candidates_of(overlay: Overlay) -> CandidateIndex:
    indexes: dict[int, CandidateIndex] = {}

    def find(view: GroupView) -> CandidateIndex:
        if id(view) not in indexes:
            index = OverlayCandidates(view, find) if isinstance(view, Overlay) else None
            indexes[id(view)] = index or CandidateIndex(view)
        return indexes[id(view)]

    return find(overlay)


def results(candidates: CandidateIndex) -> list[object]:
    """Return every candidate search, for one entity and one sentence, after a refresh."""
    candidates.refresh()
    return searched(candidates)


def searched(candidates: CandidateIndex) -> list[object]:
    near = floats(vector("file_1.py uses file_2.py"))
    pair = frozenset((FILES[1].uuid, FILES[2].uuid))
    return [
        candidates.entities_near([near], 4, 0.3),
        candidates.facts_near([near, near], 4, 0.3),
        candidates.facts_near_between(pair, near, 4, 0.0),
        {fact.uuid for fact in candidates.facts_matching("uses file_2", 100)},
    ]


@given(st.lists(FACTS, unique_by=lambda one: one.uuid), st.integers(0, 20))
def test_an_overlay_returns_the_candidates_that_the_group_returns_after_the_commit(
    facts: list[Fact], committed: int
) -> None:
    base = group(FILES[:4], facts[:committed])
    overlay = Overlay(base)
    candidates = candidates_of(overlay)
    overlay.add(FILES[4:], facts[committed:])
    after = group(FILES, facts)
    assert results(candidates) == results(CandidateIndex(after))
    assert list(overlay.entities) == list(after.entities)
    assert list(overlay.facts) == list(after.facts)


def test_a_term_has_the_same_weight_in_an_overlay_as_after_the_commit() -> None:
    facts = [joins(first, first + 1, words) for first in range(6) for words in ("uses", "broke")]
    base = group(FILES, facts[:9])
    overlay = Overlay(base)
    candidates, committed = candidates_of(overlay), group(FILES, facts)
    after = CandidateIndex(committed)
    overlay.add((), facts[9:])
    candidates.refresh()
    after.refresh()
    assert candidates.facts_matching("broke file_5", 5) == after.facts_matching("broke file_5", 5)


def test_a_change_of_a_chunk_is_visible_in_the_overlay_and_not_in_the_group() -> None:
    uses = joins(0, 1, "uses")
    base = group(FILES, [uses])
    overlay = Overlay(base)
    invalidated = replace(uses, invalid_at=START, expired_at=START)
    renamed = replace(FILES[0], summary="The first.")
    overlay.add([renamed], [invalidated])
    assert overlay.fact(uses.uuid) == invalidated
    assert overlay.entity(renamed.uuid) == renamed
    assert list(overlay.facts) == [invalidated]
    assert (next(iter(overlay.entities)), *base.facts) == (renamed, uses)
    assert (overlay.changed_entities, overlay.changed_facts) == ([renamed], [invalidated])
    assert (list(overlay.new.entities), list(overlay.new.facts)) == ([], [])


def test_an_entity_that_is_changed_back_is_not_changed() -> None:
    overlay = Overlay(group(FILES, ()))
    overlay.add([replace(FILES[0], summary="The first.")], ())
    overlay.add([FILES[0]], ())
    assert overlay.changed_entities == []
    assert overlay.entity(FILES[0].uuid) == FILES[0]


def test_a_fact_that_one_chunk_creates_and_another_changes_is_new_once() -> None:
    uses = joins(0, 1, "uses")
    overlay = Overlay(group(FILES, ()))
    overlay.add((), [uses])
    invalidated = replace(uses, invalid_at=START)
    overlay.add((), [invalidated])
    assert list(overlay.new.facts) == list(overlay.facts) == [invalidated]
    assert overlay.changed_facts == []


def test_entities_are_found_by_name_as_after_the_commit() -> None:
    base = group(FILES[:3], ())
    overlay = Overlay(base)
    changed = replace(FILES[1], summary="What it does.")
    same_name = replace(FILES[1], uuid="another")
    overlay.add([changed, FILES[5], same_name], ())
    names = ["file_5.py", "file_1.py", "file_0.py", "file_7.py"]
    named = overlay.entities_named(names)
    assert named == [FILES[0], changed, FILES[5], same_name]
    base.put([changed, FILES[5], same_name], ())
    assert base.entities_named(names) == named


@given(st.lists(FACTS, min_size=2, unique_by=lambda one: one.uuid), st.data())
def test_overlays_over_each_other_return_the_same_while_one_after_the_other_is_committed(
    facts: list[Fact], data: st.DataObject
) -> None:
    first, second = sorted(data.draw(st.integers(0, len(facts))) for _ in range(2))
    base = group(FILES[:4], facts[:first])
    lower = Overlay(base)
    upper = Overlay(lower)
    lower.add(FILES[4:6], facts[first:second])
    upper.add(FILES[6:], facts[second:])
    candidates, after = candidates_of(upper), group(FILES, facts)
    expected = results(CandidateIndex(after))
    assert results(candidates) == expected
    base.put(FILES[4:6], facts[first:second])
    lower.clear()
    assert searched(candidates) == expected
    upper.rebase(base)
    assert searched(candidates) == expected
    assert list(upper.facts) == facts
