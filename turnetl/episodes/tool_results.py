"""Of the outcome of a call, what matters: how it ended, and what its content type keeps of it."""

import polars as pl

from turnetl.episodes import content, text_cleaning


def condense_results(calls: pl.DataFrame) -> pl.Series:
    """Return `came`, one a call: what came of it in one line, or nothing.

    Args:
        calls: columns `role`, `outcome`, `is_error`, `here`; one row a call.
    """
    texts = calls.select(text="result", role="role", failed="is_error", cwd="here")
    # Most of all text is only shown: it goes before any pattern reads it.
    read = pl.when(content.DISCARDED).then(pl.lit("")).otherwise("text").alias("text")
    kept = content.condense(text_cleaning.clean_results(texts.with_columns(read)), content.OUTCOMES)
    failed = pl.format("failed: {}", "text").str.strip_chars_end(": ")
    came = pl.when("failed").then(failed).otherwise("text")
    return texts.select("failed").with_columns(kept).select(came=came)["came"]
