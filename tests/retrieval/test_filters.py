"""Conditions, times and orders of a search."""

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import builders
from tests.builders import GROUP
from tests.fakes.followed_graphs import LoadedGraph
from tests.scale import scaled
from turnetl.base import ids
from turnetl.base.graph_model import GroupContents
from turnetl.base.model import Entity, Fact, SessionId, TurnId
from turnetl.index.conditions import Selection
from turnetl.index.persistent import PersistentIndex
from turnetl.llm.embedders.static_model import WordLlamaEmbedder
from turnetl.retrieval.hits import SearchHit
from turnetl.retrieval.search import Order, asks_for_all, find_time, search

EMBEDDER = WordLlamaEmbedder()
NOW = datetime(2026, 3, 18, 14, 30, tzinfo=UTC)
"""A Wednesday."""
TEXTS = {
    "plan": ("user: Which port does the walrus server use?\n\nassistant: 8080.", "2026-01-10"),
    "move": ("user: Move the walrus server to port 9090\n\nassistant: Done.", "2026-02-20"),
    "test": ("user: Why does the cart test fail?\n\nassistant: It was empty.", "2026-03-09"),
    "docs": ("user: Describe the walrus server\n\nassistant: Written.", "2026-03-10"),
}
FILE = Entity("e1", GROUP, "src/server.py", ("File",), "", NOW)
PORT = Entity("e2", GROUP, "Port", ("Concept",), "", NOW)


def turn(name: str) -> TurnId:
    return ids.turn_id(GROUP, "claude_code", name)


def time(date: str) -> datetime:
    return datetime.fromisoformat(date).replace(tzinfo=UTC)


def fact(text: str, name: str, *, until: str | None = None, relation: str = "DECIDED") -> Fact:
    started = time(TEXTS[name][1])
    return Fact(
        uuid=ids.digest(text),
        group_id=GROUP,
        source=FILE.uuid,
        target=PORT.uuid,
        relation=relation,
        text=text,
        turns=(turn(name),),
        created_at=started,
        valid_at=started,
        invalid_at=time(until) if until else None,
    )


FACTS = (
    fact("the server listens on 8080", "plan", until="2026-02-20"),
    fact("the server was started", "plan", relation="RAN"),
    fact("the server listens on 9090", "move"),
    fact("`src/server.py` was edited", "docs", relation="MODIFIED"),
)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PersistentIndex]:
    opened = PersistentIndex(tmp_path_factory.mktemp("index"), EMBEDDER.name, EMBEDDER.dimensions)
    receipts = [
        builders.receipt(builders.episode(name, session_id=SessionId(name), started_at=time(date)))
        for name, (_, date) in TEXTS.items()
    ]
    contents = GroupContents(
        group_id=GROUP,
        profile=None,
        entities=(FILE, PORT),
        facts=FACTS,
        receipts=tuple(receipts),
        texts={turn(name): text for name, (text, _) in TEXTS.items()},
    )
    asyncio.run(opened.catch_up(LoadedGraph(contents), EMBEDDER, now=NOW))
    yield opened
    opened.close()


async def hits(index: PersistentIndex, query: str, **options: Any) -> list[SearchHit]:
    found = await search(index, query, EMBEDDER, now=NOW, nearest=True, **options)
    return list(found.hits)


def names(found: list[SearchHit]) -> list[str]:
    return [next(name for name in TEXTS if turn(name) == hit.turn_id) for hit in found]


async def test_an_empty_query_lists_the_selected_turns_newest_first(index: PersistentIndex) -> None:
    found = await hits(index, "", selection=Selection(since=time("2026-02-01")))
    assert names(found) == ["docs", "test", "move"]
    assert {hit.score for hit in found} == {1.0}
    assert found[0].started_at == time("2026-03-10")
    newest = await hits(index, " ", selection=Selection(groups=(GROUP,)), limit=1)
    assert names(newest) == ["docs"]


async def test_an_empty_query_without_a_condition_has_no_hits(index: PersistentIndex) -> None:
    assert await hits(index, "") == []


async def test_hits_can_be_sorted_by_time(index: PersistentIndex) -> None:
    best = await hits(index, "walrus port 9090", limit=2)
    by_time = await hits(index, "walrus port 9090", limit=2, order=Order.TIME)
    assert names(best)[0] == "move"
    assert set(names(by_time)) == set(names(best))
    times = [hit.started_at for hit in by_time]
    assert times == sorted(times, reverse=True)


async def test_the_facts_for_which_a_turn_was_selected_come_first(index: PersistentIndex) -> None:
    for query in ("", "listens 8080"):
        (found,) = await hits(index, query, selection=Selection(relation="ran"))
        assert found.fact == "the server was started"
        assert [more.fact for more in found.more_facts] == ["the server listens on 8080"]


async def test_conditions_on_facts_are_met_by_one_fact(index: PersistentIndex) -> None:
    both = Selection(relation="MODIFIED", file="server.py")
    assert names(await hits(index, "", selection=both)) == ["docs"]
    assert await hits(index, "", selection=Selection(relation="RAN", label="Error")) == []


async def test_as_of_returns_the_facts_that_held_then(index: PersistentIndex) -> None:
    january = await hits(index, "listens", selection=Selection(as_of=time("2026-02-01")))
    assert names(january) == ["plan"]
    assert january[0].fact == "the server listens on 8080"
    assert january[0].invalid_at == time("2026-02-20")
    march = await hits(index, "walrus port", selection=Selection(as_of=time("2026-03-01")))
    assert {hit.fact for hit in march} == {"the server was started", "the server listens on 9090"}
    assert all(not hit.more_facts for hit in march)


async def test_as_of_an_invalidation_the_fact_still_held(index: PersistentIndex) -> None:
    decided = Selection(relation="DECIDED", as_of=time("2026-02-20"))
    assert names(await hits(index, "", selection=decided)) == ["plan"]
    later = Selection(relation="DECIDED", as_of=time("2026-02-21"))
    assert names(await hits(index, "", selection=later)) == ["move"]


async def test_further_facts_say_when_they_were_invalidated(index: PersistentIndex) -> None:
    (found,) = await hits(index, "server started", selection=Selection(session="plan"))
    assert found.fact == "the server was started"
    assert [more.invalid_at for more in found.more_facts] == [time("2026-02-20")]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("what did we change last week", ["docs", "test"]),
        ("what happened in february 2026?", ["move"]),
        ("what did we do since 2026-03-01", ["docs", "test"]),
        ("what happened the day after the cart test failed?", ["docs"]),
        ("what was done in the 2 days before we moved the walrus server to 9090", []),
        ("what happened two days before 11 march", ["test"]),
        ("yesterday", []),
    ],
)
async def test_a_question_about_all_of_a_time_lists_its_turns(
    index: PersistentIndex, query: str, expected: list[str]
) -> None:
    assert names(await hits(index, query)) == expected


async def test_a_time_in_a_query_is_a_weight_and_not_a_filter(index: PersistentIndex) -> None:
    assert names(await hits(index, "walrus server"))[0] == "docs"
    weighed = names(await hits(index, "walrus server in january 2026"))
    assert weighed[0] == "plan"
    assert {"docs", "move"} <= set(weighed)


async def test_a_time_that_a_query_names_is_no_word_that_a_turn_lacks(
    index: PersistentIndex, subtests: pytest.Subtests
) -> None:
    for time_words in (
        "on monday",
        "since Friday",
        "in february",
        "on 7 March",
        "since 2026-01-02",
    ):
        with subtests.test(time=time_words):
            first, *_ = await hits(index, f"describe the walrus server {time_words}")
            assert (names([first]), first.missing_words) == (["docs"], ())
            (first, *_) = await hits(index, f"describe the zeppelin {time_words}")
            assert first.missing_words == ("zeppelin",)


async def test_a_time_is_also_named_by_what_happened(index: PersistentIndex) -> None:
    weighed = await hits(index, "walrus server the week before the cart test failed")
    assert names(weighed)[0] == "docs"
    weighed = await hits(index, "walrus server the month before the cart test failed")
    assert names(weighed)[0] == "move"


@pytest.mark.parametrize(
    "query", ["walrus the day after the zeppelin landed", '"the day after the cart test failed"']
)
async def test_what_never_happened_or_is_quoted_names_no_time(
    index: PersistentIndex, query: str
) -> None:
    plain = await search(index, query, EMBEDDER, nearest=True)
    assert await hits(index, query) == list(plain.hits)


async def test_without_a_clock_a_time_in_a_query_is_words_like_others(
    index: PersistentIndex,
) -> None:
    plain = await search(index, "what did the walrus do last week", EMBEDDER, nearest=True)
    assert turn("plan") in {hit.turn_id for hit in plain.hits}
    assert {hit.score for hit in await hits(index, "what did we do last week")} == {1.0}
    listed = await search(index, "what did we do last week", EMBEDDER, nearest=True)
    assert all(hit.score < 1 for hit in listed.hits)


@pytest.mark.parametrize(
    ("query", "start", "end", "rest"),
    [
        ("tax last week", "2026-03-09", "2026-03-16", "tax"),
        ("tax  in\tMarch  2026", "2026-03-01", "2026-04-01", "tax in"),
        ("3 weeks ago tax", "2026-02-23", "2026-03-02", "tax"),
        ("tax 2026-03", "2026-03-01", "2026-04-01", "tax 2026-03"),
        ("tax before february 2026", "0001-01-01", "2026-02-01", "tax"),
        ("tax after 2026-03-01", "2026-03-02", "2026-03-18T14:30", "tax after 2026-03-01"),
        ("tax since last month", "2026-02-01", "2026-03-18T14:30", "tax"),
        ("tax in january", "2026-01-01", "2026-02-01", "tax in"),
        ("tax since February", "2026-02-01", "2026-03-18T14:30", "tax"),
        ("tax before May", "0001-01-01", "2025-05-01", "tax"),
        ("tax on 7 May", "2025-05-07", "2025-05-08", "tax on"),
        ("tax on March 2nd", "2026-03-02", "2026-03-03", "tax on"),
        ("tax since last Friday", "2026-03-13", "2026-03-18T14:30", "tax"),
        ("tax since Friday", "2026-03-13", "2026-03-18T14:30", "tax"),
        ("tax in the week before 3 march", "2026-02-24", "2026-03-03", "tax in"),
        ("tax in the morning of 7 march", "2026-03-07T05:00", "2026-03-07T12:00", "tax in"),
        ("tax between 2026-03-01 and 2026-03-03", "2026-03-01", "2026-03-04", None),
    ],
)
def test_a_time_is_found_in_a_query(query: str, start: str, end: str, rest: str | None) -> None:
    found, remaining = find_time(query, NOW)
    assert found is not None
    assert (found.start, found.end) == (time(start), time(end))
    assert " ".join(remaining.split()) == (rest or query)


def test_what_may_mean_something_else_is_not_a_time(subtests: pytest.Subtests) -> None:
    for query in [
        *("may I march now", "how is it handled today", '"last week" in the header', "second try"),
        *("CVE-2026-03", "release 2026-03.1", "src/2026-03/a.py", "2026-03-01T10:00", "2026-13"),
        *("tests fail in may", "the last test", "week", "one day", "the friday deploy", ""),
    ]:
        with subtests.test(query=query):
            found, rest = find_time(query, NOW)
            assert found is None
            assert rest == query


def test_only_a_question_without_a_subject_asks_for_all() -> None:
    assert asks_for_all("what did we change ")
    assert not asks_for_all("what did we change in the cart")
    assert not asks_for_all('what did "we"')


_QUERIES = st.one_of(
    st.text(max_size=40),
    st.text(st.characters(categories=["Cc", "Cf", "Cs"]), max_size=10),
    st.lists(
        st.sampled_from(
            [
                "last",
                "week",
                "2026-03",
                '"',
                "[bold]",
                "\x1b[31m",
                "サーバー",
                "сервер",
                "cart",
                "before",
            ]
        ),
        max_size=6,
    ).map(" ".join),
)


@settings(max_examples=scaled(60))
@given(query=_QUERIES, text=st.text(max_size=10))
async def test_no_query_and_no_value_raises(index: PersistentIndex, query: str, text: str) -> None:
    selection = Selection(session=text, tool=text, file=text, entity=text, label=text)
    assert await hits(index, query, selection=selection) == []
    assert len(await hits(index, query)) <= len(TEXTS)


@pytest.mark.parametrize("query", ["x", "w", "\x00", "%", '"', "walrus " * 15_000, "7d " * 33_000])
async def test_queries_of_one_character_and_of_100_kb_are_searched(
    index: PersistentIndex, query: str
) -> None:
    assert len(await hits(index, query)) <= len(TEXTS)
