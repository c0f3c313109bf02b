"""Sessions of DeepSeek's agent: `sessions/--<folder>--/session-<id>/session.jsonl`."""

from collections.abc import Mapping
from typing import Any

import msgspec

from turnetl.base.reason import SkipReason
from turnetl.formats.kit.conversation import Conversation
from turnetl.formats.kit.conversation_archives import LineReader
from turnetl.formats.kit.message_parts import at, first_of, objects
from turnetl.formats.kit.times import parse_timestamp


class DeepSeekEvent(msgspec.Struct, rename="camel"):
    """The header, or an event; times are in milliseconds."""

    type: str = ""
    id: str | None = None
    cwd: str | None = None
    delegation_depth: int | None = None
    seq: int | None = None
    time: int | float | None = None
    data: dict[str, Any] = {}


_MESSAGES = ("user/message", "assistant/message")
_SKIPPED = {
    "assistant/chunk": SkipReason.PROGRESS,
    "text-chunks": SkipReason.PROGRESS,
    "session/title": SkipReason.SUMMARY,
    "step/end": SkipReason.STEP,
}


def _is_row(row: Mapping[str, Any]) -> bool:
    """Return whether a row is the header, or a message with a number."""
    kind = row.get("type")
    return (kind == "session" and "delegationDepth" in row) or (kind in _MESSAGES and "seq" in row)


def _read(talk: Conversation, event: DeepSeekEvent) -> SkipReason | None:
    talk.time, data = parse_timestamp(event.time), event.data
    if event.type == "session":
        talk.is_subagent = bool(event.delegation_depth)
        return talk.describe(event.id, event.cwd)
    if talk.is_subagent:
        return talk.sidechain(lambda run: _read_event(run, event, data))
    return _read_event(talk, event, data)


def _read_event(
    talk: Conversation, event: DeepSeekEvent, data: dict[str, Any]
) -> SkipReason | None:
    content = at(data, "message", "content")
    match event.type:
        case "user/message" if at(data, "source", "kind") not in (None, "user"):
            return SkipReason.EXTENSION
        case "user/message":
            seq = None if event.seq is None else str(event.seq)
            return talk.content("user", data.get("content"), seq)
        case "assistant/message":
            return talk.content("assistant", content)
        case "tool/call":
            return talk.call(data.get("name"), data.get("arguments"), data.get("callId"))
        case "tool/result":
            return first_of(map(talk.returned, objects(content)))
        case kind:
            return _SKIPPED.get(kind, SkipReason.EVENT)


DEEPSEEK = LineReader(DeepSeekEvent, (("type", "seq", "data"),), _is_row, _read)
