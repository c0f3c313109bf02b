"""What a message holds: texts, pictures, calls of tools and what came of them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from turnetl.formats.chat.rows import Message
from turnetl.formats.kit.tool_input import compact_json

_MARKS = {
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
_UNSAID = ("reasoning", "thinking", "redacted_thinking", "tools")
"""Thoughts are not kept, and what tools there are nobody said."""
_CALLS = ("tool_use", "tool_call", "tool_calls", "function_call")
RESULT = "tool_result"
_ARGUMENTS = ("arguments", "input", "parameters", "args")
_UNREADABLE = (msgspec.DecodeError, RecursionError)


@dataclass(frozen=True, slots=True)
class Asked:
    """A call of a tool."""

    key: str | None
    """What its outcome names it by."""
    name: str
    arguments: Any


def texts(words: Any) -> list[str]:
    """Return what is said in words, a text a part; what is no text is named in brackets."""
    if isinstance(words, str):
        return [words] if words else []
    if isinstance(words, list):
        return [text for part in words if (text := _part(part))]
    return [] if words is None else [compact_json(words)]


def spoken(words: Any) -> list[str]:
    """Return the texts of which each says something."""
    if isinstance(words, str):
        return [words] if words.strip() else []
    return [text for text in texts(words) if text.strip()]


def calls(message: Message) -> Sequence[Asked]:
    """Return the calls in a model's message, wherever they stand in it."""
    words = message.words
    parts = words if isinstance(words, list) else ()
    if message.tool_calls is None and message.function_call is None and not parts:
        return ()
    found = [_asked(entry) for entry in _entries(message.tool_calls)]
    found += [_asked(entry) for entry in _entries(message.function_call)]
    for part in parts:
        if isinstance(part, dict) and part.get("type") in _CALLS:
            found += _in_part(part)
    return found


def called(message: Message) -> Sequence[Asked]:
    """Return the calls of a message that is nothing but calls."""
    if message.words is None:
        return (Asked(None, message.name or "", message.arguments),)
    return [_asked(entry) for entry in _entries(message.words)]


def is_prompt(message: Message) -> bool:
    """Say whether a person's message is more than what tools gave back."""
    return not (isinstance(message.words, list) and results(message))


def results(message: Message) -> list[dict[str, Any]]:
    """Return the outcomes of tools that stand among what a person said."""
    words = message.words if isinstance(message.words, list) else []
    return [part for part in words if isinstance(part, dict) and part.get("type") == RESULT]


def flat(words: Any) -> str:
    """Return what a tool gave back as one text."""
    return "\n".join(texts(words))


def share(value: Any) -> str:
    """Return one of several outcomes that stand in a list."""
    if isinstance(value, dict) and "content" in value:
        return flat(value["content"])
    return flat(value)


def decoded(value: Any) -> Any:
    """Return what a text of JSON holds; anything else as it is."""
    if not isinstance(value, str):
        return value
    try:
        return msgspec.json.decode(value)
    except _UNREADABLE:
        return value


def _part(part: Any) -> str:
    if isinstance(part, str):
        return part
    if not isinstance(part, dict):
        return compact_json(part)
    kind = part.get("type")
    if kind in _MARKS:
        return _MARKS[kind]
    if kind in _UNSAID or kind in _CALLS or kind == RESULT:
        return ""
    found = (part.get(key) for key in ("text", "value", "content", "refusal"))
    plain = (text.get("value") if isinstance(text, dict) else text for text in found)
    text = next((text for text in plain if isinstance(text, str)), None)
    return f"[{kind or 'unknown'}]" if text is None else text


def _in_part(part: dict[str, Any]) -> Iterator[Asked]:
    if "value" not in part:
        yield _asked(part)
        return
    for entry in _entries(part["value"]):
        yield _asked(entry)


def _entries(value: Any) -> list[Any]:
    """Return one call or several, given as they are or as a text of JSON."""
    if value is None:
        return []
    found = decoded(value)
    return found if isinstance(found, list) else [found]


def _asked(entry: Any) -> Asked:
    entry = decoded(entry)
    if not isinstance(entry, dict):
        return Asked(None, "", entry)
    nested = (entry.get(key) for key in ("function", "custom"))
    function = next((found for found in nested if isinstance(found, dict)), entry)
    name, key = function.get("name"), entry.get("id")
    arguments = (function[word] for word in _ARGUMENTS if word in function)
    return Asked(
        key if isinstance(key, str) else None,
        name if isinstance(name, str) else "",
        next(arguments, None),
    )
