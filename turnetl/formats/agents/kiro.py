"""Sessions of Kiro CLI: `sessions/cli/<id>.jsonl`, and the conversations of its older database.

In the files only prompts have a time. A row of a conversation is an entry: what the user or a tool
said, and the agent's response.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from turnetl.base.reason import SkipReason
from turnetl.formats.kit.conversation import Conversation
from turnetl.formats.kit.conversation_archives import LineReader
from turnetl.formats.kit.message_parts import at, first_of, objects
from turnetl.formats.kit.times import parse_timestamp
from turnetl.formats.kit.tool_input import as_text


class KiroRow(msgspec.Struct):
    """A message of a kind; a conversation with its folder, or an entry of it."""

    kind: str | None = None
    data: dict[str, Any] = {}
    conversation_id: str | None = None
    key: str | None = None
    entry: Any = None


_KINDS = ("Prompt", "AssistantMessage", "ToolResults")
_OUTPUT = ("stdout", "stderr", "exit_status")
"""What a command printed, and how it ended."""


def _is_row(row: Mapping[str, Any]) -> bool:
    """Return whether a row has a version, a kind of Kiro and data, or names a conversation."""
    if row.keys() == {"conversation_id", "key"}:
        return True
    is_message = row.get("kind") in _KINDS and "version" in row
    return is_message and at(row.get("data"), "content") is not None


def _read(talk: Conversation, row: KiroRow) -> SkipReason | None:
    if row.conversation_id is not None:
        return talk.describe(row.conversation_id, row.key)
    if isinstance(row.entry, str):
        # A conversation that is no JSON is its only entry.
        return SkipReason.INVALID_JSON
    return _message(talk, row) if row.entry is None else _entry(talk, row.entry)


def _message(talk: Conversation, row: KiroRow) -> SkipReason | None:
    talk.time = parse_timestamp(at(row.data, "meta", "timestamp"))
    parts = objects(row.data.get("content"))
    texts = [part.get("data") for part in parts if part.get("kind") == "text"]
    match row.kind:
        case "Prompt":
            prompt = "\n\n".join(text for text in texts if isinstance(text, str))
            images = "[image]" if any(part.get("kind") == "image" for part in parts) else ""
            return talk.prompt(prompt or images, row.data.get("message_id"))
        case "AssistantMessage":
            uses = [part.get("data") for part in parts if part.get("kind") == "toolUse"]
            calls = [
                talk.call(at(use, "name"), at(use, "input"), at(use, "toolUseId")) for use in uses
            ]
            return first_of([talk.answer(*texts), *calls])
        case "ToolResults":
            return first_of(_result(talk, part.get("data")) for part in parts)
        case "Compaction":
            return SkipReason.COMPACTION
        case _:
            return SkipReason.OTHER


def _result(talk: Conversation, result: object) -> SkipReason | None:
    parts = [_output(part.get("data")) for part in objects(at(result, "content"))]
    is_error = at(result, "status") == "error"
    return talk.result(at(result, "toolUseId"), "\n".join(parts), is_error=is_error)


def _entry(talk: Conversation, entry: Any) -> SkipReason | None:
    """Read an entry, which was a pair before it named its parts."""
    if isinstance(entry, list):
        entry = dict(zip(("user", "assistant"), entry, strict=False))
    user, assistant, request = (at(entry, key) for key in ("user", "assistant", "request_metadata"))
    started = at(request, "request_start_timestamp_ms")
    talk.time = parse_timestamp(at(user, "timestamp")) or parse_timestamp(started)
    cwd = at(user, "env_context", "env_state", "current_working_directory")
    talk.describe(cwd=cwd, model=at(request, "model_id"))
    return first_of([*_said(talk, at(user, "content")), *_answered(talk, assistant)])


def _said(talk: Conversation, content: object) -> Iterator[SkipReason | None]:
    """Read a prompt or results; the prompt that cancels calls comes with theirs."""
    for kind in _contents(content):
        for result in objects(kind.get("tool_use_results")):
            values = [value for part in objects(result.get("content")) for value in part.values()]
            output = "\n".join(map(_output, values))
            is_error = result.get("status") == "Error"
            yield talk.result(result.get("tool_use_id"), output, is_error=is_error)
        if kind.get("prompt"):
            yield talk.prompt(kind["prompt"])


def _answered(talk: Conversation, response: object) -> Iterator[SkipReason | None]:
    for kind in _contents(response):
        if kind.get("content"):
            yield talk.answer(kind["content"])
        for use in objects(kind.get("tool_uses")):
            yield talk.call(use.get("name"), use.get("args"), use.get("id"))


def _contents(value: object) -> list[dict[str, Any]]:
    """Return what is under the name of each kind, as `{"Prompt": {…}}`."""
    return objects([*value.values()]) if isinstance(value, dict) else []


def _output(value: Any) -> str:
    if not isinstance(value, dict) or "stdout" not in value:
        return as_text(value)
    return "\n".join(text for key in _OUTPUT if (text := as_text(value.get(key))))


KIRO_CLI = LineReader(
    KiroRow,
    (("version", "kind", "data"), ("conversation_id", "key"), ("entry",)),
    _is_row,
    _read,
)
