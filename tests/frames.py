"""Turns as the rows of `schema.TURNS`."""

from dataclasses import asdict

import polars as pl

from turnetl import schema
from turnetl.model import Turn


def turns(*values: Turn) -> pl.LazyFrame:
    """Return the turns in the given order, in the form of `Lake.scan_turns`."""
    rows = [asdict(value) for value in values]
    columns = {
        column.name: [_plain(row[column.name]) for row in rows] for column in schema.TURNS.columns
    }
    return pl.LazyFrame(columns, schema=schema.TURNS.polars)


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value
