"""The rows of Claude Code's JSONL: only the fields that are used.

Types vary between versions, and by accident; a field of another type than these counts as missing.
Fields stand in the order in which they are written most often, where the decoder looks first.
"""

from typing import Annotated, Any

import msgspec

from turnetl.formats.kit.row_decoder import RowDecoder


class Block(msgspec.Struct, gc=False):
    """One piece of a message: text, image, tool_use, tool_result ..."""

    type: str | None = None
    text: str | None = None
    id: str | None = None
    name: str | None = None
    input: Any = None
    tool_use_id: str | None = None
    content: "str | list[str | Block] | None" = None
    is_error: bool | None = None
    tool_name: str | None = None


_Tokens = Annotated[int, msgspec.Meta(ge=0, lt=2**40)]


class Usage(msgspec.Struct, gc=False):
    input_tokens: _Tokens | None = None
    output_tokens: _Tokens | None = None


class Message(msgspec.Struct, gc=False):
    model: str | None = None
    id: str | None = None
    content: str | list[str | Block] | None = None
    usage: Usage | None = None


class Fork(msgspec.Struct, rename="camel"):
    session_id: str | None = None


class Origin(msgspec.Struct):
    """Who wrote a message, as versions from 2.1.2 say it."""

    kind: str | None = None


class Attachment(msgspec.Struct, rename="camel"):
    """What is put before the model beside the messages; one kind holds a person's words."""

    type: str | None = None
    prompt: str | list[str | Block] | None = None
    command_mode: str | None = None
    is_meta: bool | None = None
    source_uuid: str | None = msgspec.field(default=None, name="source_uuid")
    origin: Origin | None = None


class Row(msgspec.Struct, rename="camel", gc=False):
    """A line. Most kinds of rows fill only a few of these."""

    parent_uuid: str | None = None
    is_sidechain: bool | None = None
    cwd: str | None = None
    session_id: str | None = None
    version: str | None = None
    git_branch: str | None = None
    agent_id: str | None = None
    type: str | None = None
    message: Message | None = None
    is_meta: bool | None = None
    uuid: str | None = None
    timestamp: str | None = None
    leaf_uuid: str | None = None
    message_id: str | None = None
    parent_session_id: str | None = None
    forked_from: Fork | None = None
    is_compact_summary: bool | None = None
    is_visible_in_transcript_only: bool | None = None
    is_api_error_message: bool | None = None
    turn_companion: bool | None = None
    turn_origin: str | None = None
    origin: Origin | None = None
    operation: str | None = None
    command_uuid: str | None = None
    reason: str | None = None
    content: Any = None
    attachment: Attachment | None = None
    user_feedback: str | None = None
    parent_tool_use_id: str | None = msgspec.field(default=None, name="parent_tool_use_id")
    """The call of a subagent, in what a program was given to read: only subagents have one."""


ROWS = RowDecoder(Row)


def blocks_of(content: str | list[str | Block] | None) -> list[Block]:
    """Return the pieces of a message, whether it is a text, a list, or a list with texts in it."""
    if isinstance(content, str):
        return [Block("text", content)]
    return [Block("text", piece) if isinstance(piece, str) else piece for piece in content or ()]


def loose(content: Any) -> list[Block] | None:
    """Return the pieces of what may be a text or a list; None if it is neither."""
    if isinstance(content, str):
        return [Block("text", content)]
    if not isinstance(content, list):
        return None
    texts = (piece.get("text") for piece in content if isinstance(piece, dict))
    return [Block("text", text) for text in texts if isinstance(text, str)]


def flat(content: str | list[str | Block] | None) -> str:
    """Return a tool's outcome as one text."""
    if content is None or isinstance(content, str):
        return content or ""
    return "\n".join(_piece(piece) for piece in content)


def _piece(piece: str | Block) -> str:
    if isinstance(piece, str):
        return piece
    return piece.text or piece.tool_name or f"[{piece.type or 'unknown'}]"
