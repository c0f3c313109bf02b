"""The pages on architecture and words name packages and modules that exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
GLOSSARY = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
MAX_WORDS = 1_200


def test_the_page_has_a_line_for_each_package() -> None:
    listed = re.findall(r"^\| `(\w+)` \|", PAGE, flags=re.MULTILINE)
    existing = [path.parent.name for path in (ROOT / "turnetl").glob("*/__init__.py")]
    assert listed == sorted(existing)


@pytest.mark.parametrize("page", [PAGE, GLOSSARY], ids=["architecture", "glossary"])
def test_every_module_that_a_page_names_exists(page: str) -> None:
    named = re.findall(r"`(\w+(?:/\w+)*\.py)`", page)
    assert named
    assert [name for name in named if not (ROOT / "turnetl" / name).is_file()] == []


def test_the_page_is_short() -> None:
    assert len(PAGE.split()) <= MAX_WORDS


def test_a_term_is_explained_once() -> None:
    rows = re.findall(r"^\| ([^|]+) \| [^|]+ \| `", GLOSSARY, flags=re.MULTILINE)
    terms = [term for row in rows for term in row.strip().split(", ")]
    assert sorted(terms) == sorted(set(terms))
