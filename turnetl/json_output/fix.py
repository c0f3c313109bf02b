"""`turnetl fix --json`."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

from turnetl.base.result_schema import Timestamp
from turnetl.base.results import JsonOutput, described
from turnetl.json_output.base import timestamp
from turnetl.json_output.search import HitOutput, hit_output
from turnetl.json_output.show import EntityOutput, entity_output
from turnetl.json_output.turns import (
    IndexAgeOutput,
    StatedFactOutput,
    TurnSummaryOutput,
    stated_fact_output,
    turn_summary_output,
)
from turnetl.retrieval.fix import ErrorHistory, Occurrence
from turnetl.retrieval.hits import SearchHit


class OccurrenceOutput(JsonOutput):
    """A failure in a turn, and what resolved it."""

    fact: Annotated[StatedFactOutput, described("The failure.")]
    turn: Annotated[TurnSummaryOutput, described("The turn in which it occurred.")]
    resolved_at: Annotated[
        Timestamp | None, described("Time of the success; null if no later success is known.")
    ]
    resolved_by: Annotated[
        TurnSummaryOutput | None, described("The turn of the success; null if it is not known.")
    ]
    evidence: Annotated[
        list[StatedFactOutput],
        described("What was changed between failure and success, and the success."),
    ]
    answer: Annotated[
        str,
        described("What the agent wrote last in the turn of the success, or else of the failure."),
    ]


class ErrorHistoryOutput(JsonOutput):
    """An error or a failed test, and where it occurred."""

    error: Annotated[EntityOutput, described("The error.")]
    occurrences: Annotated[
        list[OccurrenceOutput],
        described("The last occurrences: the resolved ones first, newest first."),
    ]
    count: Annotated[int, described("In how many turns it occurred.")]


class FixOutput(IndexAgeOutput):
    """The errors that match a text."""

    errors: Annotated[list[ErrorHistoryOutput], described("The errors, best match first.")]
    turns: Annotated[
        list[HitOutput],
        described("Without an error that matches, the turns that a search finds, best first."),
    ]


def fix_output(
    found: Sequence[ErrorHistory],
    caught_up_at: datetime | None,
    unread: str | None,
    turns: Sequence[SearchHit] = (),
) -> FixOutput:
    return FixOutput(
        caught_up_at=timestamp(caught_up_at),
        unread=unread,
        errors=[
            ErrorHistoryOutput(
                error=entity_output(one.error),
                occurrences=[_occurrence(occurrence) for occurrence in one.occurrences],
                count=one.count,
            )
            for one in found
        ],
        turns=[hit_output(hit) for hit in turns],
    )


def _occurrence(found: Occurrence) -> OccurrenceOutput:
    return OccurrenceOutput(
        fact=stated_fact_output(found.fact),
        turn=turn_summary_output(found.turn),
        resolved_at=timestamp(found.resolved_at),
        resolved_by=turn_summary_output(found.resolved_by) if found.resolved_by else None,
        evidence=[stated_fact_output(fact) for fact in found.evidence],
        answer=found.answer,
    )
