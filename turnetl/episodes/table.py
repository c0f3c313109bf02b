"""Build the rows of an episodes table: each turn once, in order, marked and rendered."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from functools import cache
from hashlib import blake2b

import polars as pl

from turnetl.base import schema
from turnetl.base.model import GroupId
from turnetl.episodes import chunking, classify, text
from turnetl.episodes.filters import Filters
from turnetl.episodes.partitions import partition
from turnetl.episodes.report import COUNTED, FilteredGroup, group_report
from turnetl.lake import Lake
from turnetl.noise import EMPTY

RENDERED = ("kind", "text", "chunks", "chars_after", "tokens", "text_hash")
"""The columns of `schema.EPISODES` that are rendered."""
INPUTS = ("turn_id", "content_hash", "cwd", "closed_by")
"""The columns of a turn that determine what is rendered: its content by a digest."""
_MAX_SPREAD = 4
"""Rows that may be read for each row that is kept."""


class RenderedTexts:
    """The rendered columns of a group's table."""

    def __init__(self, lake: Lake, group: GroupId) -> None:
        """Read which turns the table has.

        Raises:
            TableUnusable: the table is damaged.
        """
        lake.verify_episodes(group)
        self._lake, self._group = lake, group
        self._rows = lake.scan_episodes(group)
        with lake.reading_episodes(group):
            self._turns = self._rows.select(INPUTS).with_row_index("position").collect()

    def of(self, turns: pl.DataFrame) -> pl.DataFrame:
        """Return `RENDERED` of the turns that the table has unchanged, with their `index`.

        The index is the position among `turns`, in ascending order.
        """
        keys = turns.select(INPUTS).with_row_index()
        known = keys.join(
            self._turns, on=INPUTS, how="inner", nulls_equal=True, maintain_order="left"
        )
        first = known["position"].min() if known.height else None
        last = known["position"].max()
        if not isinstance(first, int) or not isinstance(last, int):
            return self._read(0, 0).with_columns(index=pl.lit(0, pl.UInt32))
        # Turns that are far apart in the table are rendered again: its rows may exceed the memory.
        length = last - first + 1
        if length > _MAX_SPREAD * known.height:
            return self._read(0, 0).with_columns(index=pl.lit(0, pl.UInt32))
        return self._read(first, length)[known["position"] - first].with_columns(known["index"])

    def _read(self, first: int, length: int) -> pl.DataFrame:
        with self._lake.reading_episodes(self._group):
            return self._rows.slice(first, length).select(RENDERED).collect()


def write_table(
    lake: Lake,
    group: GroupId,
    filters: Filters,
    metadata: Callable[[FilteredGroup], Mapping[str, str]],
    previous: RenderedTexts | None = None,
) -> FilteredGroup:
    """Write the table of a group from its turns files, and return its report.

    Args:
        lake: holds the turns files and receives the table.
        group: the group.
        filters: which turns are noise, and what is removed from a text.
        metadata: returns the metadata of the table from its report.
        previous: texts that need not be rendered again: see `episode_rows`.

    Raises:
        Fatal: a table cannot be read or written.
    """
    counted = [pl.DataFrame(schema=schema.EPISODES.polars).select(COUNTED)]

    @cache
    def report() -> FilteredGroup:
        return group_report(group, pl.concat(counted))

    turns = partition(lake.turn_batches(group), filters.rules, lake.episodes_folder)
    with closing(turns):
        # The lake calls for the metadata after it has written the last row: only then is the report
        # complete.
        rows = _episodes(turns, filters, previous, counted)
        lake.write_episodes(group, rows, lambda: metadata(report()))
    return report()


def _episodes(
    partitions: Iterator[pl.DataFrame],
    filters: Filters,
    previous: RenderedTexts | None,
    counted: list[pl.DataFrame],
) -> Iterator[pl.DataFrame]:
    """Yield the episodes of each partition, and append the columns to count to `counted`."""
    for turns in partitions:
        rows = episode_rows(turns, filters, previous)
        counted.append(rows.select(COUNTED))
        yield rows


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
