"""The progress bar shows what a run has cost, what it is expected to cost, and its budget."""

import pytest

from turnetl.base.progress import ProgressUpdate, RunCost
from turnetl.console.progress_bars import ProgressBars, cost_text


@pytest.mark.parametrize(
    ("cost", "shown"),
    [
        (RunCost(9_000, 0.042, 66_000, 0.3102, None, 0.5), "$0.042 of ~$0.310, budget $0.500"),
        (RunCost(9_000, 12.5, 66_000, 31.0, None, 50.0), "$12.50 of ~$31.00, budget $50.00"),
        (RunCost(9_000, 0.042), "$0.042"),
        (RunCost(9_000, None, 66_000), "9,000 of ~66,000 tokens"),
        (RunCost(9_000, None, 66_000, None, 70_000), "9,000 of ~66,000 tokens, budget 70,000"),
        (RunCost(9_000, 0.042, 66_000, 0.3, 70_000), "9,000 of ~66,000 tokens, budget 70,000"),
        (RunCost(9_000, 0.0, 66_000, 0.0), "9,000 of ~66,000 tokens"),
        (RunCost(0, 0.0), ""),
    ],
)
def test_the_cost_is_in_dollars_or_in_tokens_if_the_price_or_the_budget_is(
    cost: RunCost, shown: str
) -> None:
    assert cost_text(cost) == shown


def test_the_name_of_a_bar_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with ProgressBars() as bars:
        bars.advance(ProgressUpdate("ingest", "a\nb\x1b[31m", 1, 2))
    printed = capsys.readouterr().err
    assert "a\\nb\\x1b[31m" in printed
