"""Sessions of Grok CLI: `sessions/<folder>/<id>/updates.jsonl`, updates of the client protocol."""

from collections.abc import Mapping
from typing import Any

import msgspec

from turnetl.base.reason import SkipReason
from turnetl.formats.kit.conversation import Conversation
from turnetl.formats.kit.conversation_archives import LineReader
from turnetl.formats.kit.message_parts import at, objects, text_of
from turnetl.formats.kit.times import parse_timestamp


class GrokUpdate(msgspec.Struct):
    """An update; the time is in seconds or milliseconds."""

    timestamp: int | float | str | None = None
    params: dict[str, Any] = {}


_DONE = ("completed", "failed")


def _is_row(row: Mapping[str, Any]) -> bool:
    """Return whether a row is an update of a session with a time."""
    kind = at(row.get("params"), "update", "sessionUpdate")
    return "timestamp" in row and text_of(kind) is not None


def _read(talk: Conversation, row: GrokUpdate) -> SkipReason | None:
    talk.time = parse_timestamp(row.timestamp)
    talk.describe(row.params.get("sessionId"))
    update = row.params.get("update")
    match at(update, "sessionUpdate"):
        case "user_message_chunk":
            return _read_prompt(talk, update)
        case "agent_message_chunk":
            return talk.chunk(at(update, "content", "text"))
        case "agent_thought_chunk":
            return SkipReason.REASONING
        case "tool_call":
            name = at(update, "title") or at(update, "kind")
            called = talk.call(name, at(update, "rawInput"), at(update, "toolCallId"))
            return called if _result(talk, update) is not None else None
        case "tool_call_update":
            return _result(talk, update)
        case _:
            return SkipReason.EVENT


def _read_prompt(talk: Conversation, update: Any) -> SkipReason | None:
    """Open a turn, or continue the text of the prompt with the same number."""
    index, text = at(update, "_meta", "promptIndex"), text_of(at(update, "content", "text"))
    prompt_id = None if index is None else str(index)
    turn = talk.current
    if turn is not None and prompt_id is not None and turn.prompt_id == prompt_id and text:
        turn.user_text += text
        talk.turn()
        return None
    return talk.prompt(text, prompt_id)


def _result(talk: Conversation, update: Any) -> SkipReason | None:
    if at(update, "status") not in _DONE:
        return SkipReason.PROGRESS
    texts = [at(part, "content", "text") for part in objects(at(update, "content"))]
    output = "\n".join(filter(None, map(text_of, texts))) or at(update, "rawOutput")
    is_error = at(update, "status") == "failed"
    return talk.result(at(update, "toolCallId"), output, is_error=is_error)


GROK = LineReader(GrokUpdate, (("timestamp", "params"),), _is_row, _read)
