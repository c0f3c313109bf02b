"""docs/noise.md documents every rule and every content type."""

import re
from pathlib import Path

from turnetl import noise
from turnetl.episodes.content import BLOCKS, RESULTS

PAGE = (Path(__file__).parents[2] / "docs" / "noise.md").read_text("utf-8")


def names_in_section(title: str) -> list[str]:
    """Return the names in the first column of the tables of a section, in order."""
    section = PAGE.split(f"## {title}\n")[1].split("\n## ")[0]
    return re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)


def test_every_built_in_rule_is_documented_in_its_order() -> None:
    enabled_by_default = [rule.name for rule in (*noise.RULES, noise.EMPTY)]
    on_demand = [rule.name for rule in noise.ON_DEMAND]
    assert names_in_section("Built-in rules") == [*enabled_by_default, *on_demand]


def test_every_content_type_is_documented_in_its_order() -> None:
    assert names_in_section("Within a turn") == [content_type.name for content_type in RESULTS]
    assert all(f"`{content_type.name}`" in PAGE for content_type in BLOCKS)
