"""Threads of Amp: `threads/T-<id>.json`."""

from typing import Any

import msgspec

from turnetl.base.reason import SkipReason
from turnetl.formats.kit.conversation import Conversation
from turnetl.formats.kit.conversation_archives import read_messages
from turnetl.formats.kit.message_parts import at, first_of, objects, path_of_uri
from turnetl.formats.kit.row_decoder import Envelope, RowDecoder
from turnetl.formats.kit.times import parse_timestamp
from turnetl.formats.kit.tool_input import error_text
from turnetl.formats.kit.usage import AmpUsage
from turnetl.formats.port import ParsedArchive, Probe


class AmpMessage(msgspec.Struct, rename="camel"):
    """A message. Those of the user have a time in `meta`, others in `usage`."""

    role: str | None = None
    message_id: int | str | None = None
    parent_tool_use_id: str | None = None
    content: Any = None
    meta: dict[str, Any] = {}
    usage: dict[str, Any] = {}
    state: dict[str, Any] = {}


_MESSAGES = RowDecoder(AmpMessage, Envelope(shared=(("role", "content"),)))


class Amp:
    def sniff(self, probe: Probe) -> bool:
        """Recognise the archive by the version and the id of a thread, and its messages."""
        first = probe.first
        return {"v", "id", "messages"} <= first.keys() and str(first.get("id")).startswith("T-")

    def read(self, data: bytes) -> ParsedArchive:
        return read_messages(data, "messages", _MESSAGES, _read, _describe)


def _describe(talk: Conversation, fields: dict[str, Any]) -> None:
    trees = objects(at(fields, "env", "initial", "trees"))
    uri = next((uri for tree in trees if isinstance(uri := tree.get("uri"), str)), "")
    talk.describe(fields.get("id"), path_of_uri(uri) if "://" in uri else None)


def _read(talk: Conversation, message: AmpMessage) -> SkipReason | None:
    talk.time = parse_timestamp(message.meta.get("sentAt") or message.usage.get("timestamp"))
    key = None if message.message_id is None else str(message.message_id)
    usage, model = message.usage, message.usage.get("model")
    if message.parent_tool_use_id:
        agent = message.parent_tool_use_id
        return talk.sidechain(
            lambda run: _read_message(run, message, key), agent, key, AmpUsage, usage, model
        )
    return _read_message(talk, message, key)


def _read_message(talk: Conversation, message: AmpMessage, key: str | None) -> SkipReason | None:
    talk.describe(model=message.usage.get("model"))
    reason = talk.content(message.role, message.content, key)
    results = (part for part in objects(message.content) if part.get("type") == "tool_result")
    returned = [_result(talk, part) for part in results]
    talk.usage(key, AmpUsage, message.usage)
    cancelled = [talk.interrupt()] if message.state.get("type") == "cancelled" else []
    return first_of([*returned, reason, *cancelled])


def _result(talk: Conversation, part: dict[str, Any]) -> SkipReason | None:
    run = part.get("run")
    error, result = at(run, "error"), at(run, "result")
    output = at(result, "output") or at(result, "content") or result
    exit_status = at(result, "exitCode")
    is_error = at(run, "status") == "error" or exit_status not in (None, 0)
    return talk.result(
        part.get("toolUseID"), error_text(error) if error else output, is_error=is_error
    )
