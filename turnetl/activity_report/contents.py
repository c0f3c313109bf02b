"""What a lake holds: turns and sessions by project and week, and numbers over time by name."""

from collections.abc import Sequence
from datetime import date, timedelta
from enum import StrEnum

import polars as pl

from turnetl.activity_report import model
from turnetl.activity_report.model import (
    Activity,
    ChartSeries,
    Contents,
    Listed,
    ProjectContents,
    WeekCount,
    listed,
)

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
        rows: with a `started_at`.
        name: column with the name of the series: the largest are one each, the others are together.
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


def activities(
    rows: pl.DataFrame, name: str, value: pl.Expr, *, period: Period, limit: int
) -> tuple[Activity | None, Activity | None]:
    """Return the `activity`, and that by month if it leaves out values."""
    found = activity(rows, name, value, period=period, limit=limit)
    if found is None or not found.omitted:
        return found, None
    months = activity(rows, name, value, period=Period.MONTH, limit=model.CHART_MONTHS)
    return found, months


def _largest(rows: pl.DataFrame) -> list[str]:
    """Return the names with a series of their own, the largest first."""
    sums = rows.group_by("name").agg(pl.col("value").sum())
    ordered = sums.sort(["value", "name"], descending=[True, False])["name"].to_list()
    return ordered if len(ordered) <= model.SERIES + 1 else ordered[: model.SERIES]


def _days(days: Sequence[date], period: Period, limit: int) -> list[date]:
    """Return the beginnings of all periods from the first to the last one, at most `limit`."""
    first, found = min(days), [max(days)]
    while found[-1] > first and len(found) < limit:
        found.append(_before(found[-1], period))
    return found[::-1]


def _before(day: date, period: Period) -> date:
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


def contents(rows: pl.DataFrame) -> Contents:
    """Return the turns of a report, rows of `turns.ROWS`, by project and week."""
    started = rows["started_at"].drop_nulls()
    one = pl.lit(1, pl.Int64)
    by_week, by_month = activities(
        rows, "group_id", one, period=Period.WEEK, limit=model.CHART_WEEKS
    )
    return Contents(
        turns=rows.height,
        sessions=rows.select("group_id", "session_id").n_unique() if rows.height else 0,
        noise=rows.filter(pl.col("noise").is_not_null()).height,
        in_graph=rows.filter("is_in_graph").height,
        without_time=rows.height - len(started),
        missing_from_lake=rows.filter(~pl.col("is_in_lake")).height,
        first=started.min() if len(started) else None,  # type: ignore[arg-type]
        last=started.max() if len(started) else None,  # type: ignore[arg-type]
        projects=listed(_projects(rows), model.PROJECTS),
        by_week=by_week,
        by_month=by_month,
    )


def _projects(rows: pl.DataFrame) -> tuple[ProjectContents, ...]:
    weeks = _weeks(rows)
    by_group = (
        rows.group_by(group="group_id")
        .agg(
            pl.col("format").unique().sort().alias("formats"),
            pl.col("session_id").n_unique().alias("sessions"),
            pl.len().alias("turns"),
            pl.col("noise").count().alias("noise"),
            pl.col("is_in_graph").sum().alias("in_graph"),
            pl.col("started_at").min().alias("first"),
            pl.col("started_at").max().alias("last"),
        )
        .sort(["turns", "group"], descending=[True, False])
    )
    return tuple(
        ProjectContents(
            **row | {"formats": tuple(row["formats"])}, weeks=weeks.get(row["group"], Listed())
        )
        for row in by_group.iter_rows(named=True)
    )


def _weeks(rows: pl.DataFrame) -> dict[str, Listed[WeekCount]]:
    """Return the weeks of each group, newest first."""
    counted = (
        rows.filter(pl.col("started_at").is_not_null())
        .group_by("group_id", pl.col("started_at").dt.truncate("1w").dt.date().alias("week"))
        .agg(pl.len().alias("turns"), pl.col("session_id").n_unique().alias("sessions"))
        .sort("week", descending=True)
    )
    weeks: dict[str, list[WeekCount]] = {}
    for group, week, turns, sessions in counted.iter_rows():
        weeks.setdefault(group, []).append(WeekCount(week_name(week), turns, sessions))
    return {group: listed(all_, model.PROJECT_WEEKS) for group, all_ in weeks.items()}
