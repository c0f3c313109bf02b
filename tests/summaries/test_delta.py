"""What a turn changes about each entity."""

from collections.abc import Iterable, Sequence

import pytest

from tests.summaries.facts import START, fact
from turnetl.base.model import Fact
from turnetl.summaries.gate import NodeDelta, node_deltas
from turnetl.summaries.group_facts import ActiveFacts, ActiveFactSet


def deltas(
    facts: Sequence[Fact],
    before: Sequence[Fact] = (),
    mentions: Iterable[str] = (),
) -> dict[str, NodeDelta]:
    """Return the deltas of a turn in a group that held only the facts before."""
    last = {fact.uuid: fact for fact in (*before, *facts)}

    def active(entity: str) -> ActiveFacts:
        return ActiveFactSet(
            fact for fact in last.values() if entity in (fact.source, fact.target)
        ).now()

    def between(one: str, other: str) -> list[Fact]:
        ends = {one, other}
        return [
            fact for fact in before if {fact.source, fact.target} == ends and not fact.invalid_at
        ]

    return dict(node_deltas(facts, before, mentions, START, between=between, active=active))


def test_a_new_fact_changes_both_of_its_entities() -> None:
    found = deltas([fact("f1")])
    assert [*found] == ["lines", "parser"]
    assert all(delta.facts_new == (fact("f1"),) for delta in found.values())
    assert all(delta.active.count == 1 and delta.at == START for delta in found.values())


def test_an_entity_that_is_only_mentioned_has_an_empty_delta() -> None:
    found = deltas([], mentions=["parser"])
    assert found["parser"].facts_new == found["parser"].facts_invalidated == ()


def test_a_fact_of_an_entity_about_itself_counts_once() -> None:
    assert deltas([fact("f1", target="parser")])["parser"].facts_new == (
        fact("f1", target="parser"),
    )


def test_an_invalidated_fact_is_not_new() -> None:
    ended = fact("f1", invalid_at=START)
    found = deltas([ended], before=[fact("f1")])["parser"]
    assert (found.facts_new, found.facts_invalidated) == ((), (ended,))
    assert found.active.count == 0


def test_a_fact_that_is_stated_again_is_neither_new_nor_invalidated() -> None:
    again = fact("f1", turns=("t0", "t1"))
    found = deltas([again], before=[fact("f1")], mentions=["parser"])["parser"]
    assert found.facts_new == found.facts_invalidated == ()


def test_a_fact_that_holds_again_is_new() -> None:
    again = fact("f1")
    found = deltas([again], before=[fact("f1", invalid_at=START)])["parser"]
    assert (found.facts_new, found.facts_invalidated) == ((again,), ())


def test_a_fact_that_ended_before_it_was_told_is_no_change() -> None:
    assert deltas([fact("f1", invalid_at=START)]) == {}


@pytest.mark.parametrize(
    ("known", "new"),
    [
        ("the parser reads lines", "the parser does not read lines"),
        ("the parser can't read lines", "the parser reads lines"),
        ("the parser reads lines", "the parser no longer reads lines"),
        ("the parser reads lines", "reading lines was reverted in the parser"),
    ],
)
def test_a_fact_that_denies_an_active_one_contradicts_it(known: str, new: str) -> None:
    found = deltas([fact("f2", new)], before=[fact("f1", known)])
    assert found["parser"].contradictions == ("f2",)


@pytest.mark.parametrize(
    ("known", "new"),
    [
        (fact("f1"), fact("f2", "the parser reads long lines")),
        (fact("f1"), fact("f2", "the parser does not write rows", target="rows")),
        (fact("f1"), fact("f2", "the parser does not like lines", relation="LIKES")),
        (fact("f1", invalid_at=START), fact("f2", "the parser does not read lines")),
        (fact("f1", "it is not slow"), fact("f2", "it is not fast")),
        (fact("f1"), fact("f2", "it is not true that the parser does not read lines")),
    ],
    ids=["agrees", "other_entity", "other_relation", "ended", "both_deny", "twice_denied"],
)
def test_other_facts_do_not_contradict(known: Fact, new: Fact) -> None:
    assert deltas([new], before=[known])["parser"].contradictions == ()


def test_what_was_said_or_done_denies_nothing(subtests: pytest.Subtests) -> None:
    for relation, quoted, denies in (
        ("READS", "", True),
        ("DESCRIBED", "", False),
        ("CHANGED", "", False),
        ("DECIDED", "The user decided: ", False),
    ):
        with subtests.test(relation=relation):
            known = fact("f1", f"{quoted}the parser reads lines", relation=relation)
            later = fact("f2", f"{quoted}the parser does not read lines", relation=relation)
            found = deltas([later], before=[known])["parser"]
            assert bool(found.contradictions) == denies
