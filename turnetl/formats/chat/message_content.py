"""The content of a chat message: texts, images, tool calls and tool results."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from turnetl.formats.chat.rows import ChatLogMessage
from turnetl.formats.kit.row_decoder import decode_text
from turnetl.formats.kit.tool_input import compact_json

_PLACEHOLDERS = {
    "image": "[image]",
    "image_url": "[image]",
    "image_file": "[image]",
    "input_image": "[image]",
    "audio": "[audio]",
    "audio_url": "[audio]",
    "input_audio": "[audio]",
    "video": "[video]",
    "video_url": "[video]",
    "file": "[file]",
    "input_file": "[file]",
    "document": "[file]",
}
_OMITTED = ("reasoning", "thinking", "redacted_thinking", "tools")
"""Reasoning is not kept, and a list of available tools is not a text of a message."""
_CALLS = ("tool_use", "tool_call", "tool_calls", "function_call")
_RESULT = "tool_result"
_ARGUMENTS = ("arguments", "input", "parameters", "args")


@dataclass(frozen=True, slots=True)
class MessageCall:
    """A tool call in a message."""

    key: str | None
    """The id by which its result names it."""
    name: str
    arguments: Any


def texts(body: Any) -> list[str]:
    """Return the texts of a message body, one per part; a placeholder in brackets for the rest."""
    if isinstance(body, str):
        return [body] if body else []
    if isinstance(body, list):
        return [text for part in body if (text := _part_text(part))]
    return [] if body is None else [compact_json(body)]


def nonblank_texts(body: Any) -> list[str]:
    if isinstance(body, str):
        return [body] if body.strip() else []
    return [text for text in texts(body) if text.strip()]


def joined_texts(body: Any) -> str:
    """Return a tool result as one text."""
    return "\n".join(texts(body))


def calls(message: ChatLogMessage) -> Sequence[MessageCall]:
    """Return the calls in an assistant's message, wherever they are in it."""
    body = message.body
    parts = body if isinstance(body, list) else ()
    if message.tool_calls is None and message.function_call is None and not parts:
        return ()
    found = [_call(entry) for entry in _entries(message.tool_calls)]
    found += [_call(entry) for entry in _entries(message.function_call)]
    for part in parts:
        if isinstance(part, dict) and part.get("type") in _CALLS:
            found += _part_calls(part)
    return found


def standalone_calls(message: ChatLogMessage) -> Sequence[MessageCall]:
    """Return the calls of a message that consists of calls only."""
    if message.body is None:
        return (MessageCall(None, message.name or "", message.arguments),)
    return [_call(entry) for entry in _entries(message.body)]


def is_prompt(message: ChatLogMessage) -> bool:
    """Return whether a user's message has no tool results."""
    return not (isinstance(message.body, list) and tool_results(message))


def tool_results(message: ChatLogMessage) -> list[dict[str, Any]]:
    """Return the tool results among the parts of a user's message."""
    parts = message.body if isinstance(message.body, list) else []
    return [part for part in parts if isinstance(part, dict) and part.get("type") == _RESULT]


def listed_result(value: Any) -> str:
    """Return one of several tool results in a list."""
    if isinstance(value, dict) and "content" in value:
        return joined_texts(value["content"])
    return joined_texts(value)


def decoded(value: Any) -> Any:
    """Return the value of a text that is JSON; other values unchanged."""
    return decode_text(value, value) if isinstance(value, str) else value


def _part_text(part: Any) -> str:
    if isinstance(part, str):
        return part
    if not isinstance(part, dict):
        return compact_json(part)
    kind = part.get("type")
    if isinstance(kind, str) and kind in _PLACEHOLDERS:
        return _PLACEHOLDERS[kind]
    if kind in _OMITTED or kind in _CALLS or kind == _RESULT:
        return ""
    values = (part.get(key) for key in ("text", "value", "content", "refusal"))
    plain = (value.get("value") if isinstance(value, dict) else value for value in values)
    text = next((value for value in plain if isinstance(value, str)), None)
    return f"[{kind or 'unknown'}]" if text is None else text


def _part_calls(part: dict[str, Any]) -> Iterator[MessageCall]:
    if "value" not in part:
        yield _call(part)
        return
    for entry in _entries(part["value"]):
        yield _call(entry)


def _entries(value: Any) -> list[Any]:
    """Return one call or several, which may be encoded as JSON text."""
    if value is None:
        return []
    entries = decoded(value)
    return entries if isinstance(entries, list) else [entries]


def _call(entry: Any) -> MessageCall:
    entry = decoded(entry)
    if not isinstance(entry, dict):
        return MessageCall(None, "", entry)
    nested = (entry.get(key) for key in ("function", "custom"))
    function = next((value for value in nested if isinstance(value, dict)), entry)
    name, key = function.get("name"), entry.get("id")
    arguments = (function[argument] for argument in _ARGUMENTS if argument in function)
    return MessageCall(
        key if isinstance(key, str) else None,
        name if isinstance(name, str) else "",
        next(arguments, None),
    )
