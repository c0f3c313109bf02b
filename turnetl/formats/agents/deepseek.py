"""Sessions of DeepSeek's agent: `sessions/--<folder>--/session-<id>/session.jsonl`."""

from typing import Any

import msgspec

from turnetl.base.reason import SkipReason
from turnetl.formats.kit.conversation import Conversation
from turnetl.formats.kit.conversation_archives import read_conversation
from turnetl.formats.kit.message_parts import at, first_of, objects
from turnetl.formats.kit.row_decoder import Envelope, RowDecoder
from turnetl.formats.kit.times import parse_timestamp
from turnetl.formats.port import ParsedArchive, Probe


class DeepSeekEvent(msgspec.Struct, rename="camel"):
    """The header, or an event; times are in milliseconds."""

    type: str = ""
    id: str | None = None
    cwd: str | None = None
    delegation_depth: int | None = None
    seq: int | None = None
    time: int | float | None = None
    data: dict[str, Any] = {}


_EVENTS = RowDecoder(DeepSeekEvent, Envelope(own=(("type", "seq", "data"),)))
_MESSAGES = ("user/message", "assistant/message")
_SKIPPED = {
    "assistant/chunk": SkipReason.PROGRESS,
    "text-chunks": SkipReason.PROGRESS,
    "session/title": SkipReason.SUMMARY,
    "step/end": SkipReason.STEP,
}


class DeepSeek:
    def sniff(self, probe: Probe) -> bool:
        """Recognise the archive by its header, or by a message with a number."""
        return any(
            (row.get("type") == "session" and "delegationDepth" in row)
            or (row.get("type") in _MESSAGES and "seq" in row)
            for row in probe.rows
        )

    def read(self, data: bytes) -> ParsedArchive:
        return read_conversation(data, _EVENTS, _read)


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
