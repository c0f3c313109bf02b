"""Turns that are undone, for the objects that are no results yet."""

from typing import Annotated

from turnetl.base.model import ID_CHARS
from turnetl.base.result_schema import Timestamp
from turnetl.base.results import JsonOutput, described
from turnetl.ingestion.undo_report import UndoneTurn
from turnetl.json_output import fields
from turnetl.json_output.base import timestamp


class UndoneTurnOutput(JsonOutput):
    """A turn that is undone, or that built on one."""

    id: fields.ShortTurnIdField
    turn_id: fields.TurnIdField
    prompt: fields.PromptField
    session_id: fields.SessionIdField
    run_id: Annotated[str, described("Id of the run that committed it.")]
    started_at: Annotated[Timestamp, described("Time of the prompt.")]
    committed_at: Annotated[Timestamp, described("Time of its commit.")]


def undone_turn_output(turn: UndoneTurn) -> UndoneTurnOutput:
    receipt = turn.receipt
    return UndoneTurnOutput(
        id=receipt.turn_id[:ID_CHARS],
        turn_id=receipt.turn_id,
        prompt=turn.prompt,
        session_id=receipt.session_id,
        run_id=receipt.run_id,
        started_at=timestamp(receipt.started_at),
        committed_at=timestamp(receipt.committed_at),
    )


class RemovedEntityOutput(JsonOutput):
    """An entity that only undone turns made."""

    entity_id: Annotated[str, described("Id of the entity.")]
    name: Annotated[str, described("Its name.")]
    labels: Annotated[list[str], described("Its types, sorted.")]
