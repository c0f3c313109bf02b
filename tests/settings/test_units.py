"""Amounts as people write them."""

import pytest

from turnetl.base.errors import BadUsage
from turnetl.settings import sections


def test_a_budget_is_written_as_people_write_amounts(subtests: pytest.Subtests) -> None:
    for text, budget in [
        ("5usd", {"usd": 5.0}),
        ("$5", {"usd": 5.0}),
        ("$ 2.50", {"usd": 2.5}),
        ("2.50", {"usd": 2.5}),
        (".5", {"usd": 0.5}),
        ("20 dollars", {"usd": 20.0}),
        ("200k tokens", {"tokens": 200_000}),
        ("200k", {"tokens": 200_000}),
        ("1.5M tokens", {"tokens": 1_500_000}),
        ("1.5m-tokens", {"tokens": 1_500_000}),
        ("200,000 tokens", {"tokens": 200_000}),
        ("none", {"usd": None, "tokens": None}),
    ]:
        with subtests.test(text=text):
            assert sections.parse_budget([text]) == budget


def test_a_budget_may_have_both_dollars_and_tokens() -> None:
    assert sections.parse_budget(["5usd", "1m"]) == {"usd": 5.0, "tokens": 1_000_000}


@pytest.mark.parametrize(
    "amounts",
    [["5 eur"], ["five"], ["-5"], ["0"], ["$5k"], ["5usd tokens"], ["1", "2"], ["200000"], [""]],
)
def test_an_ambiguous_or_invalid_budget_is_rejected(amounts: list[str]) -> None:
    with pytest.raises(BadUsage):
        sections.parse_budget(amounts)
