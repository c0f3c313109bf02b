"""Sessions of Kimi Code: `sessions/wd_*/<session>/agents/main/wire.jsonl`."""

from collections.abc import Mapping
from typing import Any

import msgspec

from turnetl.base.reason import SkipReason
from turnetl.formats.kit.conversation import Conversation
from turnetl.formats.kit.conversation_archives import LineReader
from turnetl.formats.kit.message_parts import at, plain_text
from turnetl.formats.kit.times import parse_timestamp
from turnetl.formats.kit.usage import KimiUsage


class KimiRecord(msgspec.Struct, rename="camel"):
    """A record; `time` is in milliseconds."""

    type: str = ""
    time: int | float | str | None = None
    agent_id: str | None = None
    cwd: str | None = None
    model_alias: str | None = None
    model: str | None = None
    message: dict[str, Any] = {}
    event: dict[str, Any] = {}


_SKIPPED = {
    "metadata": SkipReason.SESSION_METADATA,
    "usage.record": SkipReason.TOKEN_USAGE,
    "context.undo": SkipReason.REWIND,
    "context.clear": SkipReason.REWIND,
}


def _is_row(row: Mapping[str, Any]) -> bool:
    """Return whether a row is the header, or a record that adds to the context."""
    is_header = row.get("type") == "metadata" and "protocol_version" in row
    return is_header or str(row.get("type")).startswith("context.append_")


def _read(talk: Conversation, record: KimiRecord) -> SkipReason | None:
    talk.time = parse_timestamp(record.time)
    if record.agent_id not in (None, "main"):
        key, usage = record.event.get("uuid"), record.event.get("usage")
        return talk.sidechain(
            lambda run: _read_record(run, record), record.agent_id, key, KimiUsage, usage
        )
    return _read_record(talk, record)


def _read_record(talk: Conversation, record: KimiRecord) -> SkipReason | None:
    match record.type:
        case "context.append_message":
            return _read_message(talk, record.message)
        case "context.append_loop_event":
            return _read_event(talk, record.event)
        case "config.update" | "profile.bind":
            return talk.describe(cwd=record.cwd, model=record.model_alias or record.model)
        case "turn.cancel":
            return talk.interrupt()
        case kind:
            is_compaction = "compaction" in kind
            return SkipReason.COMPACTION if is_compaction else _SKIPPED.get(kind, SkipReason.EVENT)


def _read_message(talk: Conversation, message: dict[str, Any]) -> SkipReason | None:
    role = message.get("role")
    if role == "user" and at(message, "origin", "kind") not in (None, "user"):
        return SkipReason.SYNTHETIC
    return talk.content(role, message.get("content"), message.get("id"))


def _read_event(talk: Conversation, event: dict[str, Any]) -> SkipReason | None:
    match event.get("type"):
        case "content.part":
            return talk.content("assistant", [event.get("part")])
        case "tool.call":
            return talk.call(event.get("name"), event.get("args"), event.get("toolCallId"))
        case "tool.result":
            result = event.get("result")
            is_error = at(result, "isError") is True
            output = plain_text(at(result, "output")) if isinstance(result, dict) else result
            return talk.result(event.get("toolCallId"), output, is_error=is_error)
        case "step.end" if event.get("usage"):
            talk.usage(event.get("uuid"), KimiUsage, event.get("usage"))
            return SkipReason.PREAMBLE if talk.turn() is None else None
        case _:
            return SkipReason.STEP


KIMI = LineReader(KimiRecord, (("type", "time"), ("type", "protocol_version")), _is_row, _read)
