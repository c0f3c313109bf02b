"""Sessions of Kiro CLI: `sessions/cli/<id>.jsonl`. Only prompts have a time."""

from collections.abc import Mapping
from typing import Any

import msgspec

from turnetl.base.reason import SkipReason
from turnetl.formats.kit.conversation import Conversation
from turnetl.formats.kit.conversation_archives import LineReader
from turnetl.formats.kit.message_parts import at, first_of, objects
from turnetl.formats.kit.times import parse_timestamp
from turnetl.formats.kit.tool_input import as_text


class KiroRow(msgspec.Struct):
    """A message of a kind."""

    kind: str | None = None
    data: dict[str, Any] = {}


_KINDS = ("Prompt", "AssistantMessage", "ToolResults")
_OUTPUT = ("stdout", "stderr", "exit_status")
"""What a command printed, and how it ended."""


def _is_row(row: Mapping[str, Any]) -> bool:
    """Return whether a row has a version, a kind of Kiro, and data with content."""
    is_message = row.get("kind") in _KINDS and "version" in row
    return is_message and at(row.get("data"), "content") is not None


def _read(talk: Conversation, row: KiroRow) -> SkipReason | None:
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


def _output(value: Any) -> str:
    if not isinstance(value, dict) or "stdout" not in value:
        return as_text(value)
    return "\n".join(text for key in _OUTPUT if (text := as_text(value.get(key))))


KIRO_CLI = LineReader(KiroRow, (("version", "kind", "data"),), _is_row, _read)
