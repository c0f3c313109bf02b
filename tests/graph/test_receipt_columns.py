"""The columns of a receipt are defined once, in `schema.RECEIPTS`; everything else is derived."""

import re
from dataclasses import fields, replace

import polars as pl
import pytest

from tests.graph.sample_changes import history, receipt
from turnetl import schema
from turnetl.graph import ladybug_cypher, neo4j_cypher
from turnetl.graph.from_rows import receipt_from_row
from turnetl.graph.to_rows import receipt_row
from turnetl.graph_model import Receipt
from turnetl.model import Usage
from turnetl.schema import Column

ADDED = Column("reviewed_by", pl.String, "who reviewed the turn")
COUNTED = Column("reviews", pl.Int64, "how often the turn was reviewed")
DERIVED = [c.name for c in schema.RECEIPTS.columns if c.name not in ("turn_id", "group_id")]
STORE_COLUMNS = ("sequence", "before_images")
COLUMNS = (*schema.RECEIPTS.columns, ADDED, COUNTED)


def test_a_receipt_has_exactly_the_columns_of_the_schema() -> None:
    names = [field.name for field in (*fields(Receipt), *fields(Usage)) if field.name != "usage"]
    assert sorted(names) == sorted(column.name for column in schema.RECEIPTS.columns)


def test_the_table_has_each_column_once_with_its_type() -> None:
    statement = ladybug_cypher.turn_commit_table(COLUMNS)
    defined = re.findall(r"(\w+) (STRING|INT64|DOUBLE|TIMESTAMP)\b", statement)
    assert [name for name, _ in defined] == [*(c.name for c in COLUMNS), *STORE_COLUMNS]
    assert "tools STRING[]" in statement
    assert dict(defined)["reviews"] == "INT64"
    assert "turn_id STRING PRIMARY KEY" in statement
    assert ladybug_cypher.turn_commit_table(schema.RECEIPTS.columns) in ladybug_cypher.SCHEMA


def test_the_statement_that_writes_a_receipt_sets_each_column_once() -> None:
    statement = ladybug_cypher.create_turn_commit(COLUMNS)
    written = re.findall(r"(\w+): (?:CAST\()?\$(\w+)", statement)
    assert written == [(name, name) for name in [*(c.name for c in COLUMNS), *STORE_COLUMNS]]
    assert "reviews: CAST($reviews AS INT64)" in statement


def test_the_query_for_receipts_returns_each_column_once() -> None:
    query = ladybug_cypher.read_receipts(COLUMNS)
    returned = re.findall(r"c\.(\w+)", query.partition("RETURN")[2])
    assert returned == [column.name for column in COLUMNS]


def test_the_query_for_a_commit_returns_its_number_and_before_images_too() -> None:
    query = ladybug_cypher.read_commit(COLUMNS)
    returned = re.findall(r"c\.(\w+)", query.partition("RETURN")[2])
    assert returned == [*(column.name for column in COLUMNS), *STORE_COLUMNS]


@pytest.mark.parametrize("column", DERIVED)
def test_no_statement_for_a_server_names_a_column(column: str) -> None:
    """All properties of a TurnCommit are set and read there as one map."""
    texts = [value for value in vars(neo4j_cypher).values() if isinstance(value, str)]
    assert not re.search(rf"\bc\.{column}\b", "".join(texts))
    assert "SET c = $commit" in neo4j_cypher.CREATE_TURN
    assert "item {.*" in neo4j_cypher.RECEIPTS


def test_a_row_has_each_column_once_and_reads_back_as_the_receipt() -> None:
    for change in history():
        written = replace(receipt(change), usage=Usage(3, 5, 7, 1, cached_tokens=2, seconds=4))
        row = receipt_row(written)
        assert list(row) == [column.name for column in schema.RECEIPTS.columns]
        assert receipt_from_row(row) == written
        assert {type(row["cost"]), type(row["seconds"])} == {float}


def test_a_row_without_a_null_column_reads_back_as_the_receipt() -> None:
    """Neo4j stores no property that is null."""
    first = receipt(history()[0])
    written = replace(first, ended_at=None, cwd=None, git_branch=None, usage=Usage(cost=None))
    row = {name: value for name, value in receipt_row(written).items() if value is not None}
    assert receipt_from_row(row) == written
