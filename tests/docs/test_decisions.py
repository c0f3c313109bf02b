"""Decisions are recorded per package, one row each."""

import re

import pytest

from tests.cli.command import ROOT

PAGES = sorted((ROOT / "docs" / "decisions").iterdir())
PACKAGES = {path.stem for path in (ROOT / "turnetl").iterdir()} - {"__init__", "__pycache__"}
OTHER = {"flows": "the other package", "development": "set-up and tests"}


def test_a_page_of_decisions_is_named_after_a_package(subtests: pytest.Subtests) -> None:
    for page in PAGES:
        with subtests.test(page=page):
            assert page.stem in PACKAGES | OTHER.keys()
            assert page.read_text().startswith(
                f"# Decisions: {page.stem}\n\n| decision | choice | why |\n"
            )


def test_a_decision_has_a_choice(subtests: pytest.Subtests) -> None:
    for page in PAGES:
        with subtests.test(page=page):
            for row in page.read_text().splitlines()[4:]:
                cells = re.split(r"(?<!\\) \| ", row.removeprefix("| ").removesuffix(" |"))
                assert len(cells) == 3, row
                assert all(cell.strip() for cell in cells), row


def test_no_decision_is_recorded_twice() -> None:
    rows = [row for page in PAGES for row in page.read_text().splitlines()[4:]]
    decisions = [row.partition(" | ")[0] for row in rows]
    assert sorted(decisions) == sorted(set(decisions))
