"""Texts as one column, for looking at all of them at once."""

import re
from collections.abc import Sequence

import polars as pl

_HALF = re.compile("[\ud800-\udfff]")
_THREE_BYTES = "\ufffd"


def column(texts: Sequence[str]) -> pl.Series:
    """Return the texts; half a character cannot stand in one: another of as many bytes does."""
    try:
        return pl.Series(texts, dtype=pl.String)
    except UnicodeEncodeError:
        return pl.Series([_HALF.sub(_THREE_BYTES, text) for text in texts], dtype=pl.String)
