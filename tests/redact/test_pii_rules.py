"""What all rules for personal data have in common."""

from re import _parser  # type: ignore[attr-defined]  # nothing else parses a pattern

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnetl.redact.pii import PII_RULES, SUBJECTS
from turnetl.redact.prefilter import pii_candidates

MAX_BYTES = 2500
"""Bytes that a rule may read from one place: with a limit, time grows with the text only."""


def test_a_rule_reads_a_bounded_number_of_bytes_from_any_place(subtests: pytest.Subtests) -> None:
    for rule in PII_RULES:
        with subtests.test(rule=rule):
            for pattern in (rule.pattern.encode(), rule.reversed_prefix):
                assert _parser.parse(pattern).getwidth()[1] <= MAX_BYTES


@given(st.lists(st.text("jane@shop.de:~/$ 10-é%4\n", max_size=60), max_size=5))
def test_the_rules_of_a_text_depend_on_that_text_only(texts: list[str]) -> None:
    together = pii_candidates(texts)
    for index, text in enumerate(texts):
        assert together.get(index, []) == pii_candidates([text]).get(0, [])


def test_a_text_without_personal_data_is_tried_on_few_rules() -> None:
    text = "def main(arguments):\n    return [run(each) for each in arguments]\n"
    assert pii_candidates([text]) == {}
    assert len(PII_RULES) == sum(len(subject.rules) for subject in SUBJECTS)
