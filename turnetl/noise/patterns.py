"""Evaluate the regular expressions of users' own rules.

`turnetl.base.regex_check` bounds the size of a pattern; this module, how much text it searches.
"""

from collections.abc import Mapping, Sequence

import polars as pl

from turnetl.base import schema

VERSION = 1
"""Version of everything that decides where a given pattern matches."""

SEARCHED_CHARS = 20_000
"""Characters of a text, from its start, that are searched: enough for a rule, and few enough that a
deliberately slow pattern takes seconds."""
CALL_FIELDS = ("name", "input", "result")
"""The fields of `tool_calls` that a rule can search."""


def searchable_columns() -> tuple[str, ...]:
    """Return the columns of `schema.TURNS` that patterns can search, without `tool_calls`."""
    searchable = (pl.String, schema.TEXTS)
    return tuple(column.name for column in schema.TURNS.columns if column.dtype in searchable)


def matches(column: str, patterns: Sequence[str]) -> pl.Expr:
    """Return whether one of the patterns matches the column, or a text of its list."""
    if schema.TURNS.polars[column] == schema.TEXTS:
        return pl.col(column).list.eval(_matches_any(pl.element(), patterns)).list.any()
    return _matches_any(pl.col(column), patterns)


def matches_call(patterns: Mapping[str, Sequence[str]]) -> pl.Expr:
    """Return whether a single call matches: for each field given, one of its patterns."""
    fields = [_matches_any(pl.element().struct.field(name), patterns[name]) for name in patterns]
    return pl.col("tool_calls").list.eval(pl.all_horizontal(fields)).list.any()


def _matches_any(text: pl.Expr, patterns: Sequence[str]) -> pl.Expr:
    searched = text.str.head(SEARCHED_CHARS)
    matched = [searched.str.contains(pattern) for pattern in patterns]
    return pl.any_horizontal(matched).fill_null(value=False)
