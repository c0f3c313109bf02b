"""The rows of Claude Code's JSONL: only the fields that are used, and a way to read crooked ones.

Types vary between versions, and by accident; a field of another type than these counts as missing.
"""

import json
from typing import Annotated, Any, TypeVar

import msgspec


class Block(msgspec.Struct):
    """One piece of a message: text, image, tool_use, tool_result ..."""

    type: str | None = None
    text: str | None = None
    id: str | None = None
    name: str | None = None
    input: Any = None
    tool_use_id: str | None = None
    tool_name: str | None = None
    content: "str | list[str | Block] | None" = None
    is_error: bool | None = None


_Tokens = Annotated[int, msgspec.Meta(ge=0, lt=2**40)]


class Usage(msgspec.Struct):
    input_tokens: _Tokens | None = None
    output_tokens: _Tokens | None = None


class Message(msgspec.Struct):
    id: str | None = None
    model: str | None = None
    content: str | list[str | Block] | None = None
    usage: Usage | None = None


class Origin(msgspec.Struct, rename="camel"):
    session_id: str | None = None


class Row(msgspec.Struct, rename="camel"):
    """A line. Most kinds of rows fill only a few of these."""

    type: str | None = None
    uuid: str | None = None
    parent_uuid: str | None = None
    leaf_uuid: str | None = None
    message_id: str | None = None
    session_id: str | None = None
    parent_session_id: str | None = None
    forked_from: Origin | None = None
    agent_id: str | None = None
    timestamp: str | None = None
    cwd: str | None = None
    git_branch: str | None = None
    version: str | None = None
    is_sidechain: bool | None = None
    is_meta: bool | None = None
    is_compact_summary: bool | None = None
    is_visible_in_transcript_only: bool | None = None
    is_api_error_message: bool | None = None
    operation: str | None = None
    content: Any = None
    message: Message | None = None


_NESTED: dict[str, type[msgspec.Struct]] = {
    "message": Message,
    "usage": Usage,
    "forked_from": Origin,
}
_decode = msgspec.json.Decoder(Row).decode
_scan = json.JSONDecoder().raw_decode
_Struct = TypeVar("_Struct", bound=msgspec.Struct)


def read(line: bytes) -> Row | None:
    """Return the row of a line that is as it should be, or None: then ask `mend`."""
    try:
        return _decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def mend(line: bytes) -> tuple[list[Row], int]:
    """Read a crooked line.

    Returns:
        The rows of the JSON objects on it, and how many JSON values stand there: 1 on a line that
        is sound, 0 if it does not start with one, several if they were glued. A value that is not
        an object gives no row; what follows a value and is no JSON makes the number negative.
    """
    values, whole = _values(line.decode("utf-8", "replace").removeprefix("\ufeff").strip())
    rows = [_lenient(Row, value) for value in values if isinstance(value, dict)]
    return rows, len(values) if whole else -len(values)


def blocks_of(message: Message) -> list[Block]:
    """Return the pieces of a message, whether it is a text, a list, or a list with texts in it."""
    content = message.content
    pieces = [content] if isinstance(content, str) else content or []
    return [Block("text", piece) if isinstance(piece, str) else piece for piece in pieces]


def flat(content: str | list[str | Block] | None) -> str:
    """Return a tool's outcome as one text."""
    if content is None or isinstance(content, str):
        return content or ""
    return "\n".join(_piece(piece) for piece in content)


def _piece(piece: str | Block) -> str:
    if isinstance(piece, str):
        return piece
    return piece.text or piece.tool_name or f"[{piece.type or 'unknown'}]"


def _values(text: str) -> tuple[list[Any], bool]:
    found: list[Any] = []
    at = 0
    while at < len(text):
        try:
            value, at = _scan(text, at)
            found.append(_sound(value))
        except (ValueError, RecursionError):
            return found, False
        at += len(text) - at - len(text[at:].lstrip())
    return found, True


def _sound(value: Any) -> Any:
    """Return the value without lone halves of characters, which no table can hold."""
    text = json.dumps(value, ensure_ascii=False)
    return json.loads(text.encode("utf-8", "replace"))


def _lenient(kind: type[_Struct], value: dict[str, Any]) -> _Struct:
    found = {}
    for field in msgspec.structs.fields(kind):
        given = value.get(field.encode_name)
        try:
            found[field.name] = _convert(given, field.name, field.type)
        except (msgspec.ValidationError, RecursionError):
            continue
    return kind(**found)


def _convert(given: Any, name: str, kind: Any) -> Any:
    if isinstance(given, dict) and name in _NESTED:
        return _lenient(_NESTED[name], given)
    if name == "content" and isinstance(given, list):
        return [_block(piece) for piece in given if isinstance(piece, str | dict)]
    return msgspec.convert(given, kind)


def _block(piece: str | dict[str, Any]) -> str | Block:
    return piece if isinstance(piece, str) else _lenient(Block, piece)
