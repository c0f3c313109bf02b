"""Texts as one column, for looking at all of them at once."""

import polars as pl


def column(texts: list[str]) -> pl.Series:
    """Return the texts, half a character as a question mark: it cannot stand in a column."""
    try:
        return pl.Series(texts, dtype=pl.String)
    except UnicodeEncodeError:
        whole = [text.encode("utf-8", "replace").decode() for text in texts]
        return pl.Series(whole, dtype=pl.String)
