"""Where regular expressions of a person's own rules match.

`turnetl.regex_check` bounds how large they are; here is bounded how much of a text they read.
"""

from collections.abc import Mapping, Sequence

import polars as pl

from turnetl import schema

VERSION = 1
"""Of all that decides where the same pattern matches."""

SEARCHED_CHARS = 20_000
"""Characters of a text, from its beginning: rules need no more, and a pattern made to be slow takes
seconds over them."""
CALL_FIELDS = ("name", "input", "result")
"""What may be named of `tool_calls`."""


def searchable_columns() -> tuple[str, ...]:
    """Return the columns of `schema.TURNS` that patterns can read, calls apart."""
    readable = (pl.String, schema.TEXTS)
    return tuple(one.name for one in schema.TURNS.columns if one.dtype in readable)


def matches(column: str, patterns: Sequence[str]) -> pl.Expr:
    """Return whether one of the patterns is found in the column, or in a text of its list."""
    if schema.TURNS.polars[column] == schema.TEXTS:
        return pl.col(column).list.eval(_found(pl.element(), patterns)).list.any()
    return _found(pl.col(column), patterns)


def matches_call(said: Mapping[str, Sequence[str]]) -> pl.Expr:
    """Return whether there is a call in which, of each part named, one pattern is found."""
    parts = [_found(pl.element().struct.field(name), said[name]) for name in said]
    return pl.col("tool_calls").list.eval(pl.all_horizontal(parts)).list.any()


def _found(text: pl.Expr, patterns: Sequence[str]) -> pl.Expr:
    read = text.str.head(SEARCHED_CHARS)
    found = [read.str.contains(pattern) for pattern in patterns]
    return pl.any_horizontal(found).fill_null(value=False)
