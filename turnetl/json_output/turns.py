"""Turns and facts in the `--json` output of the commands that open them."""

from typing import Annotated

from turnetl.base.model import ID_CHARS, Fact
from turnetl.base.result_schema import Timestamp
from turnetl.base.results import JsonOutput, described
from turnetl.json_output import fields
from turnetl.json_output.base import timestamp
from turnetl.retrieval.turn_summary import TurnSummary


class IndexAgeOutput(JsonOutput):
    """How current the index was that a command read."""

    caught_up_at: fields.CaughtUpAtField
    unread: fields.UnreadField


class TurnSummaryOutput(JsonOutput):
    """A turn in a few lines."""

    id: fields.ShortTurnIdField
    prompt: fields.PromptField
    started_at: Annotated[Timestamp | None, described("Time of the prompt.")]
    ended_at: Annotated[Timestamp | None, described("Time of its last row; null if unknown.")]
    group: fields.GroupField
    format: Annotated[str, described("Format of the archive.")]
    git_branch: Annotated[str | None, described("The git branch; null if unknown.")]
    session_id: fields.SessionIdField
    turn_id: fields.TurnIdField
    archive: fields.ArchiveField
    first_line: fields.FirstLineField
    last_line: fields.LastLineField
    files: fields.ChangedFilesField


class StatedFactOutput(JsonOutput):
    """A fact."""

    id: Annotated[str, described("The beginning of the fact's id, which commands accept.")]
    fact_id: Annotated[str, described("Id of the fact.")]
    text: Annotated[str, described("The fact as a sentence.")]
    relation: Annotated[str, described("Its relation.")]
    valid_at: fields.ValidAtField
    invalid_at: fields.InvalidAtField


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
