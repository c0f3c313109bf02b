"""The labels of the graph are well formed, and no session is on both sides of the split."""

import hashlib
from collections import Counter
from collections.abc import Iterator

import pytest

from benchmarks.graph_quality_labels import (
    ENTITY_LABELS,
    KINDS,
    NOT_AN_ENTITY,
    RELATIONS,
    RESOLUTIONS,
    GraphLabels,
    graph_labels,
    has_key_terms,
    missing_lines,
    second_verdicts,
)
from tests import real_archives

SPEAKERS = ("user", "agent")


@pytest.fixture(scope="module")
def labels() -> GraphLabels:
    return graph_labels()


def test_every_value_is_of_a_known_kind_and_no_id_occurs_twice(labels: GraphLabels) -> None:
    assert {row.kind for row in labels.decisions} == set(KINDS)
    assert {row.speaker for row in labels.decisions} == set(SPEAKERS)
    assert {row.label for row in labels.entities} <= set(ENTITY_LABELS)
    assert {row.relation for row in labels.edits} == set(RELATIONS)
    assert {row.resolution for row in labels.errors} == set(RESOLUTIONS)
    assert {row.read for row in labels.sessions} == {"whole", "part"}
    rows = (labels.decisions, labels.errors, labels.entities, labels.edits, labels.intents)
    ids = Counter(row.id for table in rows for row in table)
    assert [name for name, count in ids.items() if count > 1] == []


def test_there_are_enough_labels_of_each_kind(labels: GraphLabels) -> None:
    read_whole = {row.session for row in labels.sessions if row.read == "whole"}
    errors = Counter(row.is_error for row in labels.errors)
    entities = Counter(row.label == NOT_AN_ENTITY for row in labels.entities)
    short = Counter(row.short for row in labels.intents)
    assert len(read_whole) >= 15
    assert (errors.total() >= 60, errors[False] >= 15) == (True, True)
    assert (entities[False] >= 200, entities[True] >= 60) == (True, True)
    assert len(labels.edits) >= 100
    assert (short.total() >= 120, short[True] >= 40) == (True, True)


def test_a_session_is_unseen_by_the_digest_of_its_first_archive(labels: GraphLabels) -> None:
    split = {row.archive: row.split for row in labels.sessions}
    sessions = {row.session: row.split for row in labels.sessions}
    assert split == {row.archive: sessions[row.session] for row in labels.sessions}
    assert sessions == {name: _split(name) for name in sessions}
    assert [row for row in _labelled(labels) if row[1] != split[row[0]]] == []


def test_a_decision_has_its_key_terms_and_ends_another_one(labels: GraphLabels) -> None:
    decisions = {row.id: row for row in labels.decisions}
    sessions = {row.archive: row.session for row in labels.sessions}
    for row in labels.decisions:
        assert 2 <= len(row.key_terms) <= 5, row
        assert has_key_terms(row.statement, row.key_terms), row
        if row.supersedes:
            ended = decisions[row.supersedes]
            assert ended.id != row.id
            assert sessions[ended.archive] == sessions[row.archive]


def test_an_error_is_resolved_as_its_lines_say(labels: GraphLabels) -> None:
    for row in labels.errors:
        assert row.is_error == (row.resolution != "not_an_error"), row
        passes = row.resolution in ("fixed_by", "passed_on_rerun")
        assert passes == bool(row.resolving_archive) == (row.resolving_line is not None), row
        assert (row.resolution == "fixed_by") == (row.fix_line is not None), row


def test_the_second_reader_judged_sixty_items_of_the_labels(labels: GraphLabels) -> None:
    places = {("resolution", row.id, row.archive, row.line) for row in labels.errors}
    places |= {("label", row.id, row.archive, row.line) for row in labels.entities}
    verdicts = {"resolution": {*RESOLUTIONS}, "label": {*ENTITY_LABELS}}
    verdicts["statement"] = {"none", *(f"{who} {kind}" for who in SPEAKERS for kind in KINDS)}
    whole = {row.archive for row in labels.sessions if row.read == "whole"}
    stated = {(row.archive, row.line) for row in labels.decisions}
    rows = second_verdicts()
    assert Counter(row.question for row in rows) == {"statement": 24, "resolution": 20, "label": 16}
    assert len({(row.archive, row.line, row.id) for row in rows}) == len(rows)
    for row in rows:
        assert {row.verdict, *row.first} <= verdicts[row.question], row
        if row.question == "statement":
            assert row.archive in whole, row
            assert row.first == ("none",) or (row.archive, row.line) in stated, row
        else:
            assert (row.question, row.id, row.archive, row.line) in places, row


def test_no_turn_has_two_intents_and_no_session_two_entities_of_a_name(labels: GraphLabels) -> None:
    sessions = {row.archive: row.session for row in labels.sessions}
    turns = Counter((row.archive, row.turn_line) for row in labels.intents)
    names = Counter((sessions[row.archive], row.name.casefold()) for row in labels.entities)
    assert [place for place, count in (*turns.items(), *names.items()) if count > 1] == []


def test_a_key_term_begins_a_word_in_any_case() -> None:
    terms = ("cache|store", "redis")
    assert has_key_terms("Redis replaces the CACHES.", terms)
    assert not has_key_terms("Redis replaces the apicache.", terms)
    assert not has_key_terms("The cache is dropped.", terms)


@pytest.mark.archives
@real_archives.needs_archives
def test_the_archives_have_every_labelled_line(labels: GraphLabels) -> None:
    assert list(missing_lines(labels, real_archives.ARCHIVES)) == []


def _split(session: str) -> str:
    digest = hashlib.sha256(session.encode()).hexdigest()
    return "tune" if int(digest, 16) % 3 else "unseen"


def _labelled(labels: GraphLabels) -> Iterator[tuple[str, str]]:
    tables = (labels.decisions, labels.errors, labels.entities, labels.edits, labels.intents)
    yield from ((row.archive, row.split) for table in tables for row in table)
