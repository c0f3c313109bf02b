"""The turns of a group as its episodes: each once, in order, marked and rendered."""

import tempfile
from hashlib import blake2b
from pathlib import Path

import polars as pl

from turnetl import schema
from turnetl.episodes import chunking, classify, text
from turnetl.episodes.filters import Filters
from turnetl.episodes.partitions import partition
from turnetl.lake import Batch
from turnetl.model import GroupId
from turnetl.noise import EMPTY

_BETWEEN = "\0"
"""Stands between parts, so that a text that is cut elsewhere is another one."""


def episode_table(
    turns: pl.LazyFrame,
    filters: Filters = Filters(),  # noqa: B008 - frozen
) -> pl.DataFrame:
    """Return the rows of `schema.EPISODES`, in the order of (started_at, session_id, ordinal).

    The same turns give the same rows, in whatever order and from whatever archives they come.

    Args:
        turns: rows with the columns of `schema.TURNS`, of one group; copies of a turn among them.
        filters: which turns are noise, and what a text leaves out.
    """
    rows = partition([Batch(turns)], filters.rules, Path(tempfile.gettempdir()))
    none = pl.DataFrame(schema=schema.EPISODES.polars)
    return pl.concat([none, *(episode_rows(slice_, filters) for slice_ in rows)])


def episode_rows(turns: pl.DataFrame, filters: Filters) -> pl.DataFrame:
    """Return the rows of `schema.EPISODES` of turns that are in order and marked, each by itself.

    Args:
        turns: as `slices.partition` gives them.
        filters: what a text leaves out.
    """
    rendered = turns.with_columns(classify.TURN_KIND.alias("kind"), render_texts(turns, filters))
    split = rendered.with_columns(chunking.chunk_texts(rendered["text"]))
    counted = split.with_columns(
        pl.coalesce("noise", pl.when(EMPTY.condition).then(pl.lit(EMPTY.name))).alias("noise"),
        pl.col("chars").alias("chars_before"),
        pl.col("text").str.len_chars().cast(pl.Int64).alias("chars_after"),
        chunking.estimate_expr(pl.col("text")).alias("tokens"),
        _digests(split["parts"]),
    )
    return counted.select(schema.EPISODES.polars.names()).cast(schema.EPISODES.polars)


def render_texts(turns: pl.DataFrame, filters: Filters) -> pl.Series:
    """Return `text`, one a row: without what the patterns for its group and kind match."""
    if not filters.overrides or turns.is_empty():
        return text.render_turns(turns, filters.patterns)
    rows = turns.with_row_index("at").with_columns(classify.TURN_KIND.alias("kind"))
    alike = rows.partition_by("group_id", "kind", as_dict=True)
    told = [
        some.select("at", text.render_turns(some, filters.patterns_for(GroupId(group), kind)))
        for (group, kind), some in alike.items()
    ]
    return pl.concat(told).sort("at")["text"]


def _digests(of: pl.Series) -> pl.Series:
    """Return `text_hash`, one a text in parts."""
    # polars has no digest that its next release would not give otherwise.
    joined = of.list.join(_BETWEEN).cast(pl.Binary)
    said = [blake2b(text, digest_size=16).hexdigest() for text in joined.to_list()]
    return pl.Series("text_hash", said, dtype=pl.String)
