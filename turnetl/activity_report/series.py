"""Numbers over days or weeks, by name: the largest names are a series each, the others one."""

from collections.abc import Sequence
from datetime import date, timedelta
from enum import StrEnum

import polars as pl

from turnetl.activity_report import limits
from turnetl.activity_report.model import Activity, ChartSeries

_OTHERS = "others"


class Period(StrEnum):
    """What a value of a series is about, as polars names it."""

    DAY = "1d"
    WEEK = "1w"
    """From Monday."""
    MONTH = "1mo"


def activity(
    rows: pl.DataFrame, name: str, value: pl.Expr, *, period: Period, limit: int
) -> Activity | None:
    """Return sums of a value over time; None if no row has a time.

    Args:
        rows: rows with a `started_at`.
        name: column with the name of the series.
        value: what is summed.
        period: what each label is about.
        limit: at most this many labels, the last ones; earlier values are counted as omitted.
    """
    dated = rows.filter(pl.col("started_at").is_not_null()).select(
        pl.col(name).fill_null("unknown").alias("name"),
        pl.col("started_at").dt.truncate(period.value).dt.date().alias("day"),
        value.alias("value"),
    )
    if dated.is_empty():
        return None
    days = _days(dated["day"].to_list(), period, limit)
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
    return Activity(tuple(_label(day, period) for day in days), tuple(series), omitted)


def _largest(rows: pl.DataFrame) -> list[str]:
    """Return the names with a series of their own, the largest first."""
    sums = rows.group_by("name").agg(pl.col("value").sum())
    ordered = sums.sort(["value", "name"], descending=[True, False])["name"].to_list()
    return ordered if len(ordered) <= limits.SERIES + 1 else ordered[: limits.SERIES]


def _days(days: Sequence[date], period: Period, limit: int) -> list[date]:
    """Return the beginnings of all periods from the first to the last one, at most `limit`."""
    first, found = min(days), [max(days)]
    while found[-1] > first and len(found) < limit:
        found.append(_before(found[-1], period))
    return found[::-1]


def _before(day: date, period: Period) -> date:
    """Return the beginning of the period before the one that begins on a day."""
    if period is Period.MONTH:
        return (day - timedelta(days=1)).replace(day=1)
    return day - timedelta(days=7 if period is Period.WEEK else 1)


def _label(day: date, period: Period) -> str:
    if period is Period.MONTH:
        return f"{day:%Y-%m}"
    return week_name(day) if period is Period.WEEK else day.isoformat()


def week_name(day: date) -> str:
    """Return the ISO week of a day: `2026-W07`."""
    return f"{day:%G-W%V}"
