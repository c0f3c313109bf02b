"""The page of a report: hostile texts stay texts, every item has its turn, file and line."""

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.activity_report.rows import full_report, row, rows, subagents
from tests.html.html_parsing import ParsedPage
from tests.html.test_pages import HOSTILE
from turnetl.activity_report.contents import contents
from turnetl.activity_report.model import (
    ActivityReport,
    Listed,
    OwnCost,
    PendingTurns,
    ReportTimeline,
)
from turnetl.activity_report.usage import agent_usage
from turnetl.report_pages.activity_page import activity_page


def shape(page: str) -> list[tuple[str, list[str]]]:
    """The tags with the names of their attributes."""
    return [(tag, sorted(found)) for tag, found in ParsedPage(page).tags]


PLAIN = shape(activity_page(full_report("plain")))


@pytest.mark.parametrize("text", HOSTILE)
def test_whatever_every_text_of_a_report_is_the_page_has_the_same_tags(text: str) -> None:
    page = activity_page(full_report(text))
    assert shape(page) == PLAIN
    parsed = ParsedPage(page)
    assert all(href.startswith(("#", "file:///")) for href in parsed.attributes("href"))
    assert not re.search(r"https?:|url\(|@import", page)


@pytest.mark.full
@given(st.text(min_size=1))
def test_no_text_adds_a_tag_or_an_attribute(text: str) -> None:
    found = shape(activity_page(full_report(f"p{text}")))
    assert [one for one in found if one not in PLAIN] == []
    assert len(found) == len(PLAIN)


def test_every_link_of_the_page_leads_to_a_place_on_it() -> None:
    parsed = ParsedPage(activity_page(full_report()))
    ids = set(parsed.attributes("id"))
    links = [href for href in parsed.attributes("href") if href.startswith("#")]
    assert {href.removeprefix("#") for href in links} <= ids
    assert "turn-a-id" in ids
    assert len(parsed.attributes("id")) == len(ids)


def test_a_turn_has_its_file_and_line() -> None:
    page = activity_page(full_report())
    assert 'href="file:///a">a:3</a>' in page
    assert "/a:3" in ParsedPage(page).text


def test_what_resolved_an_error_leads_to_the_turn_that_states_it() -> None:
    report = full_report()
    assert report.knowledge is not None
    [error] = report.knowledge.errors.items
    solved = error.occurrences[0]
    turn = replace(solved.turn, turn_id="change-id")
    change = replace(solved.fact, text="The order was changed.", turns=(turn,))
    occurrence = replace(solved, evidence=(change,))
    errors = Listed((replace(error, occurrences=(occurrence,)),), 1)
    knowledge = replace(report.knowledge, errors=errors)
    parsed = ParsedPage(activity_page(replace(report, knowledge=knowledge)))
    assert "The order was changed." in parsed.text
    assert "#turn-change-id" in parsed.attributes("href")
    assert "turn-change-id" in parsed.attributes("id")


def test_a_report_without_persons_links_to_no_file() -> None:
    report = full_report()
    page = activity_page(replace(report, scope=replace(report.scope, redacts_persons=True)))
    assert "file:" not in page
    assert "a:3" in ParsedPage(page).text


def test_every_list_says_what_it_leaves_out() -> None:
    text = " ".join(ParsedPage(activity_page(full_report())).text.split())
    for sentence in (
        "1 of 2 turns, the last ones, are shown.",
        "2 of 30 decisions are shown.",
        "2 of 7 facts, the newest, are shown.",
        "1 of 4 entities, those of most turns, are shown.",
        "1 of 5 errors, those of most turns, are shown.",
        "1 of 6 open problems, the newest, are shown.",
        "1 of 4 quarantined turns are shown.",
        "1 of 9 turns, the newest, are shown.",
        "and 2 more",
    ):
        assert sentence in text


def test_a_report_of_nothing_says_so_in_every_section() -> None:
    report = full_report()
    nothing = ActivityReport(
        scope=replace(report.scope, groups=(), since=None, until=None),
        missing=("There is no graph.",),
        contents=contents(rows()),
        timeline=ReportTimeline((), 0, 0),
        knowledge=None,
        noise=(),
        usage=agent_usage(rows(), subagents()),
        own_cost=OwnCost((), 0.0, (), Listed()),
        pending=PendingTurns(Listed(), (), (), (), Listed(), ()),
    )
    text = ParsedPage(activity_page(nothing)).text
    for sentence in (
        "There is no graph.",
        "There are no turns: run `turnetl backfill`",
        "No rule marks a turn.",
        "No run wrote to the graph.",
        "No turn is quarantined.",
        "There is no gap.",
        "No turn is stale.",
    ):
        assert sentence in text


def test_a_fact_that_no_longer_holds_is_marked_in_words() -> None:
    assert "ended on 2026-03-02 09:00" in ParsedPage(activity_page(full_report())).text


def test_costs_without_a_price_are_unknown_and_not_zero() -> None:
    assert "they saved unknown" in ParsedPage(activity_page(full_report())).text


@pytest.mark.full
def test_the_same_report_is_the_same_page() -> None:
    assert activity_page(full_report()) == activity_page(full_report())


def test_a_chart_of_one_week_has_one_label() -> None:
    report = replace(full_report(), contents=contents(rows(row("a"))))
    assert ParsedPage(activity_page(report)).text.count("2026-W10") > 1
