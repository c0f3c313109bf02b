"""A group's episodes as a run takes them: with assumed times, and with last turns that are over.

What is added here depends on the clock or on what a person said, so it stands in no table.
"""

from collections.abc import Collection, Iterator
from datetime import datetime

import polars as pl

from turnetl.ingest import assumed_time
from turnetl.ingest.plan import Scope
from turnetl.lake import Lake, as_episode
from turnetl.model import ClosedBy, Episode, GroupId, TurnId

AT_ONCE = 2000
"""Rows of a table that may be held together: some megabytes, or as much as its longest turns."""


def episodes(lake: Lake, group: GroupId, scope: Scope) -> pl.LazyFrame:
    """Return the rows of `schema.EPISODES` and `timeless`, in the order of time.

    `timeless`: the archive has no time for the turn.
    """
    rows = lake.scan_episodes(group).with_columns(pl.col("started_at").is_null().alias("timeless"))
    if scope.assume is not None and rows.select(pl.col("timeless").any()).collect().item():
        origins = [file.origin for file in lake.turn_files(group)]
        rows = assumed_time.fill(rows, lake.scan_turns(group), origins, scope.assume)
    return over(rows, scope.now - scope.quiet)


def values(
    rows: pl.LazyFrame, turn_ids: Collection[TurnId], *, at_once: int | None = None
) -> Iterator[Episode]:
    """Yield those episodes of `episodes` that are named, in the same order.

    Args:
        rows: what `episodes` gave.
        turn_ids: the turns.
        at_once: rows of the table that are held together. None if times are assumed: then the order
            is not the table's, and all that are named are held.
    """
    named = pl.col("turn_id").is_in(sorted(turn_ids))
    for some in [rows] if at_once is None else _some(rows, named, at_once):
        held = some.filter(named).drop("timeless").collect()
        yield from (as_episode(row) for row in held.iter_rows(named=True))


def _some(rows: pl.LazyFrame, named: pl.Expr, at_once: int) -> Iterator[pl.LazyFrame]:
    """Yield the parts of a table in which rows that are named stand."""
    here = rows.select("turn_id").with_row_index("at").filter(named).collect()["at"]
    for part in (here // at_once).unique(maintain_order=True):
        yield rows.slice(part * at_once, at_once)


def over(rows: pl.LazyFrame, quiet_since: datetime) -> pl.LazyFrame:
    """Close the open turns of which nothing was written since then.

    One that broke off in the middle ends as interrupted: a call waits for its outcome, or nothing
    was answered and nothing done.
    """
    last_written = pl.coalesce("ended_at", "started_at")
    quiet = ~pl.col("closed") & (last_written <= quiet_since).fill_null(value=False)
    why = pl.when(_broke_off()).then(pl.lit(ClosedBy.INTERRUPTED)).otherwise(pl.lit(ClosedBy.QUIET))
    return rows.with_columns(
        pl.when(quiet).then(why).otherwise("closed_by").alias("closed_by"),
        (pl.col("closed") | quiet).alias("closed"),
    )


def _broke_off() -> pl.Expr:
    call = pl.element().struct
    waits = (call.field("result") == "") & call.field("ended_at").is_null()
    silent = pl.col("assistant_text").str.strip_chars() == ""
    idle = pl.col("tool_calls").list.len() == 0
    return pl.col("tool_calls").list.eval(waits).list.any() | (silent & idle)
