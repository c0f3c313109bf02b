"""Turns as the rows of `schema.TURNS` and `schema.EPISODES`."""

import tempfile
from dataclasses import asdict
from pathlib import Path

import polars as pl

from turnetl.base import schema
from turnetl.base.model import Turn
from turnetl.episodes.filters import Filters
from turnetl.episodes.partitions import partition
from turnetl.episodes.table import episode_rows
from turnetl.lake import Batch


def turns(*values: Turn) -> pl.LazyFrame:
    """Return the turns in the given order, in the form of `Lake.scan_turns`."""
    rows = [asdict(value) for value in values]
    columns = {name: [_plain(row.get(name)) for row in rows] for name in schema.TURNS.polars}
    return pl.LazyFrame(columns, schema=schema.TURNS.polars)


def episode_table(
    turns: pl.LazyFrame,
    filters: Filters = Filters(),  # noqa: B008 - frozen
) -> pl.DataFrame:
    """Return the rows of `schema.EPISODES` of one group's turns, including copies of turns."""
    partitions = partition([Batch(turns)], filters.rules, Path(tempfile.gettempdir()))
    none = pl.DataFrame(schema=schema.EPISODES.polars)
    return pl.concat([none, *(episode_rows(rows, filters) for rows in partitions)])


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value
