"""Entities that may be one: which pairs are found, how certain, and what a merge of them takes."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from benchmarks.duplicate_entities import PARTS, certainties, quality, read_pairs
from tests.builders import GROUP, START
from turnetl.base.graph_model import GroupContents
from turnetl.base.model import Entity, Fact
from turnetl.ingestion.duplicate_entities import (
    CERTAIN,
    NameForm,
    crowded_names,
    find_duplicates,
    with_duplicates,
)
from turnetl.ingestion.merged_entities import FILE, MergedEntities, read_merged, write_merged
from turnetl.lake import LocalFiles
from turnetl.llm.embedders import BUILT_IN
from turnetl.llm.vectors import pack
from turnetl.pipeline.run_merge import DuplicateReport
from turnetl.views.nodes import Caption
from turnetl.views.redo import duplicates
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
        (("round()", "round"), NameForm.SPELLING),
        (("login (staging)", "login (production)"), None),
        ((".env", "env"), None),
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
    after, new = with_duplicates(MergedEntities(), pairs)
    assert len(pairs) == 3
    assert len({one.merged for one in after.merges}) == len(after.merges) == len(new[GROUP])
    kept = {one.kept for one in after.merges}
    assert kept.isdisjoint(one.merged for one in after.merges)


def test_a_listed_merge_of_entities_that_the_graph_still_has_is_continued() -> None:
    pairs = find_duplicates(_group("time zone", "timezone", "TimeZone"))
    listed, new = with_duplicates(MergedEntities(), pairs)
    assert with_duplicates(listed, pairs) == (listed, new)
    turned = [replace(pair, kept=pair.merged, merged=pair.kept) for pair in pairs]
    assert with_duplicates(listed, turned) == (listed, new)
    assert with_duplicates(listed, []) == (listed, {})


def test_what_a_person_split_is_not_merged_through_a_third_entity_either() -> None:
    pairs = find_duplicates(_group("time zone", "timezone", "TimeZone"))
    by_names = {frozenset((pair.kept.name, pair.merged.name)): pair for pair in pairs}
    split = by_names[frozenset(("time zone", "timezone"))].merge
    known = MergedEntities((split,)).without([split])
    others = [pair for names, pair in by_names.items() if "TimeZone" in names]
    for order in (pairs, pairs[::-1], others):
        after, new = with_duplicates(known, order)
        assert len(after.merges) == len(new[GROUP]) == 1
        assert after.kept_apart == (split,)
    assert known.with_merge(split) == MergedEntities((split,))


def test_a_list_of_merges_without_splits_is_read_and_splits_are_written(tmp_path: Path) -> None:
    files = LocalFiles(tmp_path)
    merge = find_duplicates(_group("time zone", "timezone"))[0].merge
    (tmp_path / FILE).write_bytes(msgspec.json.encode([merge]))
    assert read_merged(files) == MergedEntities((merge,))
    split = MergedEntities((merge,)).without([merge])
    write_merged(files, split)
    assert read_merged(files) == split == MergedEntities(kept_apart=(merge,))


def test_vectors_are_compared_with_those_of_their_length_and_the_progress_counts_them() -> None:
    vectors = [[1.0, 0.0], [0.9, 0.1], [1.0, 0.0, 0.0], [0.0, 1.0]]
    group = _group("apart", "unlike", "other", "none of these")
    entities = tuple(
        replace(entity, embedding=pack(vector))
        for entity, vector in zip(group.entities, vectors, strict=True)
    )
    calls: list[tuple[int, int]] = []
    facts = (_fact("0", "9"), _fact("1", "9"))
    found = find_duplicates(
        replace(group, entities=entities, facts=facts),
        progress=lambda done, total: calls.append((done, total)),
    )
    assert [(pair.form, {pair.kept.id, pair.merged.id}) for pair in found] == [
        (NameForm.SIMILAR, {"0", "1"})
    ]
    assert calls[-1] == (4, 4)
    mixed = replace(group, entities=(entities[0], replace(entities[2], name="Apart")))
    assert [pair.similarity for pair in find_duplicates(mixed)] == [None]


def test_a_name_that_more_entities_share_than_are_compared_is_counted() -> None:
    names = ["job", "Job", "jobs", "JOB", "j-ob", "jo.b"]
    assert (crowded_names(_group(*names)), len(find_duplicates(_group(*names)))) == (0, 15)
    assert crowded_names(_group(*names, "jo b")) == 1
    said = "1 name is shared by more than 6 entities of a group: they are not compared."
    assert Caption(said) in duplicates(DuplicateReport((), crowded_names=1))


def _group(*names: str, facts: Sequence[Fact] = ()) -> GroupContents:
    entities = tuple(
        Entity(str(number), GROUP, name, ("Concept",), "", START)
        for number, name in enumerate(names)
    )
    return GroupContents(GROUP, None, entities, tuple(facts), (), {})


def _fact(source: str, target: str) -> Fact:
    text = f"{source} uses {target}."
    return Fact(text, GROUP, source, target, "USES", text, (), START, START)
