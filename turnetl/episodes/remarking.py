"""Mark the turns of an episodes table again: no rule changes a text, so that none is rendered."""

from collections.abc import Callable, Iterator, Mapping

import polars as pl

from turnetl import noise
from turnetl.base.model import GroupId
from turnetl.episodes.partitions import key_columns, partition_numbers
from turnetl.episodes.report import COUNTED, FilteredGroup, group_report
from turnetl.lake import Lake, replace_episodes_metadata
from turnetl.noise import NoiseRule


def remark_table(
    lake: Lake,
    group: GroupId,
    rules: tuple[NoiseRule, ...],
    stored: Mapping[str, str],
    metadata: Callable[[FilteredGroup], Mapping[str, str]],
) -> FilteredGroup:
    """Replace the table of a group by the same with the marks of other rules.

    If no mark changes, the rows are copied as they are.

    Args:
        lake: the lake of the table.
        group: the group.
        rules: by precedence: the first that matches gives the turn its rule name.
        stored: the metadata of the table.
        metadata: returns the new metadata from the report.

    Returns:
        The report of the new table.

    Raises:
        TableUnusable: the table is damaged, or was replaced in the meantime.
        Fatal: it cannot be written.
    """
    rows = lake.scan_episodes(group)
    counted = [pl.col(name).alias(f"counted_{name}") for name in COUNTED]
    with lake.reading_episodes(group):
        keys = rows.select(*key_columns(rules), *counted, "copies", "variants").collect()
    marks = _marks(keys, rules)
    columns = keys.select(pl.col(f"counted_{name}").alias(name) for name in COUNTED)
    report = group_report(group, columns.with_columns(marks))
    changed = metadata(report)
    if marks.equals(columns["noise"], null_equal=True) and replace_episodes_metadata(
        lake, group, stored, changed
    ):
        return report
    lake.verify_episodes(group)
    slices = _slices(lake, group, rows, keys.select("chars", marks))
    lake.write_episodes(group, slices, lambda: changed)
    return report


def _marks(keys: pl.DataFrame, rules: tuple[NoiseRule, ...]) -> pl.Series:
    """Return `noise` of each row."""
    marked = noise.mark(keys.lazy(), rules)
    # The same as `EMPTY.condition`, without the texts.
    is_empty = pl.when(pl.col("counted_chars_after") == 0).then(pl.lit(noise.EMPTY.name))
    return marked.select(pl.coalesce("noise", is_empty).alias("noise")).collect()["noise"]


def _slices(
    lake: Lake, group: GroupId, rows: pl.LazyFrame, marks: pl.DataFrame
) -> Iterator[pl.DataFrame]:
    """Yield the rows with their new marks, in the partitions in which they were written."""
    first = 0
    numbers = marks.select(partition_numbers())["partition"]
    for length in numbers.rle().struct.field("len"):
        with lake.reading_episodes(group):
            part = rows.slice(first, length).collect().rechunk()
        yield part.with_columns(marks["noise"].slice(first, length))
        first += length
