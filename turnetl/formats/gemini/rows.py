"""The rows of Gemini CLI's sessions: only the fields that are used.

A document's messages, a line's message, and the lines that change what was written before are all
read as one struct: which of them a row is shows in what it holds.
"""

from typing import Annotated, Any

import msgspec

from turnetl.formats.kit.row_decoder import RowDecoder

SPOKEN = ("gemini", "model", "assistant")
NOTICES = ("info", "warning", "error")
KINDS = ("user", *SPOKEN, *NOTICES)


class Call(msgspec.Struct):
    id: str | None = None
    name: str | None = None
    args: Any = None


class Response(msgspec.Struct):
    id: str | None = None
    name: str | None = None
    response: Any = None


class Part(msgspec.Struct, rename="camel"):
    """A piece of a message, of one of these kinds."""

    text: str | None = None
    thought: Any = None
    function_call: Call | None = None
    function_response: Response | None = None
    inline_data: Any = None
    file_data: Any = None


Content = str | list[str | Part] | Part | None


class ToolCall(msgspec.Struct, rename="camel"):
    """A call with what came of it; `result` is what the model saw, `result_display` the person."""

    id: str | None = None
    name: str | None = None
    args: Any = None
    result: Content = None
    status: str | None = None
    timestamp: str | None = None
    agent_id: str | None = None
    result_display: Any = None


_Tokens = Annotated[int, msgspec.Meta(ge=0, lt=2**40)]


class Tokens(msgspec.Struct):
    input: _Tokens | None = None
    output: _Tokens | None = None


class Update(msgspec.Struct, rename="camel"):
    """What a session knows about itself, and its messages if they were all written anew."""

    session_id: str | None = None
    kind: str | None = None
    directories: list[str] | None = None
    messages: "list[Row] | None" = None


class Patch(msgspec.Struct, rename="camel"):
    remove_ids: list[str] | None = None


class Row(msgspec.Struct, rename="camel"):
    """A message, or a session's head, or a change to either."""

    id: str | None = None
    type: str | None = None
    timestamp: str | None = None
    content: Content = None
    parts: Content = None
    display_content: Content = None
    tool_calls: list[ToolCall] | None = None
    tokens: Tokens | None = None
    model: str | None = None
    session_id: str | None = None
    kind: str | None = None
    directories: list[str] | None = None
    messages: "list[Row] | None" = None
    update: Update | None = msgspec.field(default=None, name="$set")
    patch: Patch | None = msgspec.field(default=None, name="$patch")
    rewind_to: str | None = msgspec.field(default=None, name="$rewindTo")


ROWS = RowDecoder(Row)


def parts_of(content: Content) -> list[Part]:
    """Return the pieces of a message, whether it is a text, a piece, or a list of either."""
    if content is None or content == "":
        return []
    pieces = content if isinstance(content, list) else [content]
    return [Part(text=piece) if isinstance(piece, str) else piece for piece in pieces]


def texts_of(content: Content) -> list[str]:
    """Return the texts of a message that are no thoughts; blank ones are left out."""
    if isinstance(content, str):
        return [content] if content.strip() else []
    texts = [part.text for part in parts_of(content) if part.text and not part.thought]
    return [text for text in texts if text.strip()]


def calls_of(row: Row) -> list[ToolCall]:
    """Return the calls of a message: those recorded, then those that only its pieces name."""
    recorded = row.tool_calls or []
    ids = {call.id for call in recorded}
    named = [part.function_call for part in parts_of(row.content) if part.function_call]
    others = [ToolCall(call.id, call.name, call.args) for call in named if call.id not in ids]
    return [*recorded, *others]
