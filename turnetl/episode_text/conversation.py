"""A turn as a person reads it: prompt, steps with their outcomes, answer."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated

from turnetl.base.model import Turn
from turnetl.base.results import described
from turnetl.episode_text.passages import split_messages

_ARROW = " -> "
_FAILED = "failed"


class TextSource(StrEnum):
    """Where the text of a turn comes from."""

    LAKE = "lake"
    GRAPH = "graph"
    """The episode text: without white space, with abbreviated steps."""


@dataclass(frozen=True, slots=True)
class ConversationStep:
    """A tool call with its outcome."""

    tool: Annotated[str, described("Name of the tool.")]
    input: Annotated[str, described("The call: the command, the path, or compact JSON.")]
    outcome: Annotated[str, described("Head and tail of the result.")]
    is_error: Annotated[bool, described("Whether the call failed.")]
    ended_at: Annotated[datetime | None, described("Time of the result; null if unknown.")]


@dataclass(frozen=True, slots=True)
class Conversation:
    source: Annotated[
        TextSource,
        described("Where its text comes from: `lake`, or abbreviated from the `graph`."),
    ]
    prompt: Annotated[str, described("What the user wrote.")]
    steps: Annotated[tuple[ConversationStep, ...], described("The tool calls, in order.")]
    steering: Annotated[
        tuple[str, ...], described("What the user wrote while the agent worked, in order.")
    ]
    answer: Annotated[str, described("All texts of the agent, joined by blank lines.")]
    model: Annotated[str | None, described("The last model; null if unknown.")]


def from_turn(turn: Turn) -> Conversation:
    return Conversation(
        source=TextSource.LAKE,
        prompt=turn.user_text,
        steps=tuple(
            ConversationStep(call.name, call.input, call.result, call.is_error, call.ended_at)
            for call in turn.tool_calls
        ),
        steering=(*turn.steering, *turn.user_answers),
        answer=turn.assistant_text,
        model=turn.model,
    )


def from_episode_text(text: str) -> Conversation:
    messages = [(role, message.strip()) for role, message in split_messages(text)]
    user = [message for role, message in messages if role == "user"]
    return Conversation(
        source=TextSource.GRAPH,
        prompt=user[0] if user else "",
        steps=tuple(_step(message) for role, message in messages if role == "tools"),
        steering=tuple(user[1:]),
        answer="\n\n".join(
            message for role, message in messages if message and role in ("", "assistant")
        ),
        model=None,
    )


def _step(line: str) -> ConversationStep:
    call, _, outcome = line.partition(_ARROW)
    tool, _, arguments = call.partition(" ")
    return ConversationStep(tool, arguments, outcome, outcome.startswith(_FAILED), None)
