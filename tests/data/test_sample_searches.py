"""The searches that data/README.md suggests return the right turn first."""

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from turnetl import pipeline
from turnetl.settings import Settings

ROOT = Path(__file__).parents[2]
NOW = datetime(2026, 6, 1, tzinfo=UTC)
EXPECTED = {
    "why did the checkout tests fail": ("2026-03-03-checkout.jsonl", 3),
    "why were customers charged twice": ("2026-03-24-payments.jsonl", 3),
    "why did the arm64 build fail": ("2026-04-19-heic.jsonl", 2),
}
"""By query: the file and the first line of the right turn."""


@pytest.fixture(scope="module")
async def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    settings = Settings(lake=tmp_path_factory.mktemp("lake"))
    archives = [str(ROOT / "data" / "archives")]
    await pipeline.backfill(archives, settings, pipeline.RunOptions(), lambda: NOW)
    return settings


def test_the_readme_suggests_these_searches() -> None:
    text = (ROOT / "data" / "README.md").read_text()
    assert re.findall(r'turnetl search "(.+)"', text) == list(EXPECTED)


@pytest.mark.parametrize("query", EXPECTED)
async def test_the_first_hit_is_the_right_turn(settings: Settings, query: str) -> None:
    first = (await pipeline.search_turns(query, settings, lambda: NOW, limit=1)).hits[0]
    assert (Path(first.archive).name, first.first_line) == EXPECTED[query]
