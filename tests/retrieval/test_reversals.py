"""What holds is shown first; what ended says when, by which turn, and what replaced it."""

from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests import builders
from tests.builders import GROUP, START
from tests.fakes.followed_graphs import LoadedGraph
from tests.index.indexed_shop import EMBEDDER, NOW
from tests.printed import printed
from turnetl.base.graph_model import GroupContents
from turnetl.base.model import Entity, Fact, SessionId
from turnetl.base.results import plain
from turnetl.index.conditions import Selection
from turnetl.index.persistent import PersistentIndex
from turnetl.mcp import entries
from turnetl.retrieval.details import EntityDetails, FactDetails, details
from turnetl.retrieval.search import search
from turnetl.views import details as details_view
from turnetl.views import search_hits
from turnetl.web import forms
from turnetl.web.forms import PageForm
from turnetl.web.routes.entities import entity_page

CHOICES = ("number the folders from 1", "number the folders from 0", "number the folders by date")
PROMPTS = [f"please {choice}" for choice in CHOICES]
ABOUT = Entity("about", GROUP, "folders.py", ("File",), "", START)
DECISIONS = [
    Entity(f"d{number}", GROUP, choice, ("Decision",), "", START)
    for number, choice in enumerate(CHOICES)
]
RELATED = Entity("d3", GROUP, "name the date folders in UTC", ("Decision",), "", START)


def at(number: int) -> datetime:
    return START + timedelta(hours=number)


TURNS = [
    builders.receipt(
        builders.episode(
            f"t{number}",
            session_id=SessionId("s1"),
            started_at=at(number),
            ended_at=at(number) + timedelta(seconds=50),
        )
    )
    for number in range(4)
]


def fact(uuid: str, *ends: Entity, turn: int, relation: str, text: str, **times: Any) -> Fact:
    source, target = ends
    turns, since = (TURNS[turn].turn_id,), at(turn)
    values = (uuid, GROUP, source.uuid, target.uuid, relation, text, turns, since, since)
    return Fact(*values, **times)


FACTS = [
    fact(
        f"f{number}",
        DECISIONS[number],
        ABOUT,
        turn=number,
        relation="DECIDED",
        text=f"The user decided: {choice}",
        invalid_at=at(number + 1) if number < 2 else None,
    )
    for number, choice in enumerate(CHOICES)
]
LINKS = [
    fact(
        f"l{number}",
        DECISIONS[number],
        DECISIONS[number - 1],
        turn=number,
        relation="SUPERSEDES",
        text=f"“{CHOICES[number]}” supersedes “{CHOICES[number - 1]}”",
    )
    for number in (1, 2)
]
LATER = fact(
    "f3",
    RELATED,
    ABOUT,
    turn=3,
    relation="DECIDED",
    text="The user decided: name the date folders in UTC",
)


@pytest.fixture
async def index(tmp_path: Path) -> AsyncIterator[PersistentIndex]:
    opened = PersistentIndex(tmp_path / "index", EMBEDDER.name, EMBEDDER.dimensions)
    texts = {
        turn.turn_id: f"user: {prompt}\n\nassistant: Done."
        for turn, prompt in zip(TURNS, (*PROMPTS, "and the dates?"), strict=True)
    }
    entities, facts = (ABOUT, *DECISIONS, RELATED), (*FACTS, *LINKS, LATER)
    contents = GroupContents(GROUP, None, entities, facts, tuple(TURNS), texts)
    await opened.catch_up(LoadedGraph(contents), EMBEDDER, now=NOW)
    yield opened
    opened.close()


def ended(number: int) -> str:
    when = f"{at(number + 1):%Y-%m-%d %H:%M}"
    return f"ended on {when} by turn {TURNS[number + 1].turn_id[:8]}: {CHOICES[number + 1]}"


async def test_a_search_shows_what_holds_above_what_it_replaced(index: PersistentIndex) -> None:
    for query in ("number the folders", *CHOICES):
        found = await search(index, query, EMBEDDER)
        order = [hit.turn_id for hit in found.hits]
        assert [turn for turn in order if turn != TURNS[3].turn_id] == [
            turn.turn_id for turn in reversed(TURNS[:3])
        ]
        scores = [hit.score for hit in found.hits]
        assert scores == sorted(scores, reverse=True)
        text = " ".join(printed(search_hits.view(found.hits, "none")).split()).casefold()
        places = [text.index(ended(number)) for number in (1, 0)]
        assert text.index(CHOICES[2]) < places[0] < places[1]
        assert ended(0) in "\n".join(entries.hit_entry(1, hit, None) for hit in found.hits)


async def test_a_search_in_the_past_shows_what_held_then(index: PersistentIndex) -> None:
    past = Selection(as_of=at(1))
    found = await search(index, CHOICES[0], EMBEDDER, selection=past)
    assert found.hits[0].fact == FACTS[0].text
    assert found.hits[0].ended_by == ""


async def test_a_page_about_a_file_has_what_holds_first_and_marks_the_rest(
    index: PersistentIndex,
) -> None:
    found = details(index, "folders.py", Path(), limit=10)
    assert isinstance(found, EntityDetails)
    shown = [
        printed(details_view.view(found, full=False, neighbours=False), 300),
        "\n".join(entries.parts(found)),
        str(entity_page(forms.ENTITY, PageForm(), found)),
    ]
    for text in shown:
        newest = [text.index(f"decided: {choice}") for choice in reversed(CHOICES)]
        assert newest == sorted(newest)
        replaced_by = [f"turn {TURNS[n + 1].turn_id[:8]}: {CHOICES[n + 1]}" for n in (0, 1)]
        assert all(one in text for one in replaced_by)
        assert f"turn {TURNS[3].turn_id[:8]}: {LATER.text}" in text


async def test_a_fact_says_what_ended_it_or_what_a_later_turn_says(index: PersistentIndex) -> None:
    first, last = (details(index, uuid, Path(), limit=1) for uuid in ("f0", "f2"))
    assert isinstance(first, FactDetails)
    assert isinstance(last, FactDetails)
    assert ended(0) in printed(details_view.view(first, full=False, neighbours=False), 200)
    assert first.indexed.fact.later_turn_says == last.indexed.fact.ended_by == ""
    assert last.indexed.fact.later_turn_says == f"turn {TURNS[3].turn_id[:8]}: {LATER.text}"
    encoded = plain(first)
    assert encoded["fact"]["ended_by"] == first.indexed.fact.ended_by
