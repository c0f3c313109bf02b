"""Regular expressions that a person wrote: are they sound, and where do they match?

They are Rust's, as polars has them: their time grows with the text and with the pattern, and never
beyond. Bounded here are how large a pattern is once its repetitions are written out, and how much
of a text it reads.
"""

import re
from collections.abc import Mapping, Sequence

import polars as pl

from turnetl import schema

VERSION = 1
"""Of all that decides where the same pattern matches."""

READ = 20_000
"""Characters of a text, from its beginning: rules need no more, and a pattern made to be slow takes
seconds over them."""
LONGEST = 1000
"""Characters of a pattern."""
_TIMES = 8
"""The engine compiles up to ten megabytes, and a pattern must fit into them so many times."""

CALLS = ("name", "input", "outcome")
"""What may be named of `tools`."""


def columns() -> tuple[str, ...]:
    """Return the columns of `schema.TURNS` that patterns can read, calls apart."""
    readable = (pl.String, schema.TEXTS)
    return tuple(one.name for one in schema.TURNS.columns if one.dtype in readable)


def complaint(pattern: str) -> str | None:
    """Say what is wrong with a pattern, and what to do; None if nothing is."""
    if not pattern:
        return "is empty; say what it shall match"
    if len(pattern) > LONGEST:
        return f"has more than {LONGEST:,} characters; make several of it"
    why = _refusal(pattern)
    if why is None:
        # The line break ends a comment that the pattern may end with.
        again = _refusal(f"(?:{pattern}\n){{{_TIMES}}}")
        why = again if again == _TOO_LARGE else None
    if why is None or why == _TOO_LARGE:
        return why
    return f"does not compile: {why}; patterns are Rust's regular expressions, without look-around"


_TOO_LARGE = (
    "is too large once its repetitions are written out; repeat less often, or narrower letters"
    r" ([a-z0-9] instead of \w)"
)


def _refusal(pattern: str) -> str | None:
    try:
        pl.Series([""]).str.contains(pattern)
    except pl.exceptions.ComputeError as error:
        said = str(error)
        if "size limit" in said:
            return _TOO_LARGE
        found = re.search(r"^error: (.+)$", said, re.MULTILINE)
        return found[1].strip() if found else said.splitlines()[0]
    return None


def matches(column: str, patterns: Sequence[str]) -> pl.Expr:
    """Return whether one of the patterns is found in the column, or in a text of its list."""
    if schema.TURNS.polars[column] == schema.TEXTS:
        return pl.col(column).list.eval(_found(pl.element(), patterns)).list.any()
    return _found(pl.col(column), patterns)


def called(said: Mapping[str, Sequence[str]]) -> pl.Expr:
    """Return whether there is a call in which, of each part named, one pattern is found."""
    parts = [_found(pl.element().struct.field(name), said[name]) for name in said]
    return pl.col("tools").list.eval(pl.all_horizontal(parts)).list.any()


def _found(text: pl.Expr, patterns: Sequence[str]) -> pl.Expr:
    read = text.str.head(READ)
    found = [read.str.contains(pattern) for pattern in patterns]
    return pl.any_horizontal(found).fill_null(value=False)
