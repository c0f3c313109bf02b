"""The rows of a Codex rollout, with only the fields that are used.

An item is in the envelope `{timestamp, type, payload}`, or is a line of its own in versions before
September 2025. Types vary. A field of another type counts as missing.
"""

from typing import Any

import msgspec

from turnetl.formats.kit.lines import SourceSpan
from turnetl.formats.kit.row_decoder import Envelope, RowDecoder
from turnetl.formats.kit.usage import OpenAIUsage


class CodexPart(msgspec.Struct):
    """One part of a message: input_text, output_text, input_image ..."""

    type: str | None = None
    text: str | None = None
    name: str | None = None
    """Of a skill or of what is mentioned."""


class CodexTokenInfo(msgspec.Struct):
    total_token_usage: OpenAIUsage | None = None
    last_token_usage: OpenAIUsage | None = None


class CodexGit(msgspec.Struct):
    branch: str | None = None


class CodexReview(msgspec.Struct):
    overall_explanation: str | None = None
    findings: list[dict[str, Any]] | None = None


class CodexItem(msgspec.Struct):
    """A payload. Each type has only a few of these fields."""

    type: str | None = None
    id: str | None = None
    # Messages.
    role: str | None = None
    content: str | list[str | CodexPart] | None = None
    message: str | None = None
    text: str | None = None
    kind: str | None = None
    images: Any = None
    local_images: Any = None
    internal_chat_message_metadata_passthrough: Any = None
    # Tool calls and results.
    name: str | None = None
    arguments: Any = None
    input: Any = None
    action: Any = None
    revised_prompt: str | None = None
    call_id: str | None = None
    output: Any = None
    tools: Any = None
    server: str | None = None
    tool: str | None = None
    invocation: Any = None
    command: Any = None
    changes: Any = None
    query: str | None = None
    path: str | None = None
    prompt: str | None = None
    stdout: str | None = None
    stderr: str | None = None
    content_items: Any = None
    aggregated_output: str | None = None
    exit_code: int | None = None
    success: bool | None = None
    status: Any = None
    result: Any = None
    # Sessions and tasks.
    timestamp: str | None = None
    instructions: Any = None
    cwd: str | None = None
    git: CodexGit | None = None
    cli_version: str | None = None
    model: str | None = None
    source: Any = None
    thread_source: Any = None
    forked_from_id: str | None = None
    turn_id: str | None = None
    started_at: Any = None
    completed_at: Any = None
    reason: str | None = None
    error: Any = None
    info: CodexTokenInfo | None = None
    response_id: str | None = None
    usage: OpenAIUsage | None = None
    review_output: CodexReview | None = None
    item: "CodexItem | None" = None


class CodexRow(CodexItem):
    """A line: an envelope, or an item without one."""

    ordinal: int | None = None
    payload: CodexItem | None = None


ROWS = RowDecoder(CodexRow, Envelope(own=(frozenset({"timestamp", "type", "payload"}),)))


class CodexEntry(msgspec.Struct, gc=False):
    """A row with its item, which is its payload or the row itself, and its span."""

    row: CodexRow
    item: CodexItem
    span: SourceSpan


def texts(content: str | list[str | CodexPart] | None) -> list[str]:
    """Return the texts of a message, in order."""
    if content is None or isinstance(content, str):
        return [content] if content else []
    parts = (part if isinstance(part, str) else part.text for part in content)
    return [text for text in parts if text]


def has_image(content: str | list[str | CodexPart] | None) -> bool:
    """Return whether a message has an image."""
    parts = content if isinstance(content, list) else []
    kinds = (part.type or "" for part in parts if isinstance(part, CodexPart))
    return any("image" in kind for kind in kinds)


def mentions(content: str | list[str | CodexPart] | None) -> str:
    """Return the skills and the other things that a message names besides its texts."""
    parts = content if isinstance(content, list) else []
    names = (part.name for part in parts if isinstance(part, CodexPart) and part.name)
    return " ".join(f"${name}" for name in names)
