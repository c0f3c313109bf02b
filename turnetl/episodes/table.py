"""The turns of a group as its episodes: each once, in order, marked and rendered."""

import polars as pl

from turnetl import ids, noise, schema
from turnetl.episodes import parts, text
from turnetl.episodes.copies import as_one
from turnetl.episodes.filters import Filters
from turnetl.model import ClosedBy


def episodes(
    turns: pl.LazyFrame,
    filters: Filters = Filters(),  # noqa: B008 - frozen
) -> pl.DataFrame:
    """Return the rows of `schema.EPISODES`, in the order of (started_at, session_id, ordinal).

    The same turns give the same rows, in whatever order and from whatever archives they come.

    Args:
        turns: rows with the columns of `schema.TURNS`, of one group; copies of a turn among them.
        filters: which turns are noise, and what a text leaves out.
    """
    marked = noise.mark(in_order(once(turns)), filters.rules).collect()
    rendered = marked.with_columns(text.render(marked, filters.patterns))
    chars = pl.col("text").str.len_chars().cast(pl.Int64)
    counted = rendered.with_columns(
        pl.col("chars").alias("chars_before"),
        chars.alias("chars_after"),
        parts.tokens(pl.col("text")).alias("tokens"),
    )
    split = counted.with_columns(parts.split(counted["text"]))
    split = split.with_columns(_digests(split["parts"]))
    return split.select(schema.EPISODES.polars.names()).cast(schema.EPISODES.polars)


def _digests(of: pl.Series) -> pl.Series:
    """Return `text_hash`, one a text in parts."""
    # polars has no digest that its next release would not give otherwise.
    said = [ids.digest(*parts) for parts in of.to_list()]
    return pl.Series("text_hash", said, dtype=pl.String)


def once(turns: pl.LazyFrame) -> pl.LazyFrame:
    """Return each turn once, as the archive has it that holds most of it, with `copies`.

    It is over if an archive that holds as much says so.
    """
    order = {
        "turn_id": False,
        "replayed": False,
        "chars": True,
        "aside": False,
        "closed": True,
        "content_hash": False,
        "archive": False,
        "first_line": False,
    }
    alike = ["turn_id", "content_hash"]
    best = as_one(turns).sort([*order], descending=[*order.values()])
    return (
        best.with_columns(
            (pl.col("archive").n_unique().over("turn_id") - 1).cast(pl.Int32).alias("copies"),
            pl.col("closed").any().over(alike),
            pl.coalesce("closed_by", pl.col("closed_by").drop_nulls().first().over(alike)),
        )
        .unique("turn_id", keep="first", maintain_order=True)
        .drop("replayed", "aside")
    )


def in_order(turns: pl.LazyFrame) -> pl.LazyFrame:
    """Return the turns oldest first, `ordinal` counted anew within each session.

    Turns without a time come last, in the order that their archives give them. A turn is over when
    its session goes on, also in another archive.
    """
    placed = turns.sort("started_at", "session_id", "ordinal", "turn_id", nulls_last=True)
    goes_on = pl.int_range(pl.len()).over("session_id") < pl.len().over("session_id") - 1
    next_prompt = pl.when(goes_on).then(pl.lit(ClosedBy.NEXT_PROMPT.value))
    return placed.with_columns(
        pl.int_range(pl.len(), dtype=pl.Int32).over("session_id").alias("ordinal"),
        pl.coalesce("closed_by", next_prompt).alias("closed_by"),
        pl.col("closed") | goes_on,
    )
