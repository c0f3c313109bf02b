"""The page and the table of two templates: every value is text, and none is left out."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.html.html_parsing import ParsedPage
from turnetl.base.exit_code import ExitCode
from turnetl.base.model import GroupId, TurnId, Usage
from turnetl.evaluation.compare_templates import (
    CheckedFact,
    ComparedTemplate,
    DistinctFact,
    ExpectedFact,
    LabelScore,
    SampledTurn,
    TemplateComparison,
    TrialDates,
)
from turnetl.evaluation.template_trial import FailedTurn
from turnetl.extraction.port import DiscardReason
from turnetl.report_pages.template_page import template_page
from turnetl.views import templates as view

AT = datetime(2026, 3, 2, 9, tzinfo=UTC)
TURN = TurnId("5d0a1c7e-6f0f-5f8e-9c1b-7b1f3a0c2d4e")


def template(text: str) -> ComparedTemplate:
    fact = DistinctFact(text, text, text, text, AT, TURN, text, 1, text, 0.4, shares_entity=False)
    label = CheckedFact(
        ExpectedFact(TURN, text, (), 2), is_found=False, nearest=text, similarity=0.1
    )
    return ComparedTemplate(
        name=text,
        path=Path("templates", "a.md"),
        digest="d" * 32,
        tokens=10,
        entities=3,
        facts=2,
        invalidated=0,
        dates=TrialDates(0, 2, 0, 0),
        only_facts=(fact,),
        only_entities=(text,),
        discarded={DiscardReason.HASH: 1},
        junk={DiscardReason.GENERIC_WORD: (text,)},
        failed=(FailedTurn(TURN, text),),
        usage=Usage(2, 100, 10, 0.01),
        labels=LabelScore((label,), 2, 0),
    )


def comparison(text: str) -> TemplateComparison:
    return TemplateComparison(
        group=GroupId("shop"),
        seed=0,
        sampled=2,
        candidates=9,
        turns=(SampledTurn(TURN, "ordinary", 10, AT, text, 1),),
        templates=(template(text), template(text)),
        fact_similarity=0.6,
        unused_labels=1,
        paid={"extract": Usage(2, 100, 10, 0.01)},
        model=text,
        extractor="llm",
        stopped=None,
        compared_at=AT,
    )


@pytest.mark.full
@given(st.text(min_size=1))
def test_no_text_adds_a_tag_or_an_attribute(text: str) -> None:
    def shape(page: str) -> list[str]:
        return [tag for tag, _ in ParsedPage(page).tags if tag not in {"a", "span"}]

    assert shape(template_page(comparison(text))) == shape(template_page(comparison("a")))


def test_the_page_loads_nothing_and_runs_nothing() -> None:
    parsed = ParsedPage(template_page(comparison("<script>alert(1)</script>")))
    assert not parsed.names() & {"script", "link", "img", "iframe", "form"}


def test_a_fact_leads_to_its_archive() -> None:
    page = template_page(comparison("/archives/a.jsonl"))
    assert 'href="file:///archives/a.jsonl"' in page


def test_a_template_without_a_fact_says_so() -> None:
    report = comparison("a")
    empty = replace(report.templates[0], facts=0, only_facts=())
    matched = replace(report.templates[1], only_facts=())
    page = template_page(replace(report, templates=(empty, matched)))
    assert "It found no fact." in page
    assert "The other template found a similar fact for each." in page


def test_every_figure_has_a_value_for_both_templates() -> None:
    rows = view.comparison_rows(comparison("a"))
    assert all(first == second for _, first, second in rows)
    figures = {name: first for name, first, _ in rows}
    assert figures["junk kept"] == "1"
    assert figures["labels found (recall)"] == "0 %"
    assert figures["tokens in"] == "100"
    assert "labels found (recall)" not in dict(
        row[:2] for row in view.comparison_rows(without_labels(comparison("a")))
    )


def without_labels(report: TemplateComparison) -> TemplateComparison:
    first, second = (replace(one, labels=None) for one in report.templates)
    return replace(report, templates=(first, second))


def test_a_complete_comparison_has_no_warning() -> None:
    report = comparison("a")
    first, second = (replace(one, failed=()) for one in report.templates)
    complete = replace(report, templates=(first, second), unused_labels=0)
    assert [*view.comparison_messages(complete)] == []
    assert "verdict bad" not in template_page(complete)
    assert "verdict bad" in template_page(comparison("a"))


def test_what_is_missing_is_said() -> None:
    messages = "\n".join(view.comparison_messages(comparison("a")))
    assert "it cannot be ingested with A, `a`: a" in messages
    assert "1 label of turns that are not compared" in messages
    assert next(
        view.comparison_messages(replace(comparison("a"), stopped="the budget is used up"))
    ) == (
        "the budget is used up: 1 of 2 turns are compared; the same command continues with the "
        "responses that are paid for"
    )


def test_the_exit_code_says_how_it_ended() -> None:
    report = comparison("a")
    assert report.exit_code is ExitCode.DONE
    assert replace(report, turns=()).exit_code is ExitCode.FAILED
    assert replace(report, turns=(), stopped="budget").exit_code is ExitCode.STOPPED
