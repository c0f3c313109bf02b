"""The rows of Claude Code's JSONL, with only the fields that are used.

Types vary between versions, and by accident. A field of another type counts as missing. Fields are
in the order in which they are usually written, because the decoder expects them in that order.
"""

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from turnetl.base.reason import SkipReason
from turnetl.formats.kit.row_decoder import Envelope, RowDecoder
from turnetl.formats.kit.usage import AnthropicUsage


class ClaudeBlock(msgspec.Struct, gc=False):
    """One block of a message: text, image, tool_use, tool_result ..."""

    type: str | None = None
    text: str | None = None
    id: str | None = None
    name: str | None = None
    input: Any = None
    tool_use_id: str | None = None
    content: "str | list[str | ClaudeBlock] | None" = None
    is_error: bool | None = None
    tool_name: str | None = None


class ClaudeMessage(msgspec.Struct, gc=False):
    model: str | None = None
    id: str | None = None
    content: str | list[str | ClaudeBlock] | None = None
    usage: AnthropicUsage | None = None


class ProgressRow(msgspec.Struct, gc=False):
    """The row of a subagent whose progress is reported."""

    type: str | None = None
    timestamp: str | int | float | None = None
    message: ClaudeMessage | None = None
    uuid: str | None = None


class ClaudeProgress(msgspec.Struct, rename="camel", gc=False):
    """What a progress row reports: only that of a subagent is a message."""

    message: ProgressRow | None = None
    agent_id: str | None = None


class ClaudeToolResult(msgspec.Struct, rename="camel", gc=False):
    """The result of a tool for the client: that of a subagent names it."""

    agent_id: str | None = None
    original_file: str | None = None
    """The file before the call edited it."""


class ForkOrigin(msgspec.Struct, rename="camel"):
    """The row of another session that a row of a fork copies."""

    session_id: str | None = None
    message_uuid: str | None = None


class MessageOrigin(msgspec.Struct):
    """The author of a message, written since version 2.1.2."""

    kind: str | None = None


class ClaudeAttachment(msgspec.Struct, rename="camel"):
    """Content for the model beside the messages. One type holds text that the user typed."""

    type: str | None = None
    prompt: str | list[str | ClaudeBlock] | None = None
    command_mode: str | None = None
    is_meta: bool | None = None
    source_uuid: str | None = msgspec.field(default=None, name="source_uuid")
    origin: MessageOrigin | None = None


class ClaudeRow(msgspec.Struct, rename="camel", gc=False):
    """A line. Most types of rows have only a few of these fields."""

    parent_uuid: str | None = None
    is_sidechain: bool | None = None
    cwd: str | None = None
    session_id: str | None = None
    version: str | None = None
    git_branch: str | None = None
    agent_id: str | None = None
    type: str | None = None
    message: ClaudeMessage | None = None
    data: ClaudeProgress | None = None
    is_meta: bool | None = None
    uuid: str | None = None
    timestamp: str | int | float | None = None
    tool_use_result: ClaudeToolResult | str | list[msgspec.Raw] | None = None
    message_id: str | None = None
    parent_session_id: str | None = None
    forked_from: ForkOrigin | None = None
    is_compact_summary: bool | None = None
    is_visible_in_transcript_only: bool | None = None
    is_api_error_message: bool | None = None
    turn_companion: bool | None = None
    turn_origin: str | None = None
    origin: MessageOrigin | None = None
    operation: str | None = None
    command_uuid: str | None = None
    reason: str | None = None
    content: Any = None
    attachment: ClaudeAttachment | None = None
    user_feedback: str | None = None
    parent_tool_use_id: str | None = msgspec.field(default=None, name="parent_tool_use_id")
    """The call that started a subagent, in output for programs. Only subagents have one."""
    progress_of: str | None = msgspec.field(default=None, name="parentToolUseID")
    """The call whose progress is reported."""


ROWS = RowDecoder(
    ClaudeRow,
    Envelope(own=(("type", "sessionId"), ("type", "leafUuid"), ("type", "messageId", "snapshot"))),
)


class CoworkRow(ClaudeRow, gc=False):
    """A line of Claude Cowork's log: what Claude Code prints for programs, with prompts."""

    session_id: str | None = msgspec.field(default=None, name="session_id")
    timestamp: str | int | float | None = msgspec.field(default=None, name="_audit_timestamp")


COWORK_ROWS = RowDecoder(CoworkRow, Envelope(own=(("type", "session_id", "_audit_timestamp"),)))


def is_cowork(row: Mapping[str, Any]) -> bool:
    return row.get("type") in (*MESSAGE_TYPES, "system") and "_audit_timestamp" in row


def blocks_of(content: str | list[str | ClaudeBlock] | None) -> list[ClaudeBlock]:
    """Return the blocks of a message that is a text, a list of blocks, or a list with texts."""
    if isinstance(content, str):
        return [ClaudeBlock("text", content)]
    blocks = content or ()
    return [ClaudeBlock("text", block) if isinstance(block, str) else block for block in blocks]


def blocks_of_any(content: Any) -> list[ClaudeBlock] | None:
    """Return the blocks of undecoded content; None if it is neither a text nor a list."""
    if isinstance(content, str):
        return [ClaudeBlock("text", content)]
    if not isinstance(content, list):
        return None
    blocks = (block for block in content if isinstance(block, dict))
    return [ClaudeBlock(_str(block.get("type")), _str(block.get("text"))) for block in blocks]


class MessageContent(msgspec.Struct, frozen=True, gc=False):
    blocks: list[ClaudeBlock]
    key: int
    """Blocks with the same texts, calls and results have the same number in this process."""


def content_of(content: str | list[str | ClaudeBlock] | None) -> MessageContent:
    """Return the content of a message: see `blocks_of`."""
    blocks = blocks_of(content)
    # Almost every message has one block.
    key = _block_key(blocks[0]) if len(blocks) == 1 else tuple(map(_block_key, blocks))
    return MessageContent(blocks, hash(key))


def _block_key(block: ClaudeBlock) -> tuple[str | None, ...]:
    if block.type == "tool_result":
        content = block.content
        text = content if isinstance(content, str) else joined_text(content)
        return block.type, block.tool_use_id, text
    return block.type, block.text, block.id


def _str(value: object) -> str | None:
    return value if isinstance(value, str) else None


def count_calls(blocks: list[ClaudeBlock]) -> int:
    return sum(block.type == "tool_use" for block in blocks)


def joined_text(content: str | list[str | ClaudeBlock] | None) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    return "\n".join(_block_text(block) for block in content)


def _block_text(block: str | ClaudeBlock) -> str:
    if isinstance(block, str):
        return block
    return block.text or block.tool_name or f"[{block.type or 'unknown'}]"


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
    return _REASONS.get(kind or "", _OTHER)


def is_message(row: Mapping[str, Any]) -> bool:
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
