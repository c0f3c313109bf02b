"""Sessions of Pi, and of OpenClaw, OMP and Factory Droid, which write the same rows.

The session traces of Hugging Face have the same envelope, with messages as those of OpenAI.
"""

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from turnetl.base.reason import SkipReason
from turnetl.formats.kit.conversation import Conversation
from turnetl.formats.kit.conversation_archives import LineReader
from turnetl.formats.kit.message_parts import at, first_of, objects, without_elements
from turnetl.formats.kit.times import parse_time, parse_timestamp
from turnetl.formats.kit.usage import PiUsage


class PiRow(msgspec.Struct, rename="camel"):
    """A row. `calling_session_id` is that of the session that started the subagent."""

    type: str | None = None
    id: str | None = None
    timestamp: str | None = None
    cwd: str | None = None
    calling_session_id: str | None = None
    model_id: str | None = None
    model: str | None = None
    message: dict[str, Any] = {}


_HEADERS = ("session", "session_start")
_HEADER_KEYS = ({"id", "version", "cwd"}, {"id", "harness"})
_SKIPPED = {
    "compaction": SkipReason.COMPACTION,
    "compactionSummary": SkipReason.COMPACTION,
    "compaction_state": SkipReason.COMPACTION,
    "branch_summary": SkipReason.SUMMARY,
    "branchSummary": SkipReason.SUMMARY,
    "bashExecution": SkipReason.SHELL_COMMAND,
    "custom": SkipReason.EXTENSION,
    "custom_message": SkipReason.EXTENSION,
    "hookMessage": SkipReason.EXTENSION,
    "label": SkipReason.SESSION_METADATA,
    "session_info": SkipReason.SESSION_METADATA,
    "thinking_level_change": SkipReason.STATE,
    "todo_state": SkipReason.STATE,
}
"""By the type of a row, or the role of a message."""
_FILE = re.compile(r"Contents of [^\n]+ \(lines \d+-\d+ of \d+\):")
_sender = re.compile(
    r"^(?:Conversation info|Sender) \(untrusted metadata\):\s{0,9}```json\s.{0,4000}?\s```\s{0,9}",
    re.DOTALL | re.MULTILINE,
).sub


def _is_row(row: Mapping[str, Any]) -> bool:
    """Return whether a row is a header with version or harness, or a message of a tree."""
    if not isinstance(row.get("id"), str) or "message" not in row:
        is_header = row.get("type") in _HEADERS and "createdAt" not in row
        return is_header and any(keys <= row.keys() for keys in _HEADER_KEYS)
    message = row.get("message")
    is_message = isinstance(message, dict) and {"role", "content"} <= message.keys()
    return row.get("type") == "message" and is_message and "timestamp" in row


def _read(talk: Conversation, row: PiRow) -> SkipReason | None:
    talk.time = parse_time(row.timestamp)
    if row.type in _HEADERS:
        talk.started_by = row.calling_session_id
        talk.is_subagent = talk.started_by is not None
        return talk.describe(row.id, row.cwd)
    if talk.is_subagent:
        return talk.sidechain(lambda run: _read_row(run, row))
    return _read_row(talk, row)


def _read_row(talk: Conversation, row: PiRow) -> SkipReason | None:
    match row.type:
        case "model_change":
            return talk.describe(model=row.model or row.model_id)
        case "message":
            return _read_message(talk, row, row.message)
        case kind:
            return _SKIPPED.get(str(kind), SkipReason.OTHER)


def _read_message(talk: Conversation, row: PiRow, message: dict[str, Any]) -> SkipReason | None:
    role, content = message.get("role"), message.get("content")
    talk.time = talk.time or parse_timestamp(message.get("timestamp"))
    if role in ("toolResult", "tool"):
        return talk.returned(message)
    if (skipped := _SKIPPED.get(str(role))) is not None:
        return skipped
    talk.describe(model=message.get("model"))
    # A fork repeats the rows before it in another file, with their ids and times.
    native_id = f"{row.timestamp} {row.id}" if row.timestamp and row.id else None
    words = _words if role == "user" else str
    reason = talk.content(role, content, row.id, words=words, native_id=native_id)
    for call in objects(message.get("toolCalls")):
        function = call.get("function")
        called = talk.call(at(function, "name"), at(function, "arguments"), call.get("id"))
        reason = first_of([reason, called])
    talk.usage(native_id, PiUsage, message.get("usage"))
    if message.get("stopReason") in ("aborted", "error"):
        return talk.interrupt()
    return reason


def _words(text: str) -> str:
    """Return what the user wrote.

    Droid adds reminders, and the files that a prompt names; OpenClaw adds who sent it.
    """
    if _FILE.match(text):
        return ""
    return without_elements(_sender("", text), "system-reminder".__eq__)


PI_AGENT = LineReader(PiRow, (("type", "id", "parentId"),), _is_row, _read)
