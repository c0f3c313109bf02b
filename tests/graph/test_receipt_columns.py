"""The columns of a receipt are defined once, in `schema.RECEIPTS`; everything else is derived."""

import re
from dataclasses import fields, replace

import pytest

from tests.graph.sample_changes import history, receipt
from turnetl.base import schema
from turnetl.base.graph_model import Receipt
from turnetl.base.model import Usage
from turnetl.graph.from_rows import receipt_from_row
from turnetl.graph.ladybug import cypher as ladybug_cypher
from turnetl.graph.ladybug import rows
from turnetl.graph.neo4j import cypher as neo4j_cypher
from turnetl.graph.to_rows import receipt_row

DERIVED = [c.name for c in schema.RECEIPTS.columns if c.name not in ("turn_id", "group_id")]
RECEIPT_NAMES = [column.name for column in schema.RECEIPTS.columns]


def test_a_receipt_has_exactly_the_columns_of_the_schema() -> None:
    names = [field.name for field in (*fields(Receipt), *fields(Usage)) if field.name != "usage"]
    assert sorted(names) == sorted(column.name for column in schema.RECEIPTS.columns)


def test_the_embedded_table_has_the_columns_of_a_query_and_the_receipt_as_one() -> None:
    (statement,) = (table for table in ladybug_cypher.SCHEMA if " TurnCommit (" in table)
    defined = re.findall(r"(\w+) (STRING|INT64)\b", statement)
    assert [name for name, _ in defined] == [
        *(name for name in RECEIPT_NAMES if name in ladybug_cypher.QUERIED),
        "sequence",
        "receipt",
        "before_images",
        "summaries",
    ]
    assert dict(defined)["first_line"] == "INT64"
    assert "turn_id STRING PRIMARY KEY" in statement


def test_the_statement_that_writes_an_embedded_receipt_sets_each_column_once() -> None:
    statement = ladybug_cypher.CREATE_TURN_COMMIT
    written = re.findall(r"(\w+): (?:CAST\()?\$(\w+)", statement)
    assert written == [(column.name, column.name) for column in ladybug_cypher.TURN_COMMIT]
    assert "sequence: CAST($sequence AS INT64)" in statement


def test_an_embedded_row_has_each_column_and_reads_back_as_the_receipt() -> None:
    for number, change in enumerate(history(), start=1):
        written = replace(receipt(change), usage=Usage(3, 5, 7, None, cached_tokens=2, seconds=4))
        row = rows.commit_row(change, written, number)
        assert [*row] == [column.name for column in ladybug_cypher.TURN_COMMIT]
        assert rows.receipt(row["receipt"], written.group_id) == written
        assert all(row[name] == getattr(written, name) for name in ladybug_cypher.QUERIED)


def test_no_statement_for_a_server_names_a_column(subtests: pytest.Subtests) -> None:
    for column in DERIVED:
        with subtests.test(column=column):
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
