"""`turnetl undo --json`."""

from typing import Annotated

from turnetl.base.model import Entity, Fact
from turnetl.base.result_schema import Timestamp
from turnetl.base.results import JsonOutput, described
from turnetl.ingestion.undo_report import GroupUndo, UndoneTurn, UndoReport, value_changes
from turnetl.ingestion.undo_state import Restored
from turnetl.json_output import fields
from turnetl.json_output.base import timestamp
from turnetl.json_output.turns import StatedFactOutput, stated_fact_output
from turnetl.retrieval.turn_summary import ID_CHARS


class UndoneTurnOutput(JsonOutput):
    """A turn that is undone, or that built on one."""

    id: fields.ShortTurnIdField
    turn_id: fields.TurnIdField
    prompt: fields.PromptField
    session_id: fields.SessionIdField
    run_id: Annotated[str, described("Id of the run that committed it.")]
    started_at: Annotated[Timestamp, described("Time of the prompt.")]
    committed_at: Annotated[Timestamp, described("Time of its commit.")]


class ValueChangeOutput(JsonOutput):
    """A field of an entity or a fact that is restored, with its values as texts."""

    field: Annotated[str, described("Name of the field.")]
    now: Annotated[str | None, described("Value before the undo; null if there is none.")]
    restored: Annotated[str | None, described("Value after the undo; null if there is none.")]


class RemovedEntityOutput(JsonOutput):
    """An entity that only undone turns made."""

    entity_id: Annotated[str, described("Id of the entity.")]
    name: Annotated[str, described("Its name.")]
    labels: Annotated[list[str], described("Its types, sorted.")]


class RestoredEntityOutput(RemovedEntityOutput):
    """An entity that becomes as it was before the undone turns."""

    changes: Annotated[list[ValueChangeOutput], described("The fields that change.")]


class RestoredFactOutput(JsonOutput):
    """A fact that becomes as it was before the undone turns."""

    fact: Annotated[StatedFactOutput, described("The fact as it is restored.")]
    changes: Annotated[list[ValueChangeOutput], described("The fields that change.")]


class GroupUndoOutput(JsonOutput):
    """The undo of the turns of one group."""

    group: fields.GroupField
    turns: Annotated[list[UndoneTurnOutput], described("The turns to undo, newest commit first.")]
    dependents: Annotated[
        list[UndoneTurnOutput],
        described("Turns that were not selected and built on those that were."),
    ]
    undone: Annotated[int, described("Turns undone by this command.")]
    already_undone: Annotated[int, described("Turns that another process undid meanwhile.")]
    entities_removed: Annotated[list[RemovedEntityOutput], described("Entities that go.")]
    entities_restored: Annotated[list[RestoredEntityOutput], described("Entities that change.")]
    facts_removed: Annotated[list[StatedFactOutput], described("Facts that go.")]
    facts_restored: Annotated[list[RestoredFactOutput], described("Facts that change.")]
    entities_kept: Annotated[
        list[str], described("Ids of entities that stay because another program uses them.")
    ]
    quarantined: Annotated[int, described("Quarantine entries of the run, which go with it.")]
    error: Annotated[
        str | None, described("What stopped the undo of the group; null if nothing did.")
    ]


class UndoOutput(JsonOutput):
    """What an undo changes; `undone` says whether it was carried out."""

    groups: Annotated[list[GroupUndoOutput], described("The groups, sorted by name.")]
    turns: Annotated[int, described("Turns to undo.")]
    undone: Annotated[int, described("Turns undone by this command.")]
    refused: Annotated[
        bool, described("Whether nothing may be undone because later turns built on it.")
    ]


def undo_output(report: UndoReport) -> UndoOutput:
    return UndoOutput(
        groups=[_group(group) for group in report.groups],
        turns=report.turns,
        undone=report.undone,
        refused=report.is_refused,
    )


def _group(group: GroupUndo) -> GroupUndoOutput:
    diff = group.diff
    return GroupUndoOutput(
        group=group.group,
        turns=[undone_turn_output(turn) for turn in group.turns],
        dependents=[undone_turn_output(turn) for turn in group.dependents],
        undone=group.undone,
        already_undone=group.already_undone,
        entities_removed=[
            RemovedEntityOutput(entity.uuid, entity.name, list(entity.labels))
            for entity in diff.entities_removed
        ],
        entities_restored=[_restored_entity(pair) for pair in diff.entities_restored],
        facts_removed=[stated_fact_output(fact) for fact in diff.facts_removed],
        facts_restored=[
            RestoredFactOutput(stated_fact_output(pair.restored), _changes(pair))
            for pair in diff.facts_restored
        ],
        entities_kept=list(group.entities_kept),
        quarantined=len(group.quarantined),
        error=group.error,
    )


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


def _restored_entity(pair: Restored[Entity]) -> RestoredEntityOutput:
    restored = pair.restored
    return RestoredEntityOutput(restored.uuid, restored.name, list(restored.labels), _changes(pair))


def _changes(pair: Restored[Entity] | Restored[Fact]) -> list[ValueChangeOutput]:
    changes = value_changes(pair)
    return [ValueChangeOutput(change.field, change.now, change.restored) for change in changes]
