"""The columns of all tables, docs/columns.md."""

from collections.abc import Sequence

import polars as pl
from polars.datatypes import DataTypeClass

from turnetl.base.schema import EPISODES, RECEIPTS, RUNS, TURN_COLUMNS, TURNS, Column, Table

_HEAD = """# Columns

The columns of each table, and the properties of the nodes that hold a table in the graph; [data
model](data-model.md) says what they mean together. Times are UTC with microseconds. A column is not
null unless its description says so. This page is generated:
`make docs`.
"""
_COLUMNS = "| column | type | description |\n|---|---|---|\n"


def reference() -> str:
    """Return the page: a section for each table."""
    of_runs = [column.name for column in TURNS.columns if column not in TURN_COLUMNS]
    remark = f"All columns of `turns` but {_listed(of_runs)}, and these."
    return "\n".join(
        (
            _HEAD,
            _section("turns", TURNS, TURNS.columns),
            _section("episodes", EPISODES, EPISODES.columns[len(TURN_COLUMNS) :], remark),
            _section("TurnCommit", RECEIPTS, RECEIPTS.columns),
            _section("TurnRun", RUNS, RUNS.columns),
        )
    )


def _section(title: str, table: Table, columns: Sequence[Column], remark: str = "") -> str:
    older = [
        f"Files of version {version} are read too: {_listed(sorted(missing))} are null there."
        for version, missing in table.later_columns.items()
    ]
    sentences = [f"Version {table.version}.", *older, remark]
    rows = "".join(
        f"| `{column.name}` | {_type_name(column.dtype)} | {column.description} |\n"
        for column in columns
    )
    return f"## {title}\n\n{' '.join(filter(None, sentences))}\n\n{_COLUMNS}{rows}"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _type_name(dtype: pl.DataType | DataTypeClass) -> str:
    """Return the type in words; of a struct with the names of its fields."""
    match pl.Schema({"": dtype})[""]:
        case pl.List(inner=inner):
            return f"list of {_type_name(inner)}"
        case pl.Struct(fields=fields):
            return f"struct ({_listed([field.name for field in fields])})"
        case pl.Datetime():
            return "timestamp"
        case other:
            return str(other).lower()
