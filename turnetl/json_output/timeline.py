"""`turnetl timeline --json`."""

from datetime import datetime
from typing import Annotated

from turnetl.base.results import described
from turnetl.json_output.base import timestamp
from turnetl.json_output.turns import IndexAgeOutput, TurnSummaryOutput, turn_summary_output
from turnetl.retrieval.timeline import Timeline


class TimelineOutput(IndexAgeOutput):
    """The last turns that meet the conditions."""

    turns: Annotated[list[TurnSummaryOutput], described("The turns, oldest first.")]
    count: Annotated[int, described("How many turns meet the conditions.")]


def timeline_output(
    timeline: Timeline, caught_up_at: datetime | None, unread: str | None
) -> TimelineOutput:
    return TimelineOutput(
        caught_up_at=timestamp(caught_up_at),
        unread=unread,
        turns=[turn_summary_output(turn) for turn in timeline.turns],
        count=timeline.count,
    )
