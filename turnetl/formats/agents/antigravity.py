"""Transcripts of Antigravity: `brain/<id>/.system_generated/logs/transcript_full.jsonl`.

Results follow their calls in order, without a key. Arguments are JSON in texts.
"""

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from turnetl.base.reason import SkipReason
from turnetl.formats.kit.conversation import Conversation
from turnetl.formats.kit.conversation_archives import LineReader
from turnetl.formats.kit.message_parts import elements, first_of, objects, text_of, without_elements
from turnetl.formats.kit.row_decoder import decode_text
from turnetl.formats.kit.times import parse_time


class AntigravityStep(msgspec.Struct):
    """A step: what the user or the agent said, or what a tool returned."""

    source: str | None = None
    type: str | None = None
    status: str | None = None
    created_at: str | None = None
    content: Any = None
    tool_calls: Any = None
    step_index: int | None = None


_SOURCES = ("USER_EXPLICIT", "MODEL", "SYSTEM")
_REQUEST = "USER_REQUEST"
_ADDED = ("ADDITIONAL_METADATA", "USER_SETTINGS_CHANGE", "EPHEMERAL_MESSAGE", "SYSTEM_MESSAGE")
_model = re.compile(
    r"changed setting `Model Selection` from .{1,99}? to (.{1,99}?)\.(?:\s|\Z)"
).search
_SKIPPED = {
    "CHECKPOINT": SkipReason.COMPACTION,
    "CONVERSATION_HISTORY": SkipReason.HISTORY,
    "SYSTEM_MESSAGE": SkipReason.NOTIFICATION,
}


def _is_row(row: Mapping[str, Any]) -> bool:
    """Return whether a row is a step of the user or the model with a time."""
    return (
        {"source", "created_at", "content"} <= row.keys()
        and row.get("source") in _SOURCES[:2]
        and "role" not in row
    )


def _read(talk: Conversation, step: AntigravityStep) -> SkipReason | None:
    talk.time = parse_time(step.created_at)
    match step.source:
        case "USER_EXPLICIT":
            return _read_prompt(talk, text_of(step.content) or "")
        case "MODEL" if step.type in (None, "PLANNER_RESPONSE"):
            calls = [_call(talk, call) for call in objects(step.tool_calls)]
            return first_of([talk.answer(step.content), *calls])
        case "MODEL" if talk.pending:
            is_error = step.status == "ERROR"
            return talk.result(talk.pending.pop(0), step.content, is_error=is_error)
        case _:
            return _SKIPPED.get(str(step.type), SkipReason.SYSTEM)


def _read_prompt(talk: Conversation, content: str) -> SkipReason | None:
    """Open a turn with what the user wrote: Antigravity adds metadata and changed settings."""
    if (model := _model(content)) is not None:
        talk.describe(model=model[1])
    requests = [element.text for element in elements(content, _REQUEST.__eq__)]
    text = without_elements("\n\n".join(requests) if requests else content, _ADDED.__contains__)
    talk.pending.clear()
    return talk.prompt(text, otherwise=SkipReason.CONTEXT)


def _call(talk: Conversation, call: dict[str, Any]) -> SkipReason | None:
    arguments, key = call.get("args"), f"{talk.span.start} {len(talk.pending)}"
    if isinstance(arguments, dict):
        arguments = {name: _value(value) for name, value in arguments.items()}
    talk.pending.append(key)
    return talk.call(call.get("name"), arguments, key)


def _value(value: object) -> object:
    return decode_text(value, value) if isinstance(value, str) else value


ANTIGRAVITY = LineReader(AntigravityStep, (("source", "created_at"),), _is_row, _read)
