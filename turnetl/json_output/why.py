"""`turnetl why --json`."""

from datetime import datetime
from typing import Annotated

from turnetl.base.result_schema import Timestamp
from turnetl.base.results import JsonOutput, described
from turnetl.json_output.base import timestamp
from turnetl.json_output.turns import (
    IndexAgeOutput,
    StatedFactOutput,
    TurnSummaryOutput,
    stated_fact_output,
    turn_summary_output,
)
from turnetl.retrieval.why import Attribution


class NotReadOutput(JsonOutput):
    """A turn whose edits could not be read from its archive."""

    turn_id: Annotated[str, described("Id of the turn.")]
    reason: Annotated[
        str,
        described(
            "`missing`: the archive is not there; `unreadable`; `changed`: it no longer has the "
            "turn as it was read."
        ),
    ]


class AttributionOutput(JsonOutput):
    """A commit of the file, and the turns that wrote its lines."""

    commit: Annotated[str | None, described("The commit; null for changes not committed yet.")]
    authored_at: Annotated[Timestamp | None, described("Author time of the commit.")]
    summary: Annotated[str, described("First line of its message.")]
    lines: Annotated[list[int], described("Numbers of the file's lines that come from it.")]
    certainty: Annotated[
        str,
        described(
            "`line`: edits of the turns added lines of the commit; `commit`: the lines are too "
            "short to be known by their text, and only this turn added them between this commit "
            "and the one before; `unknown`."
        ),
    ]
    turns: Annotated[
        list[TurnSummaryOutput], described("The turns, oldest first; none if it is unknown.")
    ]
    facts: Annotated[
        list[StatedFactOutput], described("What these turns state about their changes.")
    ]
    candidates: Annotated[
        list[TurnSummaryOutput],
        described("If it is unknown: the turns that edited the file between both commits."),
    ]

    not_read: Annotated[
        list[NotReadOutput],
        described(
            "Turns that edited the file between both commits, of whose edits only an excerpt could "
            "be compared."
        ),
    ]


class WhyOutput(IndexAgeOutput):
    """The turns that wrote a file, or a line of it."""

    path: Annotated[str, described("Path of the file from the root of its repository.")]
    line: Annotated[int | None, described("The line; null for all lines.")]
    commits: Annotated[list[AttributionOutput], described("The newest commits first.")]
    count: Annotated[int, described("Commits that the lines come from.")]


def why_output(
    path: str,
    line: int | None,
    found: list[Attribution],
    count: int,
    *,
    caught_up_at: datetime | None,
    unread: str | None,
) -> WhyOutput:
    return WhyOutput(
        caught_up_at=timestamp(caught_up_at),
        unread=unread,
        path=path,
        line=line,
        commits=[_attribution(one) for one in found],
        count=count,
    )


def _attribution(found: Attribution) -> AttributionOutput:
    commit = found.commit
    return AttributionOutput(
        commit=commit.commit if commit.is_committed else None,
        authored_at=timestamp(commit.authored_at) if commit.is_committed else None,
        summary=commit.summary if commit.is_committed else "",
        lines=[line.number for line in commit.lines],
        certainty=found.certainty,
        turns=[turn_summary_output(turn) for turn in found.turns],
        facts=[stated_fact_output(fact) for fact in found.facts],
        candidates=[turn_summary_output(turn) for turn in found.candidates],
        not_read=[
            NotReadOutput(turn_id=turn.receipt.turn_id, reason=reason)
            for turn, reason in found.not_read
        ],
    )
