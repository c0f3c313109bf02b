"""The active facts of an entity: their number, hash and mean embedding."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.summaries.facts import START, fact, facts, vector
from turnetl.base.model import Fact
from turnetl.llm.vectors import unpack
from turnetl.summaries.group_facts import ActiveFactSet


def final(states: Sequence[Fact]) -> list[Fact]:
    """Return the last state of each fact."""
    return [*{state.uuid: state for state in states}.values()]


@given(st.lists(facts()))
def test_only_the_last_state_of_each_fact_counts(states: Sequence[Fact]) -> None:
    assert ActiveFactSet(states).now() == ActiveFactSet(final(states)).now()


@given(st.lists(facts()), st.randoms(use_true_random=False))
def test_the_order_of_the_facts_does_not_count(states: Sequence[Fact], random: object) -> None:
    last = final(states)
    shuffled = [*last]
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert ActiveFactSet(shuffled).now() == ActiveFactSet(last).now()


@given(st.lists(facts()))
def test_a_fact_put_twice_counts_once(states: Sequence[Fact]) -> None:
    doubled = [state for state in states for _ in range(2)]
    assert ActiveFactSet(doubled).now() == ActiveFactSet(states).now()


@given(st.lists(facts()))
def test_all_facts_ended_is_as_if_there_were_none(states: Sequence[Fact]) -> None:
    ended = [replace(state, invalid_at=START) for state in states]
    assert ActiveFactSet([*states, *ended]).now() == ActiveFactSet().now()


def test_a_statement_that_is_repeated_is_no_news() -> None:
    once = ActiveFactSet([fact("f1")])
    twice = ActiveFactSet([fact("f1"), fact("f2", turns=("t1",), valid_at=None)])
    assert twice.now() == once.now()


def test_a_repeated_statement_is_active_until_its_last_fact_ends() -> None:
    active = ActiveFactSet([fact("f1"), fact("f2")])
    active.put(fact("f1", invalid_at=START))
    assert active.now().count == 1
    active.put(fact("f2", invalid_at=START))
    assert active.now().count == 0


@pytest.mark.parametrize(
    "other",
    [
        fact("f1", "the parser skips lines"),
        fact("f1", relation="SKIPS"),
        fact("f1", source="lexer"),
        fact("f1", target="rows"),
    ],
    ids=["text", "relation", "source", "target"],
)
def test_a_fact_that_says_something_else_changes_the_hash(other: Fact) -> None:
    assert ActiveFactSet([other]).now().hash != ActiveFactSet([fact("f1")]).now().hash


def test_the_embedding_is_the_mean_direction_of_the_statements() -> None:
    active = ActiveFactSet([fact("f1", "a", vector(1, 0)), fact("f2", "b", vector(0, 1))])
    embedding = active.now().embedding
    assert embedding is not None
    assert unpack(embedding) == pytest.approx(np.array([0.5, 0.5]) ** 0.5, abs=1e-6)


def test_without_facts_there_is_no_embedding() -> None:
    assert ActiveFactSet().now().embedding is None


embeddings = st.sampled_from([None, vector(1, 0), vector(0, 1), vector(1, 0, 0), vector(0, 1, 1)])
mixed_facts = st.builds(
    lambda uuid, text, embedding: replace(fact(uuid, text), embedding=embedding),
    st.sampled_from(["f1", "f2", "f3", "f4", "f5"]),
    st.sampled_from(["reads lines", "writes rows"]),
    embeddings,
)


@given(st.lists(mixed_facts), st.randoms(use_true_random=False))
def test_neither_dimension_nor_missing_vectors_make_the_result_depend_on_the_order(
    states: Sequence[Fact], random: object
) -> None:
    last = final(states)
    shuffled = [*last]
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    expected = ActiveFactSet(last).now()
    assert ActiveFactSet(shuffled).now() == expected
    assert ActiveFactSet(states).now() == expected
    changed = ActiveFactSet(states)
    for state in shuffled:
        changed.discard(state.uuid)
    assert changed.now() == ActiveFactSet().now()


def test_a_statement_has_a_vector_if_one_of_its_facts_has() -> None:
    with_vector = fact("f1", embedding=vector(0, 1))
    without = replace(fact("f2"), embedding=None)
    for ordered in ([with_vector, without], [without, with_vector]):
        active = ActiveFactSet(ordered)
        assert active.now().embedding == vector(0, 1)
        active.discard("f1")
        assert active.now().embedding is None


def test_vectors_of_two_dimensions_have_no_mean_until_one_dimension_remains() -> None:
    active = ActiveFactSet([fact("f1", "a", vector(1, 0, 0)), fact("f2", "b", vector(0, 1))])
    assert active.now().embedding is None
    assert active.now().count == 2
    active.discard("f1")
    assert active.now().embedding == vector(0, 1)
