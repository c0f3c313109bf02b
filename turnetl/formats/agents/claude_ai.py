"""The export of Claude.ai: `conversations.json`, with a list of messages for each conversation."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from turnetl.base.reason import SkipReason
from turnetl.formats.kit.conversation import Conversation
from turnetl.formats.kit.conversation_archives import PlacedMessage, read_export
from turnetl.formats.kit.json_archives import parse_document
from turnetl.formats.kit.message_parts import objects, text_of
from turnetl.formats.kit.row_decoder import Envelope, RowDecoder, decode_text, unread_reason
from turnetl.formats.kit.times import parse_time
from turnetl.formats.port import ParsedArchive, Probe


class ClaudeAiConversation(msgspec.Struct):
    """A conversation, without its messages."""

    uuid: str | None = None


_KEY = "chat_messages"
_CONVERSATIONS = RowDecoder(ClaudeAiConversation, Envelope(own=(("uuid", _KEY),)))
_ROLES = {"human": "user", "assistant": "assistant"}
_PASTED = ("", "paste.txt", "Pasted text")
"""Names of attachments that are a long text that the user pasted."""


class ClaudeAiExport:
    def sniff(self, probe: Probe) -> bool:
        """Recognise the archive by conversations with an id, a time, and messages with a sender."""
        return any(
            {"uuid", "created_at", _KEY} <= row.keys()
            and all({"uuid", "sender"} <= message.keys() for message in row.objects_at(_KEY))
            for row in probe.rows
        )

    def read(self, data: bytes) -> ParsedArchive:
        return read_export(data, _CONVERSATIONS, _split, _read)


def _split(
    talk: Conversation, conversation: ClaudeAiConversation, raw: bytes
) -> Iterator[PlacedMessage]:
    talk.start(conversation.uuid)
    for start, message in parse_document(raw, _KEY).elements:
        decoded = decode_text(message.decode("utf-8", "replace"), None)
        read = decoded if isinstance(decoded, dict) else unread_reason(message)
        if not isinstance(decoded, dict) or _KEY not in decoded:
            yield start, start + len(message), read


def _read(talk: Conversation, message: dict[str, Any]) -> SkipReason | None:
    talk.time = parse_time(message.get("created_at"))
    role = _ROLES.get(str(message.get("sender")))
    content = message.get("content") or [message.get("text")]
    parts = [_keyed(part) for part in (content if isinstance(content, list) else [content])]
    if role == "user":
        parts += _attached(message)
    return talk.content(role, parts, message.get("uuid"))


def _keyed(part: Any) -> Any:
    """Return a part whose call or result has a key: in most exports only the name joins them."""
    if not isinstance(part, Mapping):
        return part
    key = {"tool_use": "id", "tool_result": "tool_use_id"}.get(str(part.get("type")))
    return part if key is None or part.get(key) else {**part, key: part.get("name")}


def _attached(message: Mapping[str, Any]) -> Iterator[str]:
    """Yield texts that the user pasted, and what stands for files."""
    for attachment in (*objects(message.get("attachments")), *objects(message.get("files"))):
        name = text_of(attachment.get("file_name")) or ""
        pasted = text_of(attachment.get("extracted_content")) if name in _PASTED else None
        yield pasted or f"[{name or 'file'}]"
