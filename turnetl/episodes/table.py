"""Build the rows of an episodes table: each turn once, in order, marked and rendered."""

from hashlib import blake2b

import polars as pl

from turnetl.base import schema
from turnetl.base.model import GroupId
from turnetl.episodes import chunking, classify, text
from turnetl.episodes.filters import Filters
from turnetl.episodes.rendered_texts import RENDERED, RenderedTexts
from turnetl.noise import EMPTY

_SEPARATOR = "\0"
"""Joins the chunks of a text for its digest, so that other boundaries give another digest."""


def episode_rows(
    turns: pl.DataFrame, filters: Filters, previous: RenderedTexts | None = None
) -> pl.DataFrame:
    """Return the rows of `schema.EPISODES` for ordered and marked turns, each independently.

    Args:
        turns: a partition from `partitions.partition`.
        filters: what is removed from a text.
        previous: texts that were rendered with the same filters and need not be rendered again.
    """
    rendered = (
        rendered_columns(turns, filters)
        if previous is None
        else _completed(turns, filters, previous)
    )
    rows = turns.with_columns(rendered.get_columns()).with_columns(
        pl.coalesce("noise", pl.when(EMPTY.condition).then(pl.lit(EMPTY.name))).alias("noise"),
        pl.col("chars").alias("chars_before"),
    )
    return rows.select(schema.EPISODES.polars.names()).cast(schema.EPISODES.polars)


def _completed(turns: pl.DataFrame, filters: Filters, previous: RenderedTexts) -> pl.DataFrame:
    """Return `RENDERED` of all turns: of changed ones rendered, of the others as they were."""
    known = previous.of(turns)
    if known.is_empty():
        return rendered_columns(turns, filters)
    numbered = turns.with_row_index()
    changed = numbered.join(known.select("index"), on="index", how="anti", maintain_order="left")
    rendered = rendered_columns(changed, filters).with_columns(changed["index"])
    columns = known.columns
    complete = pl.concat([known, rendered.select(columns).cast(known.schema)])
    return complete.sort("index").drop("index").rechunk()


def rendered_columns(turns: pl.DataFrame, filters: Filters) -> pl.DataFrame:
    """Return `RENDERED` of turns, given with at least the columns of `schema.TURNS`."""
    rendered = turns.select(classify.TURN_KIND.alias("kind"), render_texts(turns, filters))
    chunked = rendered.with_columns(chunking.chunk_texts(rendered["text"]))
    measured = chunked.with_columns(
        pl.col("text").str.len_chars().cast(pl.Int64).alias("chars_after"),
        chunking.estimate_expr(pl.col("text")).alias("tokens"),
        _digests(chunked),
    )
    return measured.select(RENDERED)


def render_texts(turns: pl.DataFrame, filters: Filters) -> pl.Series:
    """Return `text`, one per row, without what the patterns for its group and kind match."""
    if not filters.overrides or turns.is_empty():
        return text.render_turns(turns, filters.patterns)
    rows = turns.with_row_index("position").with_columns(classify.TURN_KIND.alias("kind"))
    by_kind = rows.partition_by("group_id", "kind", as_dict=True)
    rendered = [
        alike.select(
            "position", text.render_turns(alike, filters.patterns_for(GroupId(group), kind))
        )
        for (group, kind), alike in by_kind.items()
    ]
    return pl.concat(rendered).sort("position")["text"]


def _digests(chunked: pl.DataFrame) -> pl.Series:
    """Return `text_hash` from `text` and `chunks`."""
    in_chunks = pl.col("chunks").list.len() > 0
    joined = pl.when(in_chunks).then(pl.col("chunks").list.join(_SEPARATOR)).otherwise("text")
    texts = chunked.select(joined.cast(pl.Binary)).to_series()
    # Not polars' own hash: its value may change with the next release.
    digests = [blake2b(data, digest_size=16).hexdigest() for data in texts.to_list()]
    return pl.Series("text_hash", digests, dtype=pl.String)
