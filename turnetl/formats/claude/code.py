"""Claude Code's session JSONL, 1.0 to 2.1.

A turn starts at a row of role user that a person wrote and runs to the next one of the same
conversation.
"""

from collections.abc import Mapping
from typing import Any

from turnetl.formats.base import ParsedArchive, Probe
from turnetl.formats.claude.rows import ROWS
from turnetl.formats.claude.turns import SPEAKING, Reader
from turnetl.formats.kit.jsonl import read_lines

_SIGNS = (
    *("queue-operation", "progress", "file-history-snapshot", "summary", "system"),
    *("attachment", "last-prompt", "permission-mode", "worktree-state", "pr-link"),
    *("ai-title", "custom-title", "agent-name"),
)
_NAMES = ("sessionId", "uuid", "parentUuid", "leafUuid", "messageId")


class ClaudeCode:
    name = "claude_code"
    title = "Claude Code sessions, 1.0 to 2.1 (JSONL)"
    version = 3

    def sniff(self, probe: Probe) -> bool:
        """Know the archive by the first row that is one of Claude Code's."""
        return any(_is_row(row) and not _is_of_another(row) for row in probe.rows)

    def read(self, data: bytes) -> ParsedArchive:
        reader = Reader()
        read_lines(data, ROWS, reader.take, reader.counts)
        return reader.reading()


def _is_row(row: Mapping[str, Any]) -> bool:
    """Say whether an object is a row of Claude Code's."""
    kind, named = row.get("type"), any(isinstance(row.get(name), str) for name in _NAMES)
    if kind not in SPEAKING:
        return named and kind in _SIGNS
    message = row.get("message")
    if not isinstance(message, dict) or message.get("content") is None:
        return False
    # Who shortens a session for others often leaves nothing of it but words and times.
    return named or (message.get("role") == kind and isinstance(row.get("timestamp"), str))


def _is_of_another(row: Mapping[str, Any]) -> bool:
    """Know rows of tools that write much as Claude Code does, and of what it prints for programs.

    Nobody's prompt stands among those; so they are no session.
    """
    if "systemPayload" in row or ("session_id" in row and "sessionId" not in row):
        return True
    return row.get("type") == "system" and not isinstance(row.get("uuid"), str)
