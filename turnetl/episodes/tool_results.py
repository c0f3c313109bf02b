"""Condense the result of a tool call: whether it failed, and what its content type keeps of it."""

import polars as pl

from turnetl.episodes import content, text_cleaning


def condense_results(calls: pl.DataFrame) -> pl.Series:
    """Return `result`, one per call: its result on one line, or an empty string.

    Args:
        calls: columns `role`, `result`, `is_error` and `cwd`; one row per call.
    """
    texts = calls.select(text="result", role="role", failed="is_error", cwd="cwd")
    # Most text is discarded: drop it before any pattern reads it.
    text = pl.when(content.DISCARDED).then(pl.lit("")).otherwise("text").alias("text")
    cleaned = text_cleaning.clean_results(texts.with_columns(text))
    condensed = content.condense(cleaned, content.RESULTS)
    failure = pl.format("failed: {}", "text").str.strip_chars_end(": ")
    result = pl.when("failed").then(failure).otherwise("text")
    return texts.select("failed").with_columns(condensed).select(result=result)["result"]
