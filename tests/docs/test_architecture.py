"""The page on the architecture names the packages and modules that exist, in few words."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
MAX_WORDS = 1_200


def test_the_page_has_a_line_for_each_package() -> None:
    listed = re.findall(r"^\| `(\w+)` \|", PAGE, flags=re.MULTILINE)
    existing = [path.parent.name for path in (ROOT / "turnetl").glob("*/__init__.py")]
    assert listed == sorted(existing)


def test_every_module_that_the_page_names_exists() -> None:
    named = re.findall(r"`(\w+(?:/\w+)*\.py)`", PAGE)
    assert named
    assert [name for name in named if not (ROOT / "turnetl" / name).is_file()] == []


def test_the_page_is_short() -> None:
    assert len(PAGE.split()) <= MAX_WORDS
