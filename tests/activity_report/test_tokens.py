"""The tokens of archives, by hand and against a count that knows no reader."""

from pathlib import Path

import pytest

from benchmarks import tokens
from tests import real_archives

SMALL = Path(__file__).parents[1] / "archives"
EXPECTED = {
    "claude": {
        ("claude-opus-4-6", "2026-03-01"): (8, 0, 0, 2, 0),
        ("claude-opus-4-6", "2026-03-02"): (33, 700, 2000, 60, 0),
        ("claude-haiku-4-5", "2026-03-02"): (5, 40, 300, 9, 0),
    },
    "codex": {
        ("gpt-6", "2026-03-02"): (250, 0, 800, 50, 2),
        ("gpt-6-mini", "2026-03-02"): (300, 100, 600, 70, 30),
        ("gpt-6-mini", "2026-03-03"): (2000, 0, 0, 400, 0),
    },
    "gemini": {("gemini-3-pro", "2026-03-02"): (37, 0, 80, 24, 9)},
    "opencode": {("claude-sonnet-5", "2026-03-02"): (100, 20, 900, 57, 7)},
}
"""Input, cache write, cache read, output and reasoning, by model and UTC day; counted by hand."""


@pytest.mark.parametrize("agent", EXPECTED)
def test_the_tables_and_a_naive_count_have_the_tokens_counted_by_hand(
    agent: str, tmp_path: Path
) -> None:
    assert tokens.naive(SMALL / f"tokens_{agent}") == EXPECTED[agent]
    assert tokens.of_tables(SMALL / f"tokens_{agent}", tmp_path) == EXPECTED[agent]


@pytest.mark.full
@pytest.mark.parametrize(
    "archives",
    [
        real_archives.SAMPLES,
        pytest.param(
            real_archives.ARCHIVES,
            marks=[pytest.mark.archives, real_archives.needs_archives],
        ),
    ],
    ids=["samples", "real"],
)
def test_the_tables_have_the_tokens_of_a_naive_count(archives: Path, tmp_path: Path) -> None:
    assert tokens.of_tables(archives, tmp_path) == tokens.naive(archives)
