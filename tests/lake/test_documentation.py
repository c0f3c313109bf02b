"""docs/data-model.md describes every column of the turns and episodes tables, and every file."""

from pathlib import Path

import polars as pl
import pytest

from turnetl.base import schema
from turnetl.lake import ArchiveMetadata

PAGE = Path(__file__).parents[2] / "docs" / "data-model.md"
TYPES = {
    pl.String(): "string",
    pl.Boolean(): "boolean",
    pl.Int32(): "int32",
    pl.Int64(): "int64",
    schema.TIME: "timestamp",
    schema.TEXTS: "list of string",
    pl.List(schema.TOOL_CALL): "list of struct",
    pl.List(schema.MESSAGE_USAGE): "list of struct",
}


def rows(columns: tuple[schema.Column, ...]) -> list[str]:
    """Return the lines of a Markdown table."""
    return [
        f"| `{column.name}` | {TYPES[pl.Schema({'': column.dtype})['']]} | {column.description} |"
        for column in columns
    ]


@pytest.mark.parametrize(
    ("heading", "columns"),
    [
        ("### turns", schema.TURNS.columns),
        ("### episodes", schema.EPISODES.columns[len(schema.TURNS.columns) :]),
    ],
)
def test_every_column_is_documented(heading: str, columns: tuple[schema.Column, ...]) -> None:
    section = PAGE.read_text().split(f"\n{heading}\n")[1].split("\n### ")[0].split("\n## ")[0]
    documented = [line for line in section.splitlines() if line.startswith("| `")]
    assert documented == rows(columns)


def test_the_fields_of_a_tool_call_and_of_a_messages_usage_are_documented() -> None:
    text = PAGE.read_text()
    fields = (*schema.TOOL_CALL.fields, *schema.MESSAGE_USAGE.fields)
    assert [field.name for field in fields if f"`{field.name}`" not in text] == []


def test_the_versions_are_documented() -> None:
    text = PAGE.read_text()
    for table in (schema.TURNS, schema.EPISODES):
        assert f"| `{table.name}` | {table.version} |" in text


def test_the_metadata_of_a_turns_file_is_documented() -> None:
    text = PAGE.read_text()
    fields = ArchiveMetadata.__dataclass_fields__
    assert [name for name in fields if f"`{name}`" not in text] == []
