"""Breadth-first search, distance and mentions in the edges of a graph."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.graph.sample_changes import entity, fact, turn_id
from turnetl.base.graph_model import Mention
from turnetl.base.model import Fact
from turnetl.graph.search import Neighbourhood

Pairs = list[tuple[str, str]]


def facts(pairs: Pairs) -> list[Fact]:
    sample = fact(turn_id("p0"), entity("a"), entity("b"), "a uses b")
    return [
        replace(sample, uuid=f"{number}: {source} {target}", source=source, target=target)
        for number, (source, target) in enumerate(pairs)
    ]


def neighbourhood(pairs: Pairs, mentions: Pairs = []) -> Neighbourhood:  # noqa: B006 - not changed
    return Neighbourhood(facts(pairs), [Mention(*pair) for pair in mentions])


CHAIN = [("a", "b"), ("b", "c"), ("c", "d")]


@pytest.mark.parametrize(
    ("depth", "expected"), [(0, []), (1, ["b"]), (2, ["b", "c"]), (9, ["b", "c", "d"])]
)
def test_entities_come_nearest_first_up_to_the_depth(depth: int, expected: list[str]) -> None:
    assert neighbourhood(CHAIN).entities_within(depth, ["a"]) == expected


@pytest.mark.parametrize("depth", [-1, 0])
def test_a_depth_below_one_finds_nothing(depth: int) -> None:
    near = neighbourhood(CHAIN, [("turn", "a")])
    assert near.entities_within(depth, ["a", "turn"]) == []
    assert near.facts_within(depth, ["a", "turn"]) == []


def test_edges_are_followed_in_their_direction_only() -> None:
    assert neighbourhood(CHAIN).entities_within(3, ["d"]) == []


def test_an_origin_is_found_if_edges_lead_back_to_it() -> None:
    assert neighbourhood([("a", "b"), ("b", "a")]).entities_within(2, ["a"]) == ["b", "a"]
    assert neighbourhood([("a", "a")]).entities_within(1, ["a"]) == ["a"]


def test_the_mentions_of_an_episode_are_its_first_edges() -> None:
    near = neighbourhood(CHAIN, [("turn", "a"), ("turn", "c")])
    assert near.entities_within(1, ["turn"]) == ["a", "c"]
    assert near.entities_within(2, ["turn"]) == ["a", "c", "b", "d"]
    assert near.facts_within(1, ["turn"]) == []
    assert [found.source for found in near.facts_within(2, ["turn"])] == ["a", "c"]


def test_several_facts_between_two_entities_are_all_found() -> None:
    near = neighbourhood([("a", "b"), ("a", "b"), ("b", "c")])
    found = [found.uuid for found in near.facts_within(2, ["a"])]
    assert found == ["0: a b", "1: a b", "2: b c"]
    assert near.entities_within(1, ["a"]) == ["b"]


def test_an_unknown_origin_finds_nothing() -> None:
    assert neighbourhood(CHAIN).entities_within(3, ["nowhere"]) == []


def test_closeness_is_graphitis_score_of_a_distance() -> None:
    near = neighbourhood([*CHAIN, ("b", "b")])
    assert [near.closeness(node, "b") for node in "abcd"] == [1.0, 10.0, 1.0, 0.0]


def test_two_mentions_of_an_entity_count_twice() -> None:
    near = neighbourhood([], [("one", "a"), ("two", "a"), ("two", "b")])
    assert [near.mentions(node) for node in "abc"] == [2, 1, 0]


@given(
    st.lists(st.tuples(st.sampled_from("abcde"), st.sampled_from("abcde")), max_size=12),
    st.lists(st.sampled_from("abcde"), min_size=1, max_size=3),
    st.integers(1, 4),
)
def test_the_results_are_those_of_following_every_path(
    pairs: Pairs, origins: list[str], depth: int
) -> None:
    ends, edges = set(), set()
    paths = [(origin, frozenset[int]()) for origin in origins]
    for _ in range(depth):
        paths = [
            (target, passed | {number})
            for node, passed in paths
            for number, (source, target) in enumerate(pairs)
            # As Cypher: a path has no edge twice.
            if source == node and number not in passed
        ]
        ends |= {node for node, _ in paths}
        edges |= {number for _, passed in paths for number in passed}
    near = neighbourhood(pairs)
    found = near.entities_within(depth, origins)
    assert sorted(found) == sorted(ends)
    assert {fact.uuid for fact in near.facts_within(depth, origins)} == {
        known.uuid for number, known in enumerate(facts(pairs)) if number in edges
    }
