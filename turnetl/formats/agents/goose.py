"""Sessions of Goose: `sessions/<id>.jsonl`, and since version 1.10 the rows of its database."""

from typing import Any

import msgspec

from turnetl.base.reason import SkipReason
from turnetl.formats.kit.conversation import Conversation
from turnetl.formats.kit.conversation_archives import read_conversation
from turnetl.formats.kit.message_parts import at, first_of, objects, plain_text
from turnetl.formats.kit.row_decoder import Envelope, RowDecoder
from turnetl.formats.kit.times import parse_timestamp
from turnetl.formats.kit.tool_input import error_text
from turnetl.formats.port import ParsedArchive, Probe


class GooseRow(msgspec.Struct):
    """The header, or a message; `created` is in seconds."""

    id: str | None = None
    working_dir: str | None = None
    session_type: str | None = None
    model: str | None = None
    role: str | None = None
    created: int | float | None = None
    content: Any = None
    metadata: dict[str, Any] = {}


_ROWS = RowDecoder(
    GooseRow, Envelope(own=(("role", "created", "content"), ("working_dir", "description")))
)

_RESPONSE = "toolResponse"
_TOOLS = ("toolRequest", "frontendToolRequest", _RESPONSE)


class Goose:
    def sniff(self, probe: Probe) -> bool:
        """Recognise the archive by its header."""
        first = probe.first
        is_header = {"working_dir", "description"} <= first.keys() and "role" not in first
        return is_header and ("message_count" in first or "schedule_id" in first)

    def read(self, data: bytes) -> ParsedArchive:
        return read_conversation(data, _ROWS, _read)


def _read(talk: Conversation, row: GooseRow) -> SkipReason | None:
    talk.time = parse_timestamp(row.created)
    if row.role is None:
        talk.is_subagent = row.session_type == "sub_agent"
        return talk.describe(row.id, row.working_dir, model=row.model)
    if talk.is_subagent:
        return talk.sidechain(lambda run: _read(run, row))
    if row.metadata.get("userVisible") is False:
        return SkipReason.SYNTHETIC
    tools = [_tool(talk, part) for part in objects(row.content) if part.get("type") in _TOOLS]
    return first_of([*tools, talk.content(row.role, row.content, row.id)])


def _tool(talk: Conversation, part: dict[str, Any]) -> SkipReason | None:
    """Read a call or a result. Both may have failed before they reached the tool."""
    if part.get("type") != _RESPONSE:
        call = part.get("toolCall")
        value = at(call, "value") or call
        return talk.call(at(value, "name"), at(value, "arguments"), part.get("id"))
    result = part.get("toolResult")
    value, error = at(result, "value"), at(result, "error")
    output = error_text(error) if error else plain_text(at(value, "content") or value)
    is_error = error is not None or at(value, "isError") is True
    return talk.result(part.get("id"), output, is_error=is_error)
