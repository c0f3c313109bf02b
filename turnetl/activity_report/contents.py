"""What a lake holds: turns and sessions by project and week."""

import polars as pl

from turnetl.activity_report import limits
from turnetl.activity_report.model import (
    Activity,
    Contents,
    Listed,
    ProjectContents,
    WeekCount,
    listed,
)
from turnetl.activity_report.series import Period, activity, week_name


def contents(rows: pl.DataFrame) -> Contents:
    """Return the turns of a report by project and week.

    Args:
        rows: rows of `turns.ROWS`.
    """
    started = rows["started_at"].drop_nulls()
    by_week = _turns(rows, Period.WEEK, limits.CHART_WEEKS)
    is_long = by_week is not None and by_week.omitted > 0
    return Contents(
        turns=rows.height,
        sessions=rows.select("group_id", "session_id").n_unique() if rows.height else 0,
        noise=rows.filter(pl.col("noise").is_not_null()).height,
        in_graph=rows.filter("is_in_graph").height,
        without_time=rows.height - len(started),
        missing_from_lake=rows.filter(~pl.col("is_in_lake")).height,
        first=started.min() if len(started) else None,  # type: ignore[arg-type]
        last=started.max() if len(started) else None,  # type: ignore[arg-type]
        projects=listed(_projects(rows), limits.PROJECTS),
        by_week=by_week,
        by_month=_turns(rows, Period.MONTH, limits.CHART_MONTHS) if is_long else None,
    )


def _turns(rows: pl.DataFrame, period: Period, limit: int) -> Activity | None:
    return activity(rows, "group_id", pl.lit(1, pl.Int64), period=period, limit=limit)


def _projects(rows: pl.DataFrame) -> tuple[ProjectContents, ...]:
    weeks = _weeks(rows)
    by_group = (
        rows.group_by("group_id")
        .agg(
            pl.col("format").unique().sort().alias("formats"),
            pl.col("session_id").n_unique().alias("sessions"),
            pl.len().alias("turns"),
            pl.col("noise").count().alias("noise"),
            pl.col("is_in_graph").sum().alias("in_graph"),
            pl.col("started_at").min().alias("first"),
            pl.col("started_at").max().alias("last"),
        )
        .sort(["turns", "group_id"], descending=[True, False])
    )
    return tuple(
        ProjectContents(
            group=row["group_id"],
            formats=tuple(row["formats"]),
            sessions=row["sessions"],
            turns=row["turns"],
            noise=row["noise"],
            in_graph=row["in_graph"],
            first=row["first"],
            last=row["last"],
            weeks=weeks.get(row["group_id"], Listed()),
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
    return {group: listed(all_, limits.PROJECT_WEEKS) for group, all_ in weeks.items()}
