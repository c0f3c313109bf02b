"""docs/data-model.md describes every label and property of the graph."""

import re
from pathlib import Path

import pytest

from tests.builders import GROUP, START
from tests.graph.sample_changes import NOW, PROFILE, history
from turnetl.base.graph_model import Lease
from turnetl.graph import to_rows
from turnetl.graph.ladybug import cypher

GRAPH = (
    (Path(__file__).parents[2] / "docs" / "data-model.md").read_text().split("\n## The graph\n")[1]
)


def section(heading: str) -> str:
    return GRAPH.split(f"\n### {heading}\n")[1].split("\n### ")[0]


def documented_properties(label: str) -> set[str]:
    """Return the code words in the row of a label."""
    (row,) = [line for line in GRAPH.splitlines() if line.startswith(f"| `{label}`")]
    return set(re.findall(r"`(\w+)`", row))


def test_every_property_of_a_turn_group_is_documented() -> None:
    rows = re.findall(r"^\| `(\w+)` \|", section("TurnGroup"), re.MULTILINE)
    of_a_lease = to_rows.group_row(Lease(GROUP, "o", NOW, 1), PROFILE)
    assert rows == [*of_a_lease, "sequence", "creation_id"]


@pytest.mark.parametrize("label", ["Episodic", "Entity", "RELATES_TO", "Saga"])
def test_every_property_that_a_turn_writes_is_documented(label: str) -> None:
    first = history()[0]
    written = {
        "Episodic": to_rows.episode_rows(first, START)[0],
        "Entity": to_rows.entity_row(first.entities[0]),
        "RELATES_TO": to_rows.fact_row(first.facts[0]),
        "Saga": to_rows.saga_row(first, START),
    }
    assert set(written[label]) <= documented_properties(label)


def test_every_table_that_turnetl_fills_is_documented() -> None:
    tables = re.findall(r"TABLE IF NOT EXISTS (\w+)", "".join(cypher.SCHEMA))
    unused = {"Community", "HAS_MEMBER"}  # Graphiti's own, which turnetl leaves empty
    assert [name for name in tables if name not in unused and f"`{name}`" not in GRAPH] == []
