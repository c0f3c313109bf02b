"""Summaries without a model."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.summaries.facts import START, fact
from turnetl.base.model import Entity, Fact, GroupId
from turnetl.summaries.rule_summary import MAX_CHARS, rule_summary

PARSER = Entity("parser", GroupId("zoo"), "parser.py", ("File",), "", START)


def dated(text: str, relation: str, day: int, **fields: object) -> Fact:
    return fact(text, text, relation=relation, valid_at=START + timedelta(days=day), **fields)


def test_a_summary_says_what_is_open_decided_changed_and_what_it_is() -> None:
    summary = rule_summary(
        PARSER,
        [
            dated("`parser.py` splits lines.", "DESCRIBED", 0),
            dated("`parser.py` was created.", "CREATED", 1),
            dated("The user decided: no regular expressions.", "DECIDED", 2),
            dated("The user asked: make it faster", "ASKED", 3),
            dated("`pytest` failed: 2 tests", "FAILED_WITH", 4),
        ],
    )
    assert summary.splitlines() == [
        "Open problem, 2026-03-05: `pytest` failed: 2 tests",
        "Decision, 2026-03-03: No regular expressions.",
        "Change, 2026-03-02: `parser.py` was created.",
        "Explanation, 2026-03-01: `parser.py` splits lines.",
        "2026-03-04: The user asked: make it faster",
    ]


def test_a_problem_that_was_solved_is_not_in_it() -> None:
    solved = dated("`pytest` failed: 2 tests", "FAILED_WITH", 4, invalid_at=START)
    assert "failed" not in rule_summary(PARSER, [solved, dated("It splits.", "DESCRIBED", 0)])


def test_of_many_facts_the_latest_are_in_it() -> None:
    summary = rule_summary(
        PARSER, [dated(f"change {day:03}", "MODIFIED", day) for day in range(300)]
    )
    assert "change 299" in summary
    assert "change 298" in summary
    assert "change 297" not in summary


def test_an_entity_without_active_facts_has_no_summary() -> None:
    assert rule_summary(PARSER, [dated("x", "MODIFIED", 0, invalid_at=START)]) == ""


def test_a_fact_without_a_date_is_dated_by_its_creation() -> None:
    assert "2026-03-01: It splits." in rule_summary(
        PARSER, [fact(text="It splits.", valid_at=None, relation="KNOWS")]
    )


def test_a_long_fact_is_shortened_and_stays_on_one_line() -> None:
    summary = rule_summary(PARSER, [dated("word\n" * 1_000, "MODIFIED", 0)])
    assert len(summary.splitlines()) == 1
    assert summary.endswith("…")


@pytest.mark.parametrize(
    ("described_as", "heading"),
    [
        ("Function in `rows.py`", ["Function in `rows.py`."]),
        ("Test that failed with `KeyError`", ["Test that failed with `KeyError`."]),
        ("Decision", []),
        ("", []),
    ],
)
def test_a_summary_begins_with_what_it_is_unless_that_is_its_label(
    described_as: str, heading: list[str]
) -> None:
    entity = replace(PARSER, attributes={"described_as": described_as})
    assert rule_summary(entity, [fact()]).splitlines()[:-1] == heading


relations = st.sampled_from(["DECIDED", "MODIFIED", "FAILED_WITH", "DESCRIBED", "OTHER"])


@given(
    st.lists(
        st.builds(dated, st.text(min_size=1), relations, st.integers(0, 9)),
        max_size=30,
        unique_by=lambda fact: fact.uuid,
    ),
    st.randoms(use_true_random=False),
)
def test_the_same_facts_give_the_same_summary_within_the_limit(
    facts: Sequence[Fact], random: object
) -> None:
    shuffled = [*facts]
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    summary = rule_summary(PARSER, facts)
    assert rule_summary(PARSER, shuffled) == summary
    assert len(summary) <= MAX_CHARS


def test_of_decisions_that_say_the_same_the_latest_is_told_with_what_it_replaced() -> None:
    again = dated("The agent decided: No regular expressions in parser.py", "DECIDED", 1)
    last = dated("The user decided: no regular expressions in `parser.py`.", "DECIDED", 2)
    older = dated("“no regular expressions” supersedes “one regular expression”", "SUPERSEDES", 2)
    replaced = "(replaces “one regular expression”)"
    assert rule_summary(PARSER, [again, last, replace(older, source=last.source)]).splitlines() == [
        f"Decision, 2026-03-03: No regular expressions in `parser.py`. {replaced}",
    ]


def test_what_fixed_an_error_has_a_label_of_its_own() -> None:
    summary = rule_summary(PARSER, [dated("`pytest` was fixed.", "FIXED_BY", 0)])
    assert summary == "Fixed, 2026-03-01: `pytest` was fixed."


def test_a_long_fact_is_cut_between_two_words() -> None:
    summary = rule_summary(PARSER, [dated("seventeen " * 30, "MODIFIED", 0)])
    assert summary.endswith("seventeen…")
