"""Turns and facts in the `--json` output of the commands that open them."""

from typing import Annotated

from turnetl.json_output.base import JsonOutput, Timestamp, described, timestamp
from turnetl.model import Fact
from turnetl.retrieval.turn_summary import ID_CHARS, TurnSummary


class IndexAgeOutput(JsonOutput):
    """How current the index was that a command read."""

    caught_up_at: Annotated[
        Timestamp | None,
        described("When the search index last held the whole graph; null if it never did."),
    ]
    unread: Annotated[
        str | None,
        described("Why the graph was not read, so that its newest turns may be missing, or null."),
    ]


class TurnSummaryOutput(JsonOutput):
    """A turn in a few lines."""

    id: Annotated[str, described("The beginning of the turn's id, which commands accept.")]
    prompt: Annotated[str, described("The first line of what the user wrote.")]
    started_at: Annotated[Timestamp | None, described("Time of the prompt.")]
    ended_at: Annotated[Timestamp | None, described("Time of its last row; null if unknown.")]
    group: Annotated[str, described("Id of the group.")]
    format: Annotated[str, described("Format of the archive.")]
    git_branch: Annotated[str | None, described("The git branch; null if unknown.")]
    session_id: Annotated[str, described("Id of the session.")]
    turn_id: Annotated[str, described("Id of the turn.")]
    archive: Annotated[str, described("Path of the archive that holds the turn.")]
    first_line: Annotated[int, described("First line of the turn in the archive, from 1.")]
    last_line: Annotated[int, described("Last line of the turn in the archive.")]
    files: Annotated[list[str], described("Files that the turn changed.")]


class StatedFactOutput(JsonOutput):
    """A fact."""

    id: Annotated[str, described("The beginning of the fact's id, which commands accept.")]
    fact_id: Annotated[str, described("Id of the fact.")]
    text: Annotated[str, described("The fact as a sentence.")]
    relation: Annotated[str, described("Its relation.")]
    valid_at: Annotated[
        Timestamp | None, described("Time from which the fact holds; null if unknown.")
    ]
    invalid_at: Annotated[
        Timestamp | None,
        described("Time at which the fact was invalidated; null if it still holds."),
    ]


def turn_summary_output(turn: TurnSummary) -> TurnSummaryOutput:
    receipt = turn.receipt
    return TurnSummaryOutput(
        id=turn.id,
        prompt=turn.prompt,
        started_at=timestamp(receipt.started_at),
        ended_at=timestamp(receipt.ended_at),
        group=receipt.group_id,
        format=receipt.format,
        git_branch=receipt.git_branch,
        session_id=receipt.session_id,
        turn_id=receipt.turn_id,
        archive=receipt.archive,
        first_line=receipt.first_line,
        last_line=receipt.last_line,
        files=list(turn.files),
    )


def stated_fact_output(fact: Fact) -> StatedFactOutput:
    return StatedFactOutput(
        id=fact.uuid[:ID_CHARS],
        fact_id=fact.uuid,
        text=fact.text,
        relation=fact.relation,
        valid_at=timestamp(fact.valid_at),
        invalid_at=timestamp(fact.invalid_at),
    )
