"""The types of rows that hold no message: how they are recognised, and why they are skipped."""

import re
from collections.abc import Mapping
from typing import Any

from turnetl.base.skip_reasons import SkipReason

MESSAGE_TYPES = ("user", "assistant")
_METADATA = (
    *("agent-color", "agent-name", "agent-setting", "ai-title", "atis-latch", "bridge-session"),
    *("continued-in", "custom-title", "fork-context-ref", "frame-link", "last-prompt", "mode"),
    *("permission-mode", "pr-link", "relocated", "session-state", "tag", "worktree-state"),
)
_REASONS = {
    **dict.fromkeys(_METADATA, SkipReason.SESSION_METADATA),
    "artifact-comment-monitor": SkipReason.EVENT,
    "attachment": SkipReason.ATTACHMENT,
    "attribution-snapshot": SkipReason.SNAPSHOT,
    "content-replacement": SkipReason.HISTORY,
    "file-history-delta": SkipReason.SNAPSHOT,
    "file-history-snapshot": SkipReason.SNAPSHOT,
    "marble-origami-commit": SkipReason.COMPACTION,
    "marble-origami-snapshot": SkipReason.COMPACTION,
    "progress": SkipReason.PROGRESS,
    "queue-operation": SkipReason.QUEUE,
    "result": SkipReason.EVENT,
    "speculation-accept": SkipReason.EVENT,
    "started": SkipReason.EVENT,
    "summary": SkipReason.SUMMARY,
    "system": SkipReason.SYSTEM,
    "task-summary": SkipReason.SUMMARY,
}
_COMMON = ("result", "started")
"""Types whose names other tools use, too."""
_IDS = ("sessionId", "uuid", "parentUuid", "leafUuid", "messageId")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_COMPOUND = re.compile(r"[a-z]+(?:-[a-z]+)+")
_FOREIGN = ("data", "message", "parts", "payload", "projectHash", "role", "systemPayload")
"""Fields of other tools' rows, and of messages."""
_SYSTEM_FIELDS = ("isSidechain", "userType")
# Bound once: access through the class of an enum is slow, and most rows are skipped.
_OTHER = SkipReason.OTHER


def skip_reason_of(kind: str | None) -> SkipReason:
    """Return why a row of this type adds nothing to a turn."""
    return _REASONS.get(kind or "", _OTHER)


def is_message(row: Mapping[str, Any]) -> bool:
    """Return whether an object has the form of Claude Code's messages."""
    kind = row.get("type")
    if kind not in MESSAGE_TYPES or _is_of_output(row):
        return False
    message = row.get("message")
    if not isinstance(message, dict) or message.get("content") is None:
        return False
    # A session that was shortened for publication often keeps nothing but texts and times.
    return _has_id(row) or (message.get("role") == kind and isinstance(row.get("timestamp"), str))


def is_other_row(row: Mapping[str, Any]) -> bool:
    """Return whether an object has the form of Claude Code's rows without a message.

    New types appear with most releases. An unknown one must have a name and an id of their form.
    """
    kind = row.get("type")
    if not isinstance(kind, str) or not _has_id(row) or _is_of_output(row):
        return False
    if kind == "system":
        return isinstance(row.get("uuid"), str) and any(name in row for name in _SYSTEM_FIELDS)
    if kind in _REASONS and kind not in _COMMON:
        return True
    session = row.get("sessionId")
    if not isinstance(session, str) or _UUID.fullmatch(session) is None:
        return False
    is_known = kind in _REASONS or _COMPOUND.fullmatch(kind) is not None
    return is_known and not any(name in row for name in _FOREIGN)


def is_foreign(row: Mapping[str, Any]) -> bool:
    """Return whether an object is a row of a tool whose rows resemble Claude Code's."""
    message = row.get("message")
    is_model = isinstance(message, dict) and ("parts" in message or message.get("role") == "model")
    return is_model or "systemPayload" in row


def _has_id(row: Mapping[str, Any]) -> bool:
    return any(isinstance(row.get(name), str) for name in _IDS)


def _is_of_output(row: Mapping[str, Any]) -> bool:
    """Return whether a row is of what Claude Code prints for programs: it holds no prompts."""
    return "session_id" in row and "sessionId" not in row
