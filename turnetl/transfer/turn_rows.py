"""Rows of `schema.TURNS`: redacted again, with the digests of their content."""

from collections.abc import Sequence
from dataclasses import asdict, replace

import polars as pl

from turnetl.base import schema
from turnetl.base.model import Turn
from turnetl.lake import turn_from_row
from turnetl.parsing.content_hash import content_hash as content_hash_of
from turnetl.redact import Redactor
from turnetl.transfer.redaction import redacted_archives

BATCH_FILES = 64
"""Turns files whose texts are scanned together."""


def redacted_tables(
    tables: Sequence[pl.DataFrame], redactor: Redactor
) -> list[tuple[pl.DataFrame, int]]:
    """Return the rows of each archive without secrets, and the number of redactions.

    Rows in which nothing is redacted are returned as they are. One scan over several archives is
    faster than one for each.
    """
    turns = [[turn_from_row(row) for row in table.iter_rows(named=True)] for table in tables]
    redacted = redacted_archives(turns, redactor)
    return [_with_turns(table, one) for table, one in zip(tables, redacted, strict=True)]


def _with_turns(
    table: pl.DataFrame, redacted: Sequence[tuple[Turn, int]]
) -> tuple[pl.DataFrame, int]:
    count = sum(found for _, found in redacted)
    if not count:
        return table, 0
    changed = [
        replace(turn, content_hash=content_hash(turn)) if found else turn
        for turn, found in redacted
    ]
    return turns_frame(changed), count


def turns_frame(turns: Sequence[Turn]) -> pl.DataFrame:
    """Return turns as rows of `schema.TURNS`."""
    rows = [asdict(turn) for turn in turns]
    columns = {
        name: [list(row[name]) if isinstance(row[name], tuple) else row[name] for row in rows]
        for name in schema.TURNS.polars
    }
    return pl.DataFrame(columns, schema=schema.TURNS.polars)


def content_hash(turn: Turn) -> str:
    """Return the digest that a parse gives a turn with this content."""
    calls = [(call.name, call.input, call.result, call.is_error) for call in turn.tool_calls]
    return content_hash_of(turn, turn.assistant_text, calls)
