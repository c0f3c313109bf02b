"""The tokens of a single text, as those of episodes are estimated."""

import polars as pl

from turnetl.episodes.tokens import estimate


def tokens(text: str) -> int:
    return int(estimate(pl.Series([text]))[0])
