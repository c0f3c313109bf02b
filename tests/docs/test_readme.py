"""The README fits on one screen and shows what the first command prints."""

import re
import shutil
from pathlib import Path

import pytest

from tests.cli.command import ROOT, run_in_process

README = (ROOT / "README.md").read_text()


@pytest.mark.full
def test_the_first_command_prints_what_the_readme_shows(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "data" / "archives", tmp_path / "data" / "archives")
    result = run_in_process("backfill", "data/archives", folder=tmp_path)
    shown = re.search(r"^```text\n(.*?)^```", README, flags=re.DOTALL | re.MULTILINE)
    assert shown
    # The suggested commands name the program as it was started.
    before_suggestions = result.stdout.partition("Try a search:")[0]
    # The page shows a terminal of 100 columns, output to a pipe is not wrapped.
    assert " ".join(shown[1].split()).startswith(" ".join(before_suggestions.split()))


def test_the_readme_fits_on_one_screen() -> None:
    lines = README.splitlines()
    assert len(lines) <= 67
    assert max(map(len, lines)) <= 100


def test_every_link_of_the_readme_and_the_docs_leads_to_a_file() -> None:
    of_the_root = (*ROOT.glob("*.md"), ROOT / "examples" / "README.md")
    for page in (*of_the_root, *(ROOT / "docs").rglob("*.md")):
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text()):
            assert "://" in target or (page.parent / target).exists(), f"{page}: {target}"


def test_no_image_of_the_docs_is_larger_than_a_page_needs() -> None:
    images = sorted((ROOT / "docs" / "images").iterdir())
    assert images
    assert [path.name for path in images if path.stat().st_size > 150_000] == []
