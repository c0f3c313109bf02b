"""Write the episodes table of a group, and count what it holds."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from functools import cache

import polars as pl

from turnetl.base import schema
from turnetl.base.model import GroupId
from turnetl.episodes.filters import Filters
from turnetl.episodes.partitions import partition
from turnetl.episodes.rendered_texts import RenderedTexts
from turnetl.episodes.report import COUNTED, FilteredGroup, group_report
from turnetl.episodes.table import episode_rows
from turnetl.lake import Lake


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
