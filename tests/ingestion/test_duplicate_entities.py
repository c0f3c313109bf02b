"""Entities that may be one: which pairs are found, how certain, and what a merge of them takes."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from benchmarks.duplicate_entities import PARTS, certainties, quality, read_pairs
from tests.builders import GROUP, START
from turnetl.base.graph_model import GroupContents
from turnetl.base.model import Entity, Fact
from turnetl.ingestion.merged_entities import (
    CERTAIN,
    NameForm,
    find_duplicates,
    with_duplicates,
)
from turnetl.llm.embedders import BUILT_IN
from turnetl.wiring import open_chosen_embedder


@pytest.mark.parametrize("part", PARTS)
async def test_what_is_certain_is_one_entity_in_the_labelled_pairs(part: str) -> None:
    pairs = read_pairs()
    rated = zip(pairs, await certainties(pairs, open_chosen_embedder(BUILT_IN)), strict=True)
    measured = quality(rated, part, CERTAIN)
    assert measured.precision == 1.0
    assert measured.recall >= 0.6


@pytest.mark.parametrize(
    ("names", "form"),
    [
        (("Health-Check", "healthcheck"), NameForm.SPELLING),
        (("job", "jobs"), NameForm.PLURAL),
        (("src/a/cart.py", "a/cart.py"), NameForm.PATH),
        (("kubernetes", "k8s"), NameForm.ABBREVIATION),
        (("Dead Letter Queue", "DLQ"), NameForm.ABBREVIATION),
        (("repository", "repo"), NameForm.ABBREVIATION),
        # The end of a path or the beginning of a word says nothing if it is that of two names.
        (("src/a/cart.py", "lib/a/cart.py", "a/cart.py"), None),
        (("repository", "reporter", "repo"), None),
        (("kept apart", "unrelated"), None),
    ],
)
def test_names_are_compared_by_their_forms(names: Sequence[str], form: NameForm | None) -> None:
    assert [pair.form for pair in find_duplicates(_group(*names))] == ([form] if form else [])


def test_what_both_state_of_a_third_speaks_for_a_pair_and_a_fact_between_them_against_it() -> None:
    shared, joined = [_fact("0", "2"), _fact("1", "2")], [_fact("0", "1")]
    names = ("job", "jobs", "the queue")
    certain, alone, apart = (
        find_duplicates(_group(*names, facts=facts))[0] for facts in (shared, [], joined)
    )
    assert certain.certainty > alone.certainty > apart.certainty
    assert (certain.shared_facts, apart.joined) == (("0 uses 2.",), True)
    everybody = [_fact(str(number), "2") for number in (0, 1, *range(3, 9))]
    assert find_duplicates(_group(*names, facts=everybody))[0].certainty == alone.certainty


def test_the_order_of_a_graph_decides_nothing() -> None:
    group = _group("job", "Jobs", "time zone", "timezone", "TimeZone", "repo", "repository")
    reverse = replace(group, entities=group.entities[::-1])
    assert find_duplicates(group) == find_duplicates(reverse) != []


def test_an_entity_is_merged_once_and_nothing_is_merged_into_it() -> None:
    pairs = find_duplicates(_group("time zone", "timezone", "TimeZone"))
    after, new = with_duplicates((), pairs)
    assert len(pairs) == 3
    assert len({one.merged for one in after}) == len(after) == len(new[GROUP])
    kept = {one.kept for one in after}
    assert kept.isdisjoint(one.merged for one in after)
    assert with_duplicates(after, pairs) == (after, {})


def _group(*names: str, facts: Sequence[Fact] = ()) -> GroupContents:
    entities = tuple(
        Entity(str(number), GROUP, name, ("Concept",), "", START)
        for number, name in enumerate(names)
    )
    return GroupContents(GROUP, None, entities, tuple(facts), (), {})


def _fact(source: str, target: str) -> Fact:
    text = f"{source} uses {target}."
    return Fact(text, GROUP, source, target, "USES", text, (), START, START)
