"""Turns to episodes: each turn once, in order, marked by the noise rules and rendered as text."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import cache

import polars as pl

from turnetl import ids, noise, schema
from turnetl.episodes import chunking, classify, dedup, text
from turnetl.episodes.filters import Filters
from turnetl.episodes.partitions import partition
from turnetl.episodes.report import (
    FilteredGroup,
    FilterReport,
    NoiseCount,
    from_json,
    group_report,
    to_json,
)
from turnetl.episodes.table import episode_rows, episode_table
from turnetl.lake import Lake, TurnFile
from turnetl.model import GroupId

__all__ = [
    "FilterReport",
    "FilteredGroup",
    "Filters",
    "NoiseCount",
    "build",
    "episode_table",
    "is_current",
]

_MADE_FROM = "turnetl.made_from"
"""Of the turns, of our own code, and of what a person decided."""
_TURNS = "turnetl.turns"
"""Of the turns and of our own code."""
_ONE_OFF = "turnetl.one_off"
_REPORT = "turnetl.report"
_COUNTED = ("noise", "copies", "chars_before", "chars_after", "tokens")


def build(
    lake: Lake,
    groups: Sequence[GroupId],
    *,
    filters: Filters = Filters(),  # noqa: B008 - frozen
    force: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> FilterReport:
    """Bring the episodes tables of these groups up to date.

    A table that was made of the very same turns by the very same filters is left as it is, unread.

    Args:
        lake: where the turns files are, and the episodes tables will be.
        groups: in the order of the report.
        filters: which turns are noise, and what a text leaves out.
        force: make every table anew.
        progress: told after each group how many are done, of how many.

    Raises:
        Stop: a table cannot be read.
    """
    reports = []
    for done, group in enumerate(groups, 1):
        reports.append(_group(lake, group, filters, force=force))
        if progress is not None:
            progress(done, len(groups))
    return FilterReport(tuple(reports))


def is_current(
    lake: Lake,
    group: GroupId,
    files: Sequence[TurnFile],
    filters: Filters = Filters(),  # noqa: B008 - frozen
) -> bool:
    """Say whether the group's table is to be ingested as it is. Reads no row.

    It is if it is what `build` would make of the turns files, or what a person made of them by
    hand.
    """
    known = lake.episodes_metadata(group) or {}
    if known.get(_ONE_OFF) and known.get(_TURNS) == _turns(files):
        return True
    return known.get(_MADE_FROM) == _made_from(group, files, filters)


def _group(lake: Lake, group: GroupId, filters: Filters, *, force: bool) -> FilteredGroup:
    files = lake.turn_files(group)
    made_from = _made_from(group, files, filters)
    known = lake.episodes_metadata(group) or {}
    if not force and known.get(_MADE_FROM) == made_from:
        before = from_json(known.get(_REPORT, ""))
        if before is not None:
            return before
    counted = [pl.DataFrame(schema=schema.EPISODES.polars).select(_COUNTED)]

    @cache
    def report() -> FilteredGroup:
        return group_report(group, pl.concat(counted))

    def said() -> dict[str, str]:
        one_off = {_ONE_OFF: "yes"} if filters.one_off else {}
        told = {_MADE_FROM: made_from, _TURNS: _turns(files), _REPORT: to_json(report())}
        return told | one_off

    turns = partition(lake.turn_batches(group), filters.rules, lake.episodes_folder)
    with closing(turns):
        lake.write_episodes(group, _finished(turns, filters, counted), said)
    return report()


def _finished(
    turns: Iterator[pl.DataFrame], filters: Filters, counted: list[pl.DataFrame]
) -> Iterator[pl.DataFrame]:
    """Yield the episodes of each slice, and keep what is counted of them."""
    for slice_ in turns:
        rows = episode_rows(slice_, filters)
        counted.append(rows.select(_COUNTED))
        yield rows


def _made_from(group: GroupId, files: Sequence[TurnFile], filters: Filters) -> str:
    """Return the digest of all that decides what a table says."""
    one_off = "by hand" if filters.one_off else ""
    decided = (*noise.recipes(filters.rules), *filters.recipe(group))
    return ids.digest(_turns(files), one_off, *decided)


def _turns(files: Sequence[TurnFile]) -> str:
    """Return the digest of the turns files and of our own code."""
    versions = (schema.TURNS.version, schema.EPISODES.version, dedup.VERSION, text.VERSION)
    recipe = (*versions, chunking.LIMIT, chunking.VERSION, classify.VERSION)
    origins = sorted(
        f"{file.path.name}/{file.metadata.sha256}/{file.metadata.format}"
        f"/{file.metadata.reader_version}/{file.metadata.redactor_version}"
        for file in files
    )
    return ids.digest(*map(str, recipe), *noise.recipes((*noise.RULES, noise.EMPTY)), *origins)
