"""The last turns by day and session, with the decisions and failures they state."""

from collections.abc import Mapping, Sequence
from itertools import groupby

import polars as pl

from turnetl.activity_report import limits
from turnetl.activity_report.model import (
    ReportedFact,
    ReportTimeline,
    TimelineDay,
    TimelineSession,
    TimelineTurn,
)
from turnetl.activity_report.turns import reported


def timeline_rows(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the last turns that have a time and are not noise, oldest first."""
    return _kept(rows).tail(limits.TIMELINE_TURNS)


def timeline(
    rows: pl.DataFrame,
    decisions: Mapping[str, Sequence[ReportedFact]],
    problems: Mapping[str, int],
) -> ReportTimeline:
    """Return the last turns, the newest day first; its sessions by their first turn.

    Args:
        rows: rows of `turns.ROWS`, oldest first.
        decisions: of the turns, by their id.
        problems: how many failures a turn states, by its id.
    """
    shown = timeline_rows(rows)
    by_day = groupby(shown.iter_rows(named=True), key=lambda row: row["started_at"].date())
    days = []
    for day, of_day in by_day:
        sessions: dict[tuple[str, str], list[TimelineTurn]] = {}
        for row in of_day:
            turn = TimelineTurn(
                reported(row),
                tuple(decisions.get(row["turn_id"], ())),
                problems.get(row["turn_id"], 0),
            )
            sessions.setdefault((row["group_id"], row["session_id"]), []).append(turn)
        of_sessions = (
            TimelineSession(session, group, tuple(turns))
            for (group, session), turns in sessions.items()
        )
        days.append(TimelineDay(day, tuple(of_sessions)))
    return ReportTimeline(tuple(reversed(days)), shown.height, _kept(rows).height)


def _kept(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.filter(pl.col("noise").is_null(), pl.col("started_at").is_not_null())
