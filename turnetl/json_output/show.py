"""`turnetl show --json`: an object per kind of what an id leads to."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Literal

from turnetl.base.model import ID_CHARS, Entity
from turnetl.base.result_schema import Timestamp
from turnetl.base.results import JsonOutput, described
from turnetl.episode_text.conversation import ConversationStep
from turnetl.json_output import fields
from turnetl.json_output.base import timestamp
from turnetl.json_output.turns import (
    IndexAgeOutput,
    StatedFactOutput,
    TurnSummaryOutput,
    stated_fact_output,
    turn_summary_output,
)
from turnetl.retrieval.details import (
    Details,
    EntityDetails,
    FactDetails,
    SessionDetails,
    TurnDetails,
)

_RESUME = described("Shell command that continues the session in its agent; null if none does.")


class StepOutput(JsonOutput):
    """A tool call with its outcome."""

    tool: Annotated[str, described("Name of the tool.")]
    input: Annotated[str, described("The call: the command, the path, or compact JSON.")]
    outcome: Annotated[str, described("Head and tail of the result.")]
    is_error: Annotated[bool, described("Whether the call failed.")]
    ended_at: Annotated[Timestamp | None, described("Time of the result; null if unknown.")]


class ShowTurnOutput(IndexAgeOutput):
    """A turn."""

    kind: Annotated[Literal["turn"], described("What the id leads to.")]
    turn: Annotated[TurnSummaryOutput, described("The turn.")]
    source: Annotated[
        str, described("Where its text comes from: `lake`, or abbreviated from the `graph`.")
    ]
    prompt: Annotated[str, described("What the user wrote.")]
    steering: Annotated[
        list[str], described("What the user wrote while the agent worked, in order.")
    ]
    steps: Annotated[list[StepOutput], described("The tool calls, in order.")]
    answer: Annotated[str, described("All texts of the agent, joined by blank lines.")]
    model: Annotated[str | None, described("The last model; null if unknown.")]
    facts: Annotated[
        list[StatedFactOutput],
        described("What the turn states, in the order in which it became valid."),
    ]
    previous: Annotated[
        TurnSummaryOutput | None, described("The turn before it in its session; null if none.")
    ]
    next: Annotated[
        TurnSummaryOutput | None, described("The turn after it in its session; null if none.")
    ]
    resume: Annotated[str | None, _RESUME]


class ShowSessionOutput(IndexAgeOutput):
    """A session."""

    kind: Annotated[Literal["session"], described("What the id leads to.")]
    session_id: fields.SessionIdField
    turns: Annotated[list[TurnSummaryOutput], described("Its turns, oldest first.")]
    resume: Annotated[str | None, _RESUME]


class EntityOutput(JsonOutput):
    """An entity."""

    id: Annotated[str, described("The beginning of the entity's id, which commands accept.")]
    entity_id: Annotated[str, described("Id of the entity.")]
    name: Annotated[str, described("Its name.")]
    labels: Annotated[list[str], described("Its labels.")]
    group: Annotated[str, described("Id of its group.")]
    summary: Annotated[str, described("Its summary; empty if it has none.")]


class TurnFactsOutput(JsonOutput):
    """A turn, and what it states about an entity."""

    turn: Annotated[TurnSummaryOutput, described("The turn.")]
    facts: Annotated[list[StatedFactOutput], described("The facts.")]


class ShowEntityOutput(IndexAgeOutput):
    """An entity, with the turns that state something about it."""

    kind: Annotated[Literal["entity"], described("What the id leads to.")]
    entity: Annotated[EntityOutput, described("The entity.")]
    turns: Annotated[list[TurnFactsOutput], described("The last such turns, oldest first.")]
    turn_count: Annotated[int, described("Number of such turns in all.")]
    fact_count: Annotated[int, described("Number of facts about the entity.")]


class ShowFactOutput(IndexAgeOutput):
    """A fact."""

    kind: Annotated[Literal["fact"], described("What the id leads to.")]
    fact: Annotated[StatedFactOutput, described("The fact.")]
    source: Annotated[EntityOutput, described("Its source.")]
    target: Annotated[EntityOutput, described("Its target.")]
    turns: Annotated[list[TurnSummaryOutput], described("The turns that state it, oldest first.")]


class ShowLinesOutput(JsonOutput):
    """The lines of a turn in its archive, printed with `--raw`."""

    kind: Annotated[Literal["lines"], described("What is printed.")]
    turn_id: fields.TurnIdField
    archive: Annotated[str, described("Path of the archive.")]
    first_line: Annotated[int, described("Number of the first line, from 1.")]
    lines: Annotated[list[str], described("The lines.")]
    redacted: Annotated[bool, described("Whether secrets were removed.")]


ShowOutput = ShowTurnOutput | ShowSessionOutput | ShowEntityOutput | ShowFactOutput


def show_output(found: Details, caught_up_at: datetime | None, unread: str | None) -> ShowOutput:
    at = timestamp(caught_up_at)
    match found:
        case TurnDetails():
            return _turn(found, at, unread)
        case SessionDetails():
            return ShowSessionOutput(
                kind="session",
                session_id=found.session_id,
                turns=[turn_summary_output(turn) for turn in found.turns],
                resume=found.resume,
                caught_up_at=at,
                unread=unread,
            )
        case EntityDetails():
            return entity_details_output(found, caught_up_at, unread)
        case FactDetails():
            return ShowFactOutput(
                kind="fact",
                fact=stated_fact_output(found.indexed.fact),
                source=entity_output(found.indexed.source),
                target=entity_output(found.indexed.target),
                turns=[turn_summary_output(turn) for turn in found.turns],
                caught_up_at=at,
                unread=unread,
            )


def entity_details_output(
    found: EntityDetails, caught_up_at: datetime | None, unread: str | None
) -> ShowEntityOutput:
    return ShowEntityOutput(
        kind="entity",
        entity=entity_output(found.entity),
        turns=[
            TurnFactsOutput(
                turn=turn_summary_output(one.turn),
                facts=[stated_fact_output(fact) for fact in one.facts],
            )
            for one in found.turns
        ],
        turn_count=found.turn_count,
        fact_count=found.fact_count,
        caught_up_at=timestamp(caught_up_at),
        unread=unread,
    )


def entity_output(entity: Entity) -> EntityOutput:
    return EntityOutput(
        id=entity.uuid[:ID_CHARS],
        entity_id=entity.uuid,
        name=entity.name,
        labels=list(entity.labels),
        group=entity.group_id,
        summary=entity.summary,
    )


def _turn(found: TurnDetails, caught_up_at: Timestamp | None, unread: str | None) -> ShowTurnOutput:
    conversation = found.conversation
    return ShowTurnOutput(
        kind="turn",
        turn=turn_summary_output(found.summary),
        source=conversation.source,
        prompt=conversation.prompt,
        steering=list(conversation.steering),
        steps=_steps(conversation.steps),
        answer=conversation.answer,
        model=conversation.model,
        facts=[stated_fact_output(fact) for fact in found.facts],
        previous=turn_summary_output(found.previous) if found.previous else None,
        next=turn_summary_output(found.next) if found.next else None,
        resume=found.resume,
        caught_up_at=caught_up_at,
        unread=unread,
    )


def _steps(steps: Sequence[ConversationStep]) -> list[StepOutput]:
    return [
        StepOutput(
            tool=step.tool,
            input=step.input,
            outcome=step.outcome,
            is_error=step.is_error,
            ended_at=timestamp(step.ended_at),
        )
        for step in steps
    ]
