"""Numbers over days or weeks, by name: the largest names are a series each, the others one."""

from collections.abc import Sequence
from datetime import date, timedelta

import polars as pl

from turnetl.activity_report import limits
from turnetl.activity_report.model import Activity, ChartSeries

_OTHERS = "others"


def activity(
    rows: pl.DataFrame, name: str, value: pl.Expr, *, step: timedelta, limit: int
) -> Activity | None:
    """Return sums of a value over time; None if no row has a time.

    Args:
        rows: rows of `turns.ROWS`.
        name: column with the name of the series.
        value: what is summed.
        step: a day or a week; a week begins on Monday.
        limit: at most this many labels, the last ones; earlier values are counted as omitted.
    """
    dated = rows.filter(pl.col("started_at").is_not_null()).select(
        pl.col(name).fill_null("unknown").alias("name"),
        pl.col("started_at")
        .dt.truncate(f"{step.days}d" if step.days == 1 else "1w")
        .dt.date()
        .alias("day"),
        value.alias("value"),
    )
    if dated.is_empty():
        return None
    days = _days(dated["day"].to_list(), step, limit)
    shown = dated.filter(pl.col("day") >= days[0])
    names = _largest(shown)
    sums = (
        shown.with_columns(
            pl.when(pl.col("name").is_in(names)).then("name").otherwise(pl.lit(_OTHERS))
        )
        .group_by("name", "day")
        .agg(pl.col("value").sum())
    )
    by_place = {(one, day): total for one, day, total in sums.iter_rows()}
    present = {one for one, _ in by_place}
    series = (
        ChartSeries(one, tuple(int(by_place.get((one, day), 0)) for day in days))
        for one in (*names, _OTHERS)
        if one in present
    )
    omitted = int(dated.filter(pl.col("day") < days[0])["value"].sum())
    return Activity(tuple(_label(day, step) for day in days), tuple(series), omitted)


def _largest(rows: pl.DataFrame) -> list[str]:
    """Return the names with a series of their own, the largest first."""
    sums = rows.group_by("name").agg(pl.col("value").sum())
    ordered = sums.sort(["value", "name"], descending=[True, False])["name"].to_list()
    return ordered if len(ordered) <= limits.SERIES + 1 else ordered[: limits.SERIES]


def _days(days: Sequence[date], step: timedelta, limit: int) -> list[date]:
    """Return the beginnings of all steps from the first to the last one, at most `limit`."""
    last = max(days)
    count = min((last - min(days)) // step + 1, limit)
    return [last - step * back for back in range(count - 1, -1, -1)]


def _label(day: date, step: timedelta) -> str:
    return day.isoformat() if step.days == 1 else week_name(day)


def week_name(day: date) -> str:
    """Return the ISO week of a day: `2026-W07`."""
    return f"{day:%G-W%V}"
