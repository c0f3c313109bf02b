"""The candidate turns of a group: its episodes, with assumed times and with inactive turns closed.

What this module adds depends on the clock and on options, so no table contains it.
"""

from collections.abc import Collection, Iterator
from datetime import datetime

import polars as pl

from turnetl.base.model import ClosedBy, Episode, GroupId, TurnId
from turnetl.ingestion import assumed_time
from turnetl.ingestion.plan import Scope
from turnetl.lake import Lake, episode_from_row

BATCH_ROWS = 2000
"""Rows of a table in memory together: some megabytes, or as much as its longest turns."""


def candidate_rows(lake: Lake, group: GroupId, scope: Scope) -> pl.LazyFrame:
    """Return the rows of `schema.EPISODES` with `has_no_time`, in the order of time.

    `has_no_time`: the archive has no time for the turn.
    """
    rows = lake.scan_episodes(group).with_columns(
        pl.col("started_at").is_null().alias("has_no_time")
    )
    if scope.sessions is not None:
        rows = rows.filter(_is_of(scope.sessions))
    if scope.assume is not None and rows.select(pl.col("has_no_time").any()).collect().item():
        archives = [file.metadata for file in lake.turn_files(group)]
        rows = assumed_time.fill(rows, lake.scan_turns(group), archives, scope.assume)
    return close_inactive_turns(rows, scope.now - scope.close_after)


def _is_of(sessions: Collection[tuple[str, str]]) -> pl.Expr:
    """Return whether a turn is of one of these sessions, given as (format, session_id)."""
    by_format: dict[str, list[str]] = {}
    for format_name, session_id in sorted(sessions):
        by_format.setdefault(format_name, []).append(session_id)
    return pl.any_horizontal(
        pl.lit(value=False),
        *(
            (pl.col("format") == name) & pl.col("session_id").is_in(ids)
            for name, ids in by_format.items()
        ),
    )


def load_episodes(
    rows: pl.LazyFrame, turn_ids: Collection[TurnId], *, batch_rows: int | None = None
) -> Iterator[Episode]:
    """Yield the episodes of these turns, in the order of the rows.

    Args:
        rows: from `candidate_rows`.
        turn_ids: the turns.
        batch_rows: rows of the table in memory together. None if times are assumed: the order is
            then not the table's, and all selected rows are in memory together.
    """
    selected = pl.col("turn_id").is_in(sorted(turn_ids))
    for batch in [rows] if batch_rows is None else _batches(rows, selected, batch_rows):
        loaded = batch.filter(selected).drop("has_no_time").collect()
        yield from (episode_from_row(row) for row in loaded.iter_rows(named=True))


def _batches(rows: pl.LazyFrame, selected: pl.Expr, size: int) -> Iterator[pl.LazyFrame]:
    """Yield the slices of a table that contain selected rows."""
    selected_rows = rows.select("turn_id").with_row_index("position").filter(selected)
    positions = selected_rows.collect()["position"]
    for number in (positions // size).unique(maintain_order=True):
        yield rows.slice(number * size, size)


def close_inactive_turns(rows: pl.LazyFrame, inactive_since: datetime) -> pl.LazyFrame:
    """Close the open turns whose archive recorded nothing after `inactive_since`.

    A turn that stopped midway is closed as interrupted: a tool call has no outcome, or there is
    neither a response nor a tool call.
    """
    last_written = pl.coalesce("ended_at", "started_at")
    inactive = ~pl.col("closed") & (last_written <= inactive_since).fill_null(value=False)
    closed_by = (
        pl.when(_was_interrupted())
        .then(pl.lit(ClosedBy.INTERRUPTED))
        .otherwise(pl.lit(ClosedBy.INACTIVITY))
    )
    return rows.with_columns(
        pl.when(inactive).then(closed_by).otherwise("closed_by").alias("closed_by"),
        (pl.col("closed") | inactive).alias("closed"),
    )


def _was_interrupted() -> pl.Expr:
    call = pl.element().struct
    unfinished = (call.field("result") == "") & call.field("ended_at").is_null()
    no_response = pl.col("assistant_text").str.strip_chars() == ""
    no_calls = pl.col("tool_calls").list.len() == 0
    return pl.col("tool_calls").list.eval(unfinished).list.any() | (no_response & no_calls)
