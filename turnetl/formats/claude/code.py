"""The format of Claude Code's session JSONL, versions 1.0 to 2.1.

A turn starts at a row of role user that a user wrote, and ends before the next one of the same
session.
"""

from collections.abc import Mapping
from typing import Any

from turnetl.formats.base import ParsedArchive, Probe
from turnetl.formats.claude.rows import ROWS
from turnetl.formats.claude.turns import MESSAGE_TYPES, ClaudeReader
from turnetl.formats.kit.jsonl import read_lines
from turnetl.formats.kit.probe import LazyObject

_OTHER_TYPES = frozenset(
    (
        *("agent-color", "agent-name", "agent-setting", "ai-title", "artifact-comment-monitor"),
        *("atis-latch", "attachment", "attribution-snapshot", "bridge-session"),
        *("content-replacement", "continued-in", "custom-title", "file-history-delta"),
        *("file-history-snapshot", "fork-context-ref", "frame-link", "last-prompt"),
        *("marble-origami-commit", "marble-origami-snapshot", "mode", "permission-mode"),
        *("pr-link", "progress", "queue-operation", "relocated", "session-state"),
        *("speculation-accept", "summary", "system", "tag", "task-summary", "worktree-state"),
    )
)
_IDS = ("sessionId", "uuid", "parentUuid", "leafUuid", "messageId")


class ClaudeCode:
    def sniff(self, probe: Probe) -> bool:
        """Recognise the archive by any row that only Claude Code writes."""
        rows = (row for row in probe.rows if _is_row(row) and not _is_from_other_tool(row))
        first = next(rows, None)
        if first is None:
            return False
        return first.get("type") in MESSAGE_TYPES or not any(map(_has_parts, probe.rows))

    def read(self, data: bytes) -> ParsedArchive:
        reader = ClaudeReader()
        read_lines(data, ROWS, reader.read, reader.counts)
        return reader.finish()


def _is_row(row: Mapping[str, Any]) -> bool:
    """Return whether an object has the form of Claude Code's rows."""
    kind, has_id = row.get("type"), any(isinstance(row.get(name), str) for name in _IDS)
    if kind not in MESSAGE_TYPES:
        return has_id and isinstance(kind, str) and kind in _OTHER_TYPES
    message = row.get("message")
    if not isinstance(message, dict) or message.get("content") is None:
        return False
    # A session that was shortened for publication often keeps nothing but texts and times.
    return has_id or (message.get("role") == kind and isinstance(row.get("timestamp"), str))


def _has_parts(row: LazyObject) -> bool:
    """Recognise messages of Qwen Code, whose other rows look like those of Claude Code."""
    message = row.object_at("message")
    return message is not None and "parts" in message and "content" not in message


def _is_from_other_tool(row: Mapping[str, Any]) -> bool:
    """Recognise rows of tools with a similar format, and Claude Code's output for programs.

    They hold no prompts of users and are therefore no session.
    """
    if "session_id" in row and "sessionId" not in row:
        return True
    return row.get("type") == "system" and not isinstance(row.get("uuid"), str)
