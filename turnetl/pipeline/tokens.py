"""The estimated tokens of one text, by the estimator of the episodes table."""

import polars as pl

from turnetl.episodes.tokens import estimate


def tokens(text: str) -> int:
    return int(estimate(pl.Series([text]))[0])
