"""A polars column of texts, for scanning all of them together."""

import re
from collections.abc import Sequence

import polars as pl

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_THREE_BYTES = "\ufffd"


def text_column(texts: Sequence[str]) -> pl.Series:
    """Return the texts as a column; a character of three bytes replaces a lone surrogate."""
    try:
        return pl.Series(texts, dtype=pl.String)
    except UnicodeEncodeError:
        replaced = [_LONE_SURROGATE.sub(_THREE_BYTES, text) for text in texts]
        return pl.Series(replaced, dtype=pl.String)
