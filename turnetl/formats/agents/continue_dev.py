"""Sessions of Continue: `sessions/<id>.json`. They have no times."""

from typing import Any

import msgspec

from turnetl.base.reason import SkipReason
from turnetl.formats.kit.conversation import Conversation
from turnetl.formats.kit.conversation_archives import read_messages
from turnetl.formats.kit.message_parts import at, first_of, objects, plain_text
from turnetl.formats.kit.row_decoder import Envelope, RowDecoder
from turnetl.formats.port import ParsedArchive, Probe


class ContinueItem(msgspec.Struct, rename="camel"):
    """A message, with its calls and what they returned."""

    message: dict[str, Any] = {}
    tool_call_states: Any = None


_ITEMS = RowDecoder(ContinueItem, Envelope(own=(("message", "contextItems"),)))
_FAILED = ("errored", "canceled")


class Continue:
    def sniff(self, probe: Probe) -> bool:
        """Recognise the archive by a session with its folder and its history."""
        return {"sessionId", "workspaceDirectory", "history"} <= probe.first.keys()

    def read(self, data: bytes) -> ParsedArchive:
        return read_messages(data, "history", _ITEMS, _read, _describe)


def _describe(talk: Conversation, fields: dict[str, Any]) -> None:
    talk.describe(fields.get("sessionId"), fields.get("workspaceDirectory"))


def _read(talk: Conversation, item: ContinueItem) -> SkipReason | None:
    message = item.message
    role, content = message.get("role"), message.get("content")
    if role == "tool":
        return talk.result(message.get("toolCallId"), plain_text(content))
    if role == "thinking":
        return SkipReason.REASONING
    reasons = [talk.content(role, content)]
    for call in objects(message.get("toolCalls")):
        name, arguments = at(call, "function", "name"), at(call, "function", "arguments")
        reasons.append(talk.call(name, arguments, call.get("id")))
    return first_of([*reasons, *(_result(talk, one) for one in objects(item.tool_call_states))])


def _result(talk: Conversation, state: dict[str, Any]) -> SkipReason | None:
    outputs = [output.get("content") for output in objects(state.get("output"))]
    text = "\n".join(output for output in outputs if isinstance(output, str))
    return talk.result(state.get("toolCallId"), text, is_error=state.get("status") in _FAILED)
