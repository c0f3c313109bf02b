"""The export of ChatGPT: `conversations.json`, with a tree of messages for each conversation."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from turnetl.base.reason import SkipReason
from turnetl.formats.kit.conversation import Conversation
from turnetl.formats.kit.conversation_archives import PlacedMessage, read_export
from turnetl.formats.kit.message_parts import at, text_of
from turnetl.formats.kit.row_decoder import Envelope, RowDecoder
from turnetl.formats.kit.times import parse_timestamp
from turnetl.formats.port import ParsedArchive, Probe


class ChatGptConversation(msgspec.Struct):
    """A conversation. `mapping` has nodes by id, each with a parent, children and a message."""

    id: str | None = None
    conversation_id: str | None = None
    current_node: str | None = None
    mapping: dict[str, Any] = {}


_CONVERSATIONS = RowDecoder(ChatGptConversation, Envelope(own=(("mapping", "current_node"),)))
_keys = re.compile(rb'"([^"\\]{1,200})"\s*:\s*\{').finditer
_IMAGE = "image_asset_pointer"
_SKIPPED = {
    "thoughts": SkipReason.REASONING,
    "reasoning_recap": SkipReason.REASONING,
    "user_editable_context": SkipReason.CONTEXT,
    "model_editable_context": SkipReason.CONTEXT,
}
"""By the type of the content."""


class ChatGptExport:
    def sniff(self, probe: Probe) -> bool:
        """Recognise the archive by conversations with a mapping and the current node."""
        return any(
            "current_node" in row and isinstance(row.get("mapping"), dict) for row in probe.rows
        )

    def read(self, data: bytes) -> ParsedArchive:
        return read_export(data, _CONVERSATIONS, _split, _read)


def _split(
    talk: Conversation, conversation: ChatGptConversation, raw: bytes
) -> Iterator[PlacedMessage]:
    """Yield the messages up to the current node, and why others are not read.

    Others are prompts that the user edited, and responses that were generated again.
    """
    talk.start(conversation.conversation_id or conversation.id)
    nodes = {key: node for key, node in conversation.mapping.items() if isinstance(node, dict)}
    path = _path(nodes, conversation.current_node)
    places = _places(raw, nodes)
    for key in (*path, *(key for key in nodes if key not in path)):
        message = nodes[key].get("message")
        start, end = places.get(key, (0, len(raw)))
        if not isinstance(message, dict):
            yield start, end, SkipReason.EMPTY_MESSAGE
        else:
            yield start, end, message if key in path else SkipReason.SUPERSEDED


def _path(nodes: Mapping[str, dict[str, Any]], current: str | None) -> dict[str, None]:
    """Return the keys from the root to the current node; without one, to the last node."""
    path: dict[str, None] = {}
    key = current if current in nodes else next(reversed([*nodes]), None)
    while isinstance(key, str) and key in nodes and key not in path:
        path[key] = None
        key = nodes[key].get("parent")
    return dict.fromkeys(reversed(path))


def _places(raw: bytes, nodes: Mapping[str, object]) -> dict[str, tuple[int, int]]:
    """Return the offset and the end of each node; the last one ends with the conversation."""
    keys: dict[str, tuple[int, int]] = {}
    for match in _keys(raw):
        if (key := match[1].decode("utf-8", "replace")) in nodes:
            keys.setdefault(key, (match.start(), match.end() - 1))
    ends = [_trimmed(raw, start) for start, _ in [*keys.values()][1:]]
    spans = zip(keys.items(), [*ends, len(raw)], strict=False)
    return {key: (start, end) for (key, (_, start)), end in spans}


def _trimmed(raw: bytes, end: int) -> int:
    while raw[end - 1] in b" \t\r\n,":
        end -= 1
    return end


def _read(talk: Conversation, message: dict[str, Any]) -> SkipReason | None:
    talk.time = parse_timestamp(message.get("create_time"))
    metadata, content = message.get("metadata"), message.get("content")
    talk.describe(model=at(metadata, "model_slug"))
    if (skipped := _SKIPPED.get(str(at(content, "content_type")))) is not None:
        return skipped
    role, text = at(message, "author", "role"), _text(content)
    if role == "user" and at(metadata, "is_visually_hidden_from_conversation") is not True:
        return talk.prompt(text, message.get("id"))
    if role == "assistant":
        recipient = text_of(message.get("recipient"))
        if recipient in (None, "all"):
            return talk.answer(text)
        return talk.call(recipient, text, recipient)
    if role == "tool":
        return talk.result(at(message, "author", "name"), text)
    return SkipReason.SYSTEM


def _text(content: object) -> str:
    """Return the texts of a content, and what stands for its images."""
    parts = at(content, "parts")
    texts = [
        "[image]" if at(part, "content_type") == _IMAGE else at(part, "text") or part
        for part in (parts if isinstance(parts, list) else [at(content, "text")])
    ]
    return "\n\n".join(filter(None, map(text_of, texts)))
