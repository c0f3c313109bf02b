"""What the turns of an index are mostly about: exact counts, bounded lists, the newest first."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.builders import START
from tests.index.checkout_graph import EDITED, FILE, SESSION, TEXTS, fact, graph
from tests.index.indexed_shop import EMBEDDER, NOW
from turnetl.index.conditions import Selection
from turnetl.index.lookup import Overview
from turnetl.index.persistent import PersistentIndex

DECIDED = replace(fact("sqlite was chosen", "cart", "docs"), relation="DECIDED")
FAILED = replace(fact("`pytest` failed", "cart"), relation="FAILED_WITH")
SOLVED = replace(fact("`ruff` failed", "tax"), relation="FAILED_WITH", invalid_at=START)


@pytest.fixture
async def index(tmp_path: Path) -> AsyncIterator[PersistentIndex]:
    opened = PersistentIndex(tmp_path / "index", EMBEDDER.name, EMBEDDER.dimensions)
    facts = (EDITED, DECIDED, FAILED, SOLVED)
    await opened.catch_up(graph(*TEXTS, facts=facts), EMBEDDER, now=NOW)
    yield opened
    opened.close()


def overview(index: PersistentIndex, selection: Selection = Selection()) -> Overview:  # noqa: B008
    return index.lookup().overview(index.select(selection))


async def test_facts_are_counted_once_however_many_turns_state_them(index: PersistentIndex) -> None:
    counts = overview(index).counts()
    assert (counts.facts, counts.invalid) == (4, 1)


async def test_entities_are_listed_by_label_with_the_turns_that_are_about_them(
    index: PersistentIndex,
) -> None:
    found = overview(index).most_stated(5)
    assert [(one.label, one.count) for one in found] == [("Concept", 1), ("File", 1)]
    assert [(stated.entity.name, stated.turns) for stated in found[1].entities] == [(FILE.name, 3)]


async def test_the_newest_facts_come_first_and_the_others_are_counted(
    index: PersistentIndex,
) -> None:
    found = overview(index).newest(["failed_with", "DECIDED"], 2)
    assert [one.text for one in found.facts] == [DECIDED.text, SOLVED.text]
    assert found.count == 3


async def test_only_facts_that_still_hold_can_be_asked_for(index: PersistentIndex) -> None:
    found = overview(index).newest(["FAILED_WITH"], 9, valid_only=True)
    assert ([one.text for one in found.facts], found.count) == ([FAILED.text], 1)


async def test_the_facts_about_an_entity_are_bounded_and_counted(index: PersistentIndex) -> None:
    found = overview(index).newest_about(SESSION.uuid, 1)
    assert (found.facts, found.count) == ((DECIDED,), 4)


async def test_what_failures_lead_to_is_counted_by_turns(index: PersistentIndex) -> None:
    entities, count = overview(index).targets(["FAILED_WITH"], 5)
    assert ([(one.entity.name, one.turns) for one in entities], count) == ([(SESSION.name, 2)], 1)


async def test_the_group_and_the_start_of_each_turn_are_listed(index: PersistentIndex) -> None:
    expected = [
        (one.receipt.group_id, one.receipt.started_at) for one in index.turns(range(20)).values()
    ]
    assert sorted(overview(index).started()) == sorted(expected)
    assert len(expected) == len(TEXTS)


async def test_only_the_selected_turns_are_counted(index: PersistentIndex) -> None:
    nothing = overview(index, Selection(until=START))
    assert nothing.counts().facts == 0
    assert nothing.most_stated(5) == []
    assert nothing.newest(["DECIDED"], 5).count == 0
    assert nothing.targets(["FAILED_WITH"], 5) == ([], 0)
